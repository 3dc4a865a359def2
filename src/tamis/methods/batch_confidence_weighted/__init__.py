"""Batch confidence-weighted classifiers (BCW, sparse BCW): a Gaussian over the weights; each batch
is added to its precision, then dual coordinate ascent updates its mean.

M. Tan, Y. Yan, L. Wang, A. van den Hengel, I. W. Tsang and Q. Shi, "Learning Sparse
Confidence-Weighted Classifier on Very High Dimensional Data", AAAI 2016.

- `rows.py`: rows of a batch with a constant column, and their products.
- `posterior.py`: the Gaussian with one precision for all columns.
- `loop.py`: compiled sweeps of dual coordinate ascent over a batch.
- `dual.py`: the update of the Gaussian by one batch, with three solvers.
- `blocks.py`: the Gaussian over blocks of selected columns, and the rows in these columns.
- `loop_blocks.py`: compiled sweeps over rows in blocks.
- `cutting_planes.py`: rounds that select a block of columns and solve for all blocks.
- `estimator.py`: the base class of both estimators.
- `bcw.py`, `sparse_bcw.py`: the estimators.
"""
