"""Beyond one machine: the same models where the partitions of the data lie, to the same bits.

- `fitting.py`: `fit`, what users call;
- `parts.py`: what they give, as partitions that any worker can open;
- `agreement.py`: what all partitions agree on before anyone learns;
- `visits.py`: what workers do: survey, open, learn;
- `placing.py`: where partitions lie, and where when a worker is gone, late or slow;
- `rounds.py`: the schedule: rounds, segments, replays, accounts;
- `staged/`: stabilized models and sieves as wholes, whose paths decide together;
- `merging.py`: several models as one: means of paths, and of what partitions have learnt apart;
- `summing/`: models and statistics that are sums over partitions;
- `checkpoint.py`: rounds that outlive the scheduler;
- `executors.py`: what an engine must offer, and the one that works here and now;
- `cluster.py`: Dask.
"""

from tamis.distributed.fitting import fit
from tamis.distributed.summing.columns import column_statistics

__all__ = ["column_statistics", "fit"]
