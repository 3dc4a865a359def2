"""What all methods share: validation, targets, splits, scores, parameters, and base classes.

- `validation.py`: user arrays as validated rows and weights, and messages about bad input;
- `fast_checks.py`: checks of input that cost less than scikit-learn's;
- `targets.py`: y as the columns that loops read, and scores as predictions;
- `class_messages.py`: messages about targets that are not classes;
- `splits.py`: folds, held-out rows, halves; `scores.py`: losses of rows, standard errors, paired
  differences, the baseline;
- `parameters.py`: declared parameters; `model_terms.py`, `column_penalties.py`,
  `feature_groups.py`: parameters as losses, penalties, optimizers, learning rates and groups;
- `estimators/`: base classes of estimators.
"""
