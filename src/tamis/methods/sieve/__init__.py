"""The sieve: paths of averaged stochastic gradient descent under a penalty on contributions go down
a ladder of sizes, and held-out errors say where to stop.

The method is tamis's own. Its penalty is per occurrence, as is the truncation of Y. Ma and
T. Zheng, "Stabilized Sparse Online Learning for Sparse Data", Journal of Machine Learning Research
18, 2018.

In the order in which data walks through them:

- `estimator`: the two sieves, for users
- `stream`: the sieve on streams, which go by once, and on files, which are read twice
- `columns`: rows in standard units, in an order and in folds by their content
- `settings`: the user's options, the two base settings, which of them compete
- `fit`: one run: settings tried on folds, size chosen, paths over all rows; its result
- `ladder`: sizes, and the choice among them
- `paths`: a group of paths that goes down the ladder
- `loop`: the passes of a path
- `errors`: errors on rows that were not learnt from
"""
