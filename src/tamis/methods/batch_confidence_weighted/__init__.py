"""Confidence-weighted learning by batches: a Gaussian over the weights, whose precision takes a
batch of rows in before dual ascent moves its mean; with a full covariance, or one a block.

M. Tan, Y. Yan, L. Wang, A. van den Hengel, I. W. Tsang and Q. Shi, "Learning Sparse
Confidence-Weighted Classifier on Very High Dimensional Data", AAAI 2016.

- `rows.py`: the rows of a batch with their constant column, and their products.
- `belief.py`: the Gaussian with one precision for all columns.
- `loop.py`: sweeps of dual coordinate ascent over a batch.
- `dual.py`: one batch into a belief, by the way that costs least, until a duality gap.
- `blocks.py`: the Gaussian over blocks of selected columns, and the rows in these columns.
- `loop_blocks.py`: sweeps over rows in blocks.
- `cutting_planes.py`: one batch into blocks, by rounds that each select one and solve for all.
- `estimator.py`: what both models share, from the user's rows to a batch.
- `bcw.py`, `sparse_bcw.py`: the models.
"""
