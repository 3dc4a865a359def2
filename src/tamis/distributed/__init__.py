"""Training on partitions, on a cluster or in one process, to the same bits.

- `fitting.py`: `fit`, the public function;
- `inputs.py`: its rows as a list of partitions;
- `schema.py`: columns and classes that all partitions share;
- `worker_tasks.py`: tasks of workers: summarize, open and learn a partition;
- `placement.py`: which worker holds which partition, replays after a lost worker;
- `schedule.py`: the rounds of a walk or a mix, segments, accounts;
- `merging.py`: one model from several: means of paths, and of models learnt apart;
- `staged.py`: stabilized models and sieves, whose paths decide together;
- `summing/`: models and statistics that are sums over partitions;
- `checkpoint.py`: rounds that outlive the process of the client;
- `executors.py`: the protocol of an engine, and the engine of this process;
- `cluster.py`: Dask as an engine.
"""

from tamis.distributed.fitting import fit
from tamis.distributed.summing.statistics import column_statistics

__all__ = ["column_statistics", "fit"]
