"""Models that learn from partitions in stages: what all paths decide together is a round.

A method offers this by one function, `_fit_partitions(partitions, names, sweeps, stages)` of its
estimators. It gets `Partitions` and asks them for data (`prepared`), sums (`total`), and for states
that go from partition to partition, alone (`walk`) or in step (`vote`); where these lie, who is
lost, and what is due of whom is known here alone.

- `partitions.py`: partitions as a model takes them, sums over them, and states on their way;
- `learning.py`: which models are learnt so.
"""

from tamis.distributed.staged.learning import learn, objection

__all__ = ["learn", "objection"]
