"""Robust linear models: the worst loss over a set of errors in the data, minimised by cutting
planes to a known distance from the optimum.

G. V. A. Pham, "Robust Optimization and Data Approximation in Machine Learning", technical report
UCB/EECS-2015-216, 2015, chapter 2; L. El Ghaoui and H. Lebret, "Robust Solutions to Least-Squares
Problems with Uncertain Data", SIAM Journal on Matrix Analysis and Applications 18, 1997.

- `rows.py`: rows, what a set takes from their scores, and rows without some of their features.
- `hinge_oracles.py`, `residual_oracles.py`: the worst hinge loss and the worst residuals of a set.
- `loop.py`: weights of the planes, and the features whose loss hurts most.
- `cutting_planes.py`: the engine that minimises what an oracle tells.
- `estimator.py`: what both models share.
- `classifier.py`, `regressor.py`: the models.
"""
