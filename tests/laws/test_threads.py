"""Two threads and one model: a second thread that trains is refused, one that reads is safe."""

import inspect
import os
import pickle
import threading
from pathlib import Path

import numpy as np
import pytest
import two_threads
from joblib import Parallel, delayed
from processes import run_process
from registry import ESTIMATORS, small
from sklearn.base import clone
from tiny import quiet
from two_threads import FEW, targets

from tamis import FOBOSClassifier, SieveClassifier, save, train
from tamis.base.estimators.estimator import Estimator
from tamis.system.threads import _busy_models

TRAINING = ("fit", "fit_rows", "partial_fit", "refine", "fit_transform", "fit_predict")
SENTENCE = "another thread is training or saving this same {}"
Y = targets(FOBOSClassifier())[: len(FEW)]


class Gate:
    """Rows that hold whoever reads them until the gate is opened."""

    def __init__(self):
        self.shape, self.reached, self.opened = FEW.shape, threading.Event(), threading.Event()

    def __len__(self):
        return len(FEW)

    def __array__(self, dtype=None, copy=None):
        self.reached.set()
        assert self.opened.wait(60)
        return FEW.astype(dtype)


class TrainingInThread:
    """A model that another thread is training, for as long as the block lasts; `after` is what that
    returned.
    """

    def __init__(self, model):
        self.model, self.gate, self.after = model, Gate(), None
        self.thread = threading.Thread(target=self._fit)

    def _fit(self):
        self.after = quiet(self.model.fit, self.gate, targets(self.model)[: len(FEW)])

    def __enter__(self):
        self.thread.start()
        assert self.gate.reached.wait(60)
        return self.model

    def __exit__(self, *failure):
        self.gate.opened.set()
        self.thread.join()


@pytest.mark.parametrize("cls", ESTIMATORS)
def test_a_second_thread_that_trains_is_refused_and_the_first_one_ends_well(cls):
    training, y = TrainingInThread(small(cls)), targets(small(cls))[: len(FEW)]
    with training as model:
        for name in TRAINING:
            if hasattr(model, name):
                with pytest.raises(
                    RuntimeError, match=f"^{name}: " + SENTENCE.format(cls.__name__)
                ):
                    getattr(model, name)(*(() if name == "refine" else (FEW, y)))
    assert training.after is training.model
    assert not _busy_models
    quiet(model.fit, FEW, y)


@pytest.mark.parametrize("cls", ESTIMATORS)
def test_what_trains_has_a_name_that_is_tested_above(cls):
    assert issubclass(cls, Estimator)
    methods = {name for name in dir(cls) if callable(getattr(cls, name, None))}
    assert {
        name for name in methods if name.startswith(("fit", "partial", "refine", "update", "learn"))
    } <= set(TRAINING)


def test_two_threads_at_one_model_in_pairs_of_all_kinds():
    """In a process of its own: two that trained could crash it, and so could one that looked at a
    model that grew or was fitted anew.
    """
    folder = Path(two_threads.__file__).parent
    paths = [str(folder), str(folder.parent), os.environ.get("PYTHONPATH", "")]
    run_process(
        "import two_threads; two_threads.main()",
        env={"PYTHONPATH": os.pathsep.join(filter(None, paths))},
    )


# --------------------------------------------------------------------------- turns
def test_saving_and_the_walk_over_files_take_a_turn_too(tmp_path):
    with TrainingInThread(FOBOSClassifier(max_iter=1, tol=None)) as model:
        with pytest.raises(RuntimeError, match=r"^save: another thread"):
            save(model, tmp_path / "model")
        with pytest.raises(RuntimeError, match=r"^train: another thread"):
            train(model, [(FEW, Y)])
        assert not list(tmp_path.iterdir())
        clone(model).fit(FEW, Y)  # another model
    save(model, tmp_path / "model")


def test_a_turn_ends_with_an_error_too():
    model = FOBOSClassifier(max_iter=1, tol=None)
    with pytest.raises(ValueError, match="inconsistent"):
        model.fit(FEW, [0, 1])
    assert not _busy_models
    with TrainingInThread(model):
        pass
    assert model.t_ == len(FEW)


def test_a_subclass_of_ones_own_is_guarded_and_may_call_its_parent():
    class Twice(FOBOSClassifier):
        def fit(self, X, y, sample_weight=None):
            return super().fit(X, y, sample_weight).partial_fit(X, y)

    with (
        TrainingInThread(Twice(max_iter=1, tol=None)) as model,
        pytest.raises(RuntimeError, match=SENTENCE.format("Twice")),
    ):
        model.fit(FEW, Y)
    assert model.t_ == 2 * len(FEW)


def test_clones_in_threads_of_joblib_are_as_in_one():
    model = FOBOSClassifier(max_iter=3, tol=None, random_state=0)
    alone = clone(model).fit(FEW, Y).coef_
    for other in Parallel(n_jobs=4, backend="threading")(
        delayed(clone(model).fit)(FEW, Y) for _ in range(40)
    ):
        assert np.array_equal(other.coef_, alone)


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no forks here")
@pytest.mark.filterwarnings("ignore:.*fork.*:DeprecationWarning")
def test_a_forked_child_does_not_wait_for_threads_that_it_does_not_have():
    with TrainingInThread(FOBOSClassifier(max_iter=1, tol=None)) as model:
        child = os.fork()
        if not child:
            try:
                model.partial_fit(FEW, Y, classes=[0, 1])
                os._exit(0)
            finally:
                os._exit(1)
        assert os.waitpid(child, 0)[1] == 0


# --------------------------------------------------------------------------- looking
def test_looking_at_a_stream_leaves_it_as_it_is():
    """A sieve chooses its features from what another thread goes on learning, which that must not
    touch.
    """

    def content(stream):
        return {name: pickle.dumps(value) for name, value in vars(stream).items()}

    model = SieveClassifier(random_state=0).partial_fit(FEW, Y, classes=[0, 1])
    stream = model._stream
    before = content(stream)
    model.predict(FEW)
    model.refine()
    assert model._stream is stream
    assert content(stream) == before


@pytest.mark.parametrize("cls", [cls for cls in ESTIMATORS if hasattr(cls, "path")])
def test_a_path_leaves_the_model_as_it_is(cls):
    model, given = small(cls), {"alphas": [0.02, 0.01], "radii": [0.5, 1.0], "max_error": 0.5}
    y = targets(model)[: len(FEW)]
    before = pickle.dumps(quiet(model.fit, FEW, y))
    arguments = {
        name: value
        for name, value in given.items()
        if name in inspect.signature(model.path).parameters
    }
    quiet(model.path, FEW[:30, :5], y[:30], **arguments)
    assert pickle.dumps(model) == before
