"""The sieve: paths of averaged stochastic gradient descent under a penalty on contributions go down
a path of sizes, and held-out errors say where to stop.

The method is tamis's own. Its penalty is per occurrence, as is the truncation of Y. Ma and
T. Zheng, "Stabilized Sparse Online Learning for Sparse Data", Journal of Machine Learning Research
18, 2018.

In the order in which data walks through them:

- `estimator`: the two sieves, for users
- `selector`: what they share: parameters, fits of all rows and of streams, other sizes
- `stream`: what `partial_fit` keeps of a stream, and two readings of a file
- `partitions`: a fit of rows that lie in partitions, on a cluster
- `table`: rows in standard units, in an order and in folds by their content
- `settings`: the user's options, feature groups, the two base settings
- `fit`: a fit from top to bottom: candidates tried on folds, size chosen, paths over all rows
- `cross_validation`: one candidate on all folds, and its held-out scores
- `paths`: a group of paths that goes down the size path
- `loop`: the passes of a path
- `held_out_errors`: held-out scores, calibrated, and their errors
- `size_choice`: sizes, the choice among them, and the error to expect of it
- `size_path`: the points of the path that a model keeps, for other sizes
- `result`: what a fitted sieve holds and shows
"""
