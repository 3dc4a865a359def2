"""Sums over partitions: a task at each of them, what they found added by a tree over their numbers.

- `tree.py`: the map, the tree, and its account;
- `statistics.py`: moments and other statistics of columns;
- `columns.py`: these for users, `column_statistics`;
- `models.py`: which models are made of sums, and the words for the others;
- `given.py`: rows of a partition as a model takes them, and the targets of all;
- `averaging.py`: dual averaging (RDA), gradients at common weights;
- `gram.py`: batch confidence-weighted learning, a Gram matrix and a sweep;
- `factoring.py`: low-rank factors by products X'(XQ);
- `low_rank.py`: the models that stand on them, their targets in shards.
"""
