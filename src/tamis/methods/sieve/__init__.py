"""The sieve: paths of averaged stochastic gradient descent under a penalty on contributions go down
a ladder of sizes, and held-out errors say where to stop.

The method is tamis's own. Its penalty is per occurrence, as is the truncation of Y. Ma and
T. Zheng, "Stabilized Sparse Online Learning for Sparse Data", Journal of Machine Learning Research
18, 2018.

In the order in which data walks through them:

- `estimator`: the two sieves, for users
- `selector`: what they share: parameters, fits of all rows and of streams, other sizes
- `stream`: what `partial_fit` keeps of a stream, and two readings of a file
- `table`: rows in standard units, in an order and in folds by their content
- `settings`: the user's options, the two base settings
- `fit`: one run: settings tried on folds, size chosen, paths over all rows
- `teams`: groups of paths that never see one fold each
- `paths`: a group of paths that goes down the ladder
- `loop`: the passes of a path
- `errors`: held-out scores set right by a line, and their errors
- `ladder`: sizes, the choice among them, and the error to expect of it
- `result`: what a fit shows, and its other sizes
"""
