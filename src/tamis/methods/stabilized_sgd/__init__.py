"""Stabilized truncated stochastic gradient descent: many paths, truncation by bursts of rows, votes
by stages, and features that leave for good.

Y. Ma and T. Zheng, "Stabilized Sparse Online Learning for Sparse Data", Journal of Machine Learning
Research 18, 2018, algorithm 3.

In the order in which data walks through them:

- `search`: models that tune themselves, for users
- `estimator`: the models themselves, for users
- `stream`: what both share: parameters, passes, streams, what a fit shows
- `fit`: the rows of a fit, as the paths of one output see them
- `paths`: bundles of paths, one an output, and the engine of all
- `partitions`: a fit of rows that lie in partitions: walk, count, purge
- `loop`: the walk of the paths, burst by burst
- `loop_stage`: the end of a stage: votes, features that leave, gravity, bursts
- `loop_partitions`: stages of paths that lie apart
- `loop_columns`: columns: how often, order statistics, mean weights, scores
"""
