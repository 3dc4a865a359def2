"""Certified thresholding of data: L1 classification on the entries above a threshold, with a bound
on the loss of accuracy.

G. V. A. Pham, "Robust Optimization and Data Approximation in Machine Learning", technical report
UCB/EECS-2015-216, 2015, chapter 3.

- `thresholds.py`: thresholded copies of a matrix, and candidate thresholds.
- `bounds.py`: the L1 problem, its dual, and bounds on the effect of thresholding.
- `loop_rows.py`: compiled passes over rows: threshold, multiply, select columns.
- `loop.py`: compiled Newton steps of L1 logistic regression.
- `solver.py`: solvers of the L1 problem on thresholded data.
- `certificate.py`: bounds on the distance of a fit from the optimum on the original data.
- `search.py`: search of a threshold, for one strength of the penalty or along a path.
- `estimator.py`: `ThresholdedClassifier`.
- `transformer.py`: `DataThresholder`.
"""
