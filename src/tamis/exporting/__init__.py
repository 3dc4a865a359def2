"""Models out of Python: the few columns that a linear model kept, in a form that others run.

- `linear.py`: `linear_of`, a model and its reading as names, weights, intercepts and link; all
  forms take it from there;
- `inputs/`: how records become the kept columns: `fields.py` by the reading of a table, `texts.py`
  the words of a text, `encoders.py` scikit-learn's encoders, `pipelines.py` the steps of a Pipeline
  before the model;
- `forms/`: `plain.py` JSON; `python.py` and `standalone.py` a Python file without dependencies;
  `sql.py` and `sql_fields.py` a query; `onnx.py`, `onnx_fields.py` and `onnx_graph.py` a graph;
  `scorecard.py` points;
- `export.py`: `export`, which chooses among them and writes.
"""
