"""Columns of tables: their profile, their kinds, and how they become columns of X.

- `profile.py`, `merging.py`: summaries of columns, chunk by chunk, and their merging;
- `kinds.py`: the kind of a column from its summary, with notes;
- `suspicious_columns.py`: warnings about columns;
- `layout_builder.py`: the layout of X;
- `dates.py`, `date_parts.py`, `texts.py`: encoders of dates and texts;
- `transformer.py`: the estimator `Table`.
"""
