"""Base classes of all estimators.

- `estimator.py`: `Estimator`, and `take`, which validates the input of a batch fit;
- `classifier.py`, `regressor.py`, `calibrated.py`, `selector.py`: public methods of each kind;
- `stream.py`: online linear models, with passes until the loss no longer falls; `passes.py`:
  convergence and callbacks; `mean.py`: means of several paths;
- `group_batch.py`, `group_stream.py`: linear models with group penalties; `offsets.py`: models with
  an offset;
- `explaining.py`: contributions of features to scores; `column_names.py`: names of columns;
- `margins.py`: margins and confidences of models with a distribution over weights.
"""
