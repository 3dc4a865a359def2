"""One pass over the rows: who makes it, and the ways to time it."""

import tempfile
import time
from pathlib import Path

import numpy as np
from sklearn.linear_model import SGDClassifier

from benchmarks import peers, vw
from benchmarks.clock import Times, between, interleaved
from benchmarks.workloads import Workload
from tamis import (
    AROWClassifier,
    CWClassifier,
    FOBOSClassifier,
    FTRLClassifier,
    NAROWClassifier,
    OnlineClassifier,
    PAClassifier,
    RDAClassifier,
    SCWClassifier,
    SecondOrderPerceptron,
    SOFSClassifier,
    TruncatedGradientClassifier,
)
from tamis.numerics.numba import compiled

ALPHA = 5e-5  # what tamis resolves "auto" to on these rows; the peers get the same
EXTRA = 4  # passes by which the longer of two fits exceeds the shorter
VW_PASSES = (2, 10)

TAMIS = {
    "tamis SGD": lambda **o: OnlineClassifier(penalty=None, verbose=0, **o),
    "tamis FOBOS": lambda **o: FOBOSClassifier(verbose=0, **o),
    "tamis truncated gradient": lambda **o: TruncatedGradientClassifier(verbose=0, **o),
    "tamis RDA": lambda **o: RDAClassifier(verbose=0, **o),
    "tamis FTRL": lambda **o: FTRLClassifier(verbose=0, **o),
    "tamis AdaGrad": lambda **o: OnlineClassifier(optimizer="adagrad", verbose=0, **o),
}
CONFIDENT = {
    "tamis PA-I": lambda **o: PAClassifier(verbose=0, **o),
    "tamis AROW": lambda **o: AROWClassifier(verbose=0, **o),
    "tamis SCW-I": lambda **o: SCWClassifier(verbose=0, **o),
    "tamis CW": lambda **o: CWClassifier(verbose=0, **o),
    "tamis NAROW, b = 8": lambda **o: NAROWClassifier(b=8.0, verbose=0, **o),
    "tamis second-order perceptron": lambda **o: SecondOrderPerceptron(verbose=0, **o),
    "tamis SOFS, 600 features": lambda **o: SOFSClassifier(
        n_features_to_select=600, verbose=0, **o
    ),
}
PLAIN, LASSO = "scikit-learn SGD, no penalty", "scikit-learn SGD, l1"
SKLEARN = {
    PLAIN: lambda **o: SGDClassifier(loss="log_loss", penalty=None, **o),
    LASSO: lambda **o: SGDClassifier(loss="log_loss", penalty="l1", alpha=ALPHA, **o),
}
WABBIT = {
    "Vowpal Wabbit --l1": ["--l1", str(ALPHA)],
    "Vowpal Wabbit --sgd --l1": ["--sgd", "--l1", str(ALPHA)],
}
FAST_READ, PLAIN_READ = "a read, compiled, many at a time", "a read, NumPy's two sums"


def shape_of(work: Workload) -> str:
    """Rows and columns in words."""
    return f"{work.X.shape[0]:,} x {work.X.shape[1]:,}"


def by_partial_fit(makers, work: Workload, rounds: int, clock=time.thread_time) -> dict[str, Times]:
    """Seconds a pass by `partial_fit` over the whole matrix, border included, the model going on
    from round to round.
    """
    classes = np.unique(work.y)

    def walk(model):
        def action():
            model.partial_fit(work.X, work.y, classes=classes)

        return action

    return interleaved(
        {name: walk(new(shuffle=False)) for name, new in makers.items()},
        rounds,
        warm=2,
        clock=clock,
        what=f"{shape_of(work)}, by partial_fit",
    )


def by_fit(
    makers, work: Workload, rounds: int, extra: int = EXTRA, shuffle: bool = False
) -> dict[str, Times]:
    """Seconds a pass inside `fit`: a fit of 1 + `extra` passes less one of a single pass."""

    def whole(new, passes):
        def action():
            new(max_iter=passes, tol=None, shuffle=shuffle, random_state=0).fit(work.X, work.y)

        return action

    actions = {
        (name, passes): whole(new, passes)
        for name, new in makers.items()
        for passes in (1, 1 + extra)
    }
    what = f"{shape_of(work)}, fits of 1 and {1 + extra} passes"
    times = interleaved(actions, rounds, clock=time.thread_time, what=what)
    return {name: between(times[name, 1], times[name, 1 + extra]).over(extra) for name in makers}


def by_cache(work: Workload, rounds: int) -> dict[str, Times]:
    """Wall seconds a pass of Vowpal Wabbit from its cache: a run of many passes less one of few."""
    if not peers.has("vowpalwabbit"):
        return {}
    few, many = VW_PASSES
    with tempfile.TemporaryDirectory() as folder:
        rows = vw.cache(work.X, work.y, Path(folder), "rows")
        actions = {
            (name, k): (lambda options=options, k=k: vw.train(rows, options, k))
            for name, options in WABBIT.items()
            for k in VW_PASSES
        }
        times = interleaved(actions, rounds)
    return {name: between(times[name, few], times[name, many]).over(many - few) for name in WABBIT}


def by_reading(work: Workload, rounds: int) -> dict[str, Times]:
    """Seconds of a plain read of values and indices: the limit that memory (or the largest cache)
    sets.
    """
    X = work.X
    bits, indices = X.data.view(f"u{X.data.itemsize}"), X.indices.view(f"u{X.indices.itemsize}")

    def loop():
        read_arrays(bits, indices)

    def sums():
        X.data.sum()
        X.indices.sum()

    return interleaved({FAST_READ: loop, PLAIN_READ: sums}, rounds, warm=2, clock=time.thread_time)


@compiled
def read_arrays(bits, indices):
    """Sum of indices and of the values' bits: whole numbers, so that the compiler reads many at a
    time.
    """
    first, second = np.uint64(0), np.uint64(0)
    for k in range(np.uint64(len(indices))):
        first += np.uint64(indices[k])
        second ^= np.uint64(bits[k])
    return first ^ second
