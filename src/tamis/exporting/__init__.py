"""Export of linear models: the selected columns only, in a format that runs without tamis.

- `linear.py`: `extract_linear`, a model as names, weights, intercepts and link, the source of all
  formats;
- `inputs/`: how records become the selected columns: `fields.py` for tables, `texts.py` for words
  of texts, `encoders.py` for encoders of scikit-learn, `pipelines.py` for the steps of a Pipeline
  before the model;
- `forms/`: `plain.py` JSON; `python.py` and `standalone.py` a Python file without dependencies;
  `sql.py` and `sql_fields.py` a query; `onnx.py`, `onnx_fields.py` and `onnx_graph.py` a graph;
  `scorecard.py` points;
- `export.py`: `export`, which writes one of these formats.
"""
