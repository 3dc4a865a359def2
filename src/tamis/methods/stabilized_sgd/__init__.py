"""Stabilized truncated stochastic gradient descent: many paths, truncation after bursts of rows,
votes after stages, and features that are purged for good.

Y. Ma and T. Zheng, "Stabilized Sparse Online Learning for Sparse Data", Journal of Machine Learning
Research 18, 2018, algorithm 3.

- `search`: the public classes that tune themselves
- `estimator`: the public classes
- `stream`: their base class: parameters, passes, streams, fitted attributes
- `fit`: the rows of a fit of one output, without purged columns
- `paths`: the paths of one output, and the engine with all outputs
- `partitions`: the fit of rows that lie in partitions
- `loop`: compiled descent of the paths, burst by burst
- `loop_stage`: compiled end of a stage: votes, purge, gravity, length of bursts
- `loop_partitions`: compiled stages of paths on partitions
- `loop_columns`: compiled functions of columns: counts, order statistics, mean weights, scores
"""
