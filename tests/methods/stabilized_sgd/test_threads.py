"""Threads, forks and workers do not change the results of a fit."""

import threading

import numpy as np
from joblib import Parallel, delayed
from processes import run_process
from tiny import quiet

from tamis import StabilizedSGDClassifier
from tamis.datasets import make_text
from tamis.methods.stabilized_sgd import paths
from tamis.numerics import numba

X, Y, _ = make_text(n_samples=300, n_features=400, words=20, random_state=0)


def weights(n_jobs):
    return quiet(
        StabilizedSGDClassifier(n_paths=4, max_iter=3, tol=None, random_state=0, n_jobs=n_jobs).fit,
        X,
        Y,
    ).coef_


def test_two_fits_in_two_threads():
    expected, results = weights(1), []
    threads = [threading.Thread(target=lambda: results.append(weights(2))) for _ in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(120)
    assert len(results) == 2
    assert all(np.array_equal(expected, coef) for coef in results)


def test_the_serial_loop_runs_while_the_lock_is_held(monkeypatch):
    expected = weights(2)
    with numba._parallel_lock:
        monkeypatch.setattr(paths, "run_paths_in_parallel", None)
        assert np.array_equal(expected, weights(2))


def test_a_stage_over_several_calls_has_the_same_bits_on_any_threads():
    def stream_state(n_jobs, cuts):
        model = StabilizedSGDClassifier(n_paths=5, burn_in=0.05, random_state=0, n_jobs=n_jobs)
        for low, high in zip((0, *cuts), (*cuts, 300), strict=True):
            quiet(model.partial_fit, X[low:high], Y[low:high], classes=np.unique(Y))
        bundle = model._solver_state.bundles[0]
        return model.coef_, bundle.ballots, bundle.pool_at, bundle.pool_value, bundle.votes

    expected = stream_state(1, ())
    for n_jobs in (1, 2, 3, 7):
        results = stream_state(n_jobs, (3, 111, 118, 137, 290))
        assert all(np.array_equal(a, b) for a, b in zip(expected, results, strict=True))


def test_loky_workers():
    expected = weights(2)
    for coef in Parallel(n_jobs=2, backend="loky")(delayed(weights)(n) for n in (1, 2)):
        assert np.array_equal(expected, coef)


def test_the_number_of_threads_is_restored():
    before = numba.numba.get_num_threads()
    weights(2)
    weights(1)
    assert numba.numba.get_num_threads() == before
    assert not numba._parallel_lock.locked()


FORK = """
import multiprocessing, sys, warnings
warnings.simplefilter("ignore")
import numpy as np
from tamis import StabilizedSGDClassifier
from tamis.datasets import make_text
X, y, _ = make_text(n_samples=200, n_features=300, words=20, random_state=0)
def weights(n_jobs=2):
    given = {"n_paths": 4, "max_iter": 2, "tol": None, "random_state": 0}
    return StabilizedSGDClassifier(**given, n_jobs=n_jobs).fit(X, y).coef_
def child(queue):
    queue.put(weights())
usual = weights()
context = multiprocessing.get_context("fork")
queue = context.Queue()
process = context.Process(target=child, args=(queue,))
process.start()
found = queue.get(timeout=120)
process.join(60)
print(process.exitcode, np.array_equal(usual, found), np.array_equal(usual, weights()))
"""


def test_a_fork_after_a_fit():
    for layer in ("omp", "workqueue"):
        assert run_process(FORK, env={"NUMBA_THREADING_LAYER": layer}).split() == [
            "0",
            "True",
            "True",
        ]


TWO_THREADS = """
import threading, warnings
warnings.simplefilter("ignore")
import numpy as np
from tamis import StabilizedSGDClassifier
from tamis.datasets import make_text
X, y, _ = make_text(n_samples=400, n_features=300, words=20, random_state=0)
found = []
def work():
    for _ in range(5):
        given = {"n_paths": 4, "max_iter": 4, "tol": None, "random_state": 0}
        found.append(StabilizedSGDClassifier(**given, n_jobs=2).fit(X, y).coef_)
work()
threads = [threading.Thread(target=work) for _ in range(3)]
[t.start() for t in threads]
[t.join() for t in threads]
print(len(found), all(np.array_equal(found[0], f) for f in found))
"""


def test_threads_under_workqueue_which_aborts_when_entered_twice():
    assert run_process(TWO_THREADS, env={"NUMBA_THREADING_LAYER": "workqueue"}).split() == [
        "20",
        "True",
    ]
