"""Stabilized models and sieves as wholes: what all paths decide together is a round of its own.

- `learning.py`: which model goes how;
- `grounds.py`: partitions as the loops of a model read them, and sums over them in a fixed tree;
- `voting.py`: stabilized descent: stages are rounds, votes are added up, purges told to all;
- `columns.py`: columns of a sieve in standard units, from sums over all partitions;
- `walkers.py`: paths of a sieve that go from partition to partition, and what partitions say of
  where they are;
- `descent.py`: groups of such paths down the ladder;
- `sieving.py`: a run of the sieve whose rows lie apart.
"""

from tamis.distributed.staged.learning import learn, objection

__all__ = ["learn", "objection"]
