"""Selection with a stated false discovery rate: screen once, test each candidate given a few
controls, and correct over all columns.

- `estimator.py`: `FDRSelector`, a fit from top to bottom and its results;
- `screening/`: candidates, by an L1 path or by learners in one pass;
- `standardized_columns.py`, `controls.py`: the columns in standard units; common factors and the
  correlated columns that a candidate is tested beside;
- `conditional_test.py`: the test of a candidate given its controls;
- `fit.py`: the tests of all candidates, planned, run and judged;
- `multiple_testing.py`: p-values to q-values, groups and their heads; `claims.py`: what is claimed;
- `inputs.py`, `stream.py`: rows of a file that are read a few times (a stream that may be looked at
  any time is `selection/anytime`).
"""
