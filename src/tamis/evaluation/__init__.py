"""Evaluation of fitted models, and comparison of several.

- `evaluation.py`: a model with its test rows and predictions; `summary.py`: its error and that of a
  baseline, in sentences; `checks.py`: checks for common pitfalls, each with a code; `columns.py`:
  statistics of columns for the checks;
- `compare.py`: the comparison; `comparison_fits.py`: its fits; `comparison.py`: its record;
  `comparison_checks.py`: checks that depend on data and protocol alone.
"""
