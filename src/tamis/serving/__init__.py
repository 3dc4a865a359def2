"""Serving of online models: one row at a time, in microseconds.

- `live.py`: `live` and the service that it returns, which learns, scores and explains rows;
- `served_model.py`: a model with the functions that its rows call, looked up once;
- `row.py`: the buffer of one row, with checks of its numbers;
- `naming.py`: maps from names to columns: hashes, a list of names, or the fields of a table;
- `loop.py`: compiled loops.
"""
