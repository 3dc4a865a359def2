"""A model in service: one row at a time, in microseconds.

- `live.py`: `live` and what it returns, which learns, scores and explains rows;
- `served.py`: the calls on a model, looked up once;
- `row.py`: the numbers of one row, checked, in arrays that are filled anew for every row;
- `naming.py`: names into columns: hashed, listed, or the fields of a table;
- `loop.py`: what of that is compiled.
"""
