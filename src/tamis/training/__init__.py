"""Training from files: passes over the rows, with checkpoints.

- `trainer.py`: `train`, and the passes of models with `partial_fit`;
- `two_pass.py`: training of sieves by two readings;
- `validation.py`: scores of models during training;
- `checkpoint.py`, `record.py`: checkpoints and their content;
- `interruption.py`: Ctrl-C;
- `option_checks.py`: checks of options.
"""
