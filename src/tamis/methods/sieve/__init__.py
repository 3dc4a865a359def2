"""The sieve: averaged stochastic gradient descent under a penalty on contributions eliminates
features down a path of sizes, and held-out errors choose the size.

The method is tamis's own. Its penalty is per occurrence, as is the truncation of Y. Ma and T.
Zheng, "Stabilized Sparse Online Learning for Sparse Data", Journal of Machine Learning Research 18,
2018.

- `estimator`: the two public classes
- `selector`: their base class: parameters, `fit`, `partial_fit`, `resize`
- `stream`: the state of `partial_fit`, and the fit of a file by two readings
- `partitions`: the fit of rows that lie in partitions of a cluster
- `table`: rows in standard units, ordered and split into folds by their content
- `settings`: options of the user, feature groups, the candidates
- `fit`: the fit of a sample: candidates on folds, choice of size, paths over all rows
- `cross_validation`: one candidate on all folds, and its held-out scores
- `paths`: a group of paths that goes down the size path
- `loop`: compiled passes of a path
- `held_out_errors`: calibration and errors of held-out scores
- `size_choice`: the sizes, the choice among them, and the error to expect of the choice
- `size_path`: the points of the path that a fitted model stores for `resize`
- `result`: the fitted model and its attributes
"""
