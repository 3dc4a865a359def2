"""Partitions that the tests of rounds share, and what a model of them is compared by."""

import numpy as np

from tamis.cli.commands.demo import write_svmlight
from tamis.datasets import make_text

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
