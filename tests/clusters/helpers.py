"""Partitions, simulated workers, and the bits of a model, for the tests of this folder."""

import numpy as np

from tamis.cli.commands.demo import write_svmlight
from tamis.datasets import make_text
from tamis.distributed.executors import ConnectionLost, LocalExecutor

X, Y, _ = make_text(n_samples=300, n_features=60, n_informative=6, words=12, random_state=0)
CUTS = [(0, 80), (80, 150), (150, 220), (220, 300)]
BLOCKS = [(X[a:b], Y[a:b]) for a, b in CUTS]


def write_parts(folder):
    """The blocks as files; their glob."""
    for k, (rows, targets) in enumerate(BLOCKS):
        write_svmlight(rows, targets, folder / f"part-{k}.svm")
    return str(folder / "part-*.svm")


def bits(model):
    """All that a model has learnt, as bytes."""
    paths = getattr(model, "paths_", [])
    models = [model, *paths] if isinstance(paths, list) else [model]
    return [np.asarray(one.coef_).tobytes() + np.ravel(one.intercept_).tobytes() for one in models]


class SimulatedWorkers(LocalExecutor):
    """Several workers in this process, of whom one is lost now and then."""

    def __init__(self, workers=3, lost=(), capacity=1 << 30):
        self.names = [f"worker {k}" for k in range(workers)]
        self.lost, self.gathered, self.bytes, self.at = set(lost), 0, capacity, []

    def workers(self):
        return list(self.names)

    def capacity(self, worker):
        return self.bytes

    def submit(self, task, *given, worker):
        assert worker in self.names
        self.at.append((task.__name__, worker))
        return super().submit(task, *given, worker=worker)

    def gather(self, handles):
        self.gathered += 1
        if self.gathered in self.lost:
            self.names = [*self.names[1:], f"worker {len(self.at)}"]
            raise ConnectionLost("worker")
        return super().gather(handles)
