"""What fits, streams and answers: the bases of all estimators.

- `estimator.py`: `Estimator`, and `take`, which checks all that a batch fit is given;
- `classifier.py`, `regressor.py`: what they answer, in batch and on streams;
- `stream.py`: linear models of a stream, those that pass over the rows until the loss no longer
  falls, and what they may offer; `passes.py`: when to stop, and callbacks;
- `explaining.py`: where scores come from, and linear models as the few columns that they kept;
  `column_names.py`: what columns are called;
- `margins.py`: margins and confidences of models that know a distribution of their weights.
"""
