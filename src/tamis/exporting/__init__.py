"""Models out of Python: the few columns that a linear model kept, in a form that others run.

- `linear.py`: `linear_of`, a model and its reading as names, weights, intercepts and link; all
  other files take it from there;
- `fields.py`: how the fields of a record become the kept columns;
- `text.py`: scikit-learn's vectorisers before a model, with the words that are needed;
- `plain.py`: JSON; `python.py` and `standalone.py`: a Python file without dependencies;
  `sql.py`: a query; `onnx.py`: a graph; `scorecard.py`: points;
- `export.py`: `export`, which chooses among them and writes.
"""
