"""``how="sum"`` and `column_statistics`: sums over partitions, added in a tree.

- `sums.py`: tasks over all partitions, the tree, and its account;
- `statistics.py`: `column_statistics`, moments and other statistics of columns;
- `models.py`: models that are fitted by sums;
- `dual_averaging.py`: dual averaging (RDA), by gradients of many rows at common weights.
"""
