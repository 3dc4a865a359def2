"""Certified thresholding of data: L1 classification on the large entries alone, with a bound on
what that costs.

G. V. A. Pham, "Robust Optimization and Data Approximation in Machine Learning", technical report
UCB/EECS-2015-216, 2015, chapter 3.

- `thresholds.py`: a matrix without its small entries, and thresholds to try.
- `bounds.py`: the problem, and what dropping entries costs at most, before a fit and after it.
- `loop_rows.py`: passes that drop entries, weigh columns, and take a few of them out.
- `loop.py`: Newton steps of L1 logistic regression.
- `solver.py`: the problem on the kept entries, solved.
- `certificate.py`: how far the solution is from the optimum on all entries.
- `search.py`: thresholds one after the other, for one strength of the penalty or along a path.
- `estimator.py`: `ThresholdedClassifier`.
- `transformer.py`: `DataThresholder`, the cut by itself.
"""
