"""Robust linear models: they minimise the worst-case loss over an uncertainty set of the data, by
cutting planes with a bound on the distance from the optimum.

G. V. A. Pham, "Robust Optimization and Data Approximation in Machine Learning", technical report
UCB/EECS-2015-216, 2015, chapter 2; L. El Ghaoui and H. Lebret, "Robust Solutions to Least-Squares
Problems with Uncertain Data", SIAM Journal on Matrix Analysis and Applications 18, 1997.

- `rows.py`: products with rows, dual norms of the uncertainty sets, rows with deleted features.
- `hinge_oracles.py`, `residual_oracles.py`: the worst-case loss of each set, with its gradient.
- `loop.py`: compiled loops for the multipliers of the planes and for deleted features.
- `cutting_planes.py`: the cutting-plane method.
- `estimator.py`: the base class of both estimators.
- `classifier.py`, `regressor.py`: `RobustSVC` and `RobustRegressor`.
"""
