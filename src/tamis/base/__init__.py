"""What every method is built on, and nothing of any method.

- `validation.py`: user arrays become trusted rows and weights; the messages about bad input;
- `fast_checks.py`: checks that cost less than scikit-learn's where there is nothing wrong;
- `targets.py`: y as the columns that loops read, scores as predictions;
- `class_messages.py`: what is said of targets that are no classes;
- `splits.py`: folds, held-out parts, halves; `scores.py`: losses of rows, standard errors, paired
  differences, the baseline;
- `parameters.py`: declared parameters; `model_parts.py`: names of losses, penalties, optimizers
  and learning rates as terms;
- `estimators/`: base classes that fit, stream and predict.
"""
