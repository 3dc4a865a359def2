"""Evaluation of fitted models, and comparison of several.

- `evaluation.py`: rows that a model is judged by, predicted once; `summary.py`: its error beside
  that of a baseline, in sentences; `checks.py`: checks for the usual pitfalls, each with a code;
  `columns.py`: what the checks look up in columns;
- `compare.py`: the comparison; `comparison_fits.py`: its fits; `comparison.py`: its record;
  `comparison_checks.py`: checks that depend on data and protocol alone.
"""
