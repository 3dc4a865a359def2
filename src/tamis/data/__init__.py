"""Readers that turn files into chunks of rows, in constant memory.

`open_rows` (`opening.py`) returns a `RowSource` (`source.py`). It takes its options from
`options.py`, the format from `formats.py`, and bytes from `streams.py` and `read_ahead.py`; chunks
are the `Rows` of `rows.py`. `text` reads lines (svmlight, Vowpal Wabbit), `tables` reads columns
(CSV, Arrow, npz, frames), and `columns` decides how the columns of a table become columns of X.
`survey.py` counts rows and classes of a source, `column_names.py` names columns, and `bag.py` reads
bags of words.
"""
