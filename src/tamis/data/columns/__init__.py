"""Columns of tables: their profile, their kinds, and how they become columns of X.

`profile.py` summarizes columns chunk by chunk and `merging.py` merges profiles; `kinds.py` decides
the kind of a column from its summary and writes notes, `suspicious_columns.py` adds warnings;
`making.py` builds the layout from them. `dates.py`, `date_parts.py` and `texts.py` encode dates and
texts. `transformer.py` is the estimator `Table`.
"""
