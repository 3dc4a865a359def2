"""Training from files: passes over the rows, with checkpoints.

`walk.py` has `train`, and the passes of models with `partial_fit`; `readings.py` trains sieves by
two readings. `judge.py` scores models during training, `checkpoint.py` and `record.py` write and
check checkpoints, `interruption.py` handles Ctrl-C, and `refusals.py` checks options.
"""
