"""Two threads that use one model, repeatedly.

`test_threads.py` runs this in a separate process, since a failure can be a crash.
"""

import inspect
import sys
import threading
import time
import warnings
from contextlib import suppress

import numpy as np
import tiny
from registry import ESTIMATORS, STREAMS, small
from sklearn.base import is_classifier, is_regressor
from sklearn.exceptions import NotFittedError

from tamis import MultiTaskClassifier, MultiTaskRegressor

METHODS = (
    "predict",
    "decision_function",
    "predict_proba",
    "predict_margin",
    "predict_confidence",
    "transform",
)
SECONDS = 0.04  # how long each pair goes on, beyond its first round
X = tiny.matrix(240, 7)
FEW = X[:40]
WIDE = np.hstack([X, X[::-1], X, X[::-1]])


def targets(model, rows=X):
    """Numbers for regressors, two classes for all others."""
    return tiny.numbers(rows) if is_regressor(model) else (tiny.signs(rows) > 0).astype(int)


def seeded(cls):
    """A small model whose fits are all the same: what two of them leave goes together."""
    model = small(cls)
    return model.set_params(random_state=0) if "random_state" in model.get_params() else model


def trainer(model):
    """Function that trains the model: on the next rows of a stream, or from the start on a few."""
    y = targets(model)
    if hasattr(model, "partial_fit"):
        return lambda: model.partial_fit(
            X, y, **({"classes": [0, 1]} if is_classifier(model) else {})
        )
    return lambda: model.fit(FEW, y[: len(FEW)])


def read_calls(model, rows):
    """Functions that look at the model: its predictions, and all that it shows."""
    properties = [
        name
        for name, _ in inspect.getmembers(type(model), lambda thing: isinstance(thing, property))
        if name.endswith("_")
    ]
    predictions = [
        lambda name=name: getattr(model, name)(rows) for name in METHODS if hasattr(model, name)
    ]
    return [*predictions, *(lambda name=name: getattr(model, name) for name in properties)]


def side_by_side(*works, refused=()):
    """Run each function repeatedly in its own thread, all from the same moment on.

    Errors other than the refused ones are raised here.
    """
    barrier, ended, errors, counts = (
        threading.Barrier(len(works)),
        threading.Event(),
        [],
        [0] * len(works),
    )

    def run(k, work):
        barrier.wait()
        until = time.monotonic() + SECONDS
        try:
            while not ended.is_set() and (time.monotonic() < until or not counts[k]):
                try:
                    work()
                except refused as error:
                    if isinstance(
                        error, RuntimeError
                    ) and "another thread is training or saving this same" not in str(error):
                        raise
                counts[k] += 1
        except BaseException as error:
            errors.append(error)
            ended.set()

    threads = [threading.Thread(target=run, args=item) for item in enumerate(works)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    if errors:
        raise errors[0]


def train(cls):
    """Both threads train: one of them is refused or waits its turn; the model stays consistent."""
    model = small(cls)
    work = trainer(model)
    work()
    side_by_side(work, work, refused=RuntimeError)
    for read in read_calls(model, X):
        read()


def train_and_read(cls):
    """One thread trains, the other reads: what it reads is finite."""
    model = seeded(cls)
    work = trainer(model)
    work()

    def check():
        for read in read_calls(model, FEW):
            result = read()
            assert (
                not isinstance(result, np.ndarray)
                or result.dtype == object
                or np.isfinite(result).all()
            ), result

    side_by_side(work, check)


def grow(cls):
    """One thread restarts and streams more and more columns, classes and tasks; the other predicts.

    It predicts for the first columns and classes and for the last ones.
    """
    for numbers in ([0, 1, 2, 3, 4, 5], [3, 1, 5, 0, 4, 2]):
        model = cls(grow=True)
        y = np.array(numbers)[np.arange(len(X)) % 6] if is_classifier(model) else targets(model)
        task_argument = (
            (lambda task: {"task": task})
            if "task" in inspect.signature(model.predict).parameters
            else lambda task: {}
        )
        first_task, tasks = np.zeros(len(FEW), int), np.arange(len(X)) % 5

        def stream(model=model, y=y, task_argument=task_argument):
            model.fit(FEW, y[: len(FEW)] % 2, **task_argument(first_task))
            for k in range(6):
                selected = np.flatnonzero(np.arange(len(X)) % 6 <= k)[:: k + 1]
                model.partial_fit(
                    WIDE[selected, : 7 + 4 * k], y[selected], **task_argument(tasks[selected])
                )

        def check(model=model, task_argument=task_argument):
            for rows in (FEW, WIDE[: len(FEW)]):
                result = model.predict(rows, **task_argument(first_task))
                assert len(result) == len(FEW)
                assert not is_classifier(model) or np.isin(result, range(6)).all(), result
            for name in ("coef_", "intercept_", "support_"):
                getattr(model, name)
            with suppress(ValueError):  # a task that has not come yet
                model.predict(FEW, **task_argument(tasks[: len(FEW)]))

        stream()
        side_by_side(stream, check, refused=NotFittedError)


def refit(cls):
    """One thread fits alternately to few columns and to many; the other predicts for both.

    Only crashes count.
    """
    model, wide = small(cls), np.hstack([FEW] * 200)
    y, counter = targets(model)[: len(FEW)], iter(range(10**9))
    model.fit(FEW, y)

    def check():
        for rows in (FEW, wide):
            for read in read_calls(model, rows):
                # Rows of the other width are refused, and so is what is half there.
                with suppress(Exception):
                    read()

    side_by_side(lambda: model.fit((FEW, wide)[next(counter) % 2], y), check)


STREAMING = [c for c in ESTIMATORS if hasattr(c(), "partial_fit")]
LAWS = {
    "train": (train, STREAMING),
    "look": (train_and_read, ESTIMATORS),
    "grow": (grow, [c for c in STREAMS if "grow" in c().get_params()]),
    "refit": (
        refit,
        [*STREAMING, MultiTaskClassifier, MultiTaskRegressor],
    ),  # those whose predictions are compiled loops
}


def main(*names):
    """Run all laws over all classes, or those named; the last name printed is that of a crash."""
    warnings.simplefilter("ignore")
    sys.setswitchinterval(2e-6)  # threads change places in the midst of almost everything
    for name, (law, classes) in LAWS.items():
        for cls in classes:
            if not names or cls.__name__ in names:
                print(name, cls.__name__, flush=True)
                law(cls)
