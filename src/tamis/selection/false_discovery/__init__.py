"""Selection with a stated false discovery rate: screen once, test each candidate given a few
controls, and correct over all columns.

- `estimator.py`: `FDRSelector`; `base_selector.py`: the base class of it and of `FDRStream`;
- `screening/`: candidates, by an L1 path or by online learners in one pass;
- `standardized_columns.py`: columns with mean 0 and deviation 1; `controls.py`: substitutes and
  correlates of a candidate, and common factors;
- `conditional_test.py`: the test of a candidate given its controls;
- `fit.py`: plan, design, run and correction of all tests;
- `multiple_testing.py`: p-values to q-values, groups and their heads;
- `inputs.py`, `stream.py`: rows of a file that are read a few times. For a stream that may be
  tested at any time see `selection/anytime`.
"""
