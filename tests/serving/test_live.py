"""A model in service: what it is made of, what it explains, and what may go on beside it."""

import threading

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.exceptions import NotFittedError
from sklearn.pipeline import make_pipeline

import tamis
from tamis import AROWClassifier, FTRLClassifier, FTRLRegressor, OnlineGroupLassoClassifier

RNG = np.random.default_rng(1)
N, P = 80, 20
X = sp.random_array((N, P), density=0.3, rng=RNG, format="csr")
Y = RNG.integers(0, 2, N)
THREE = np.array(["a", "b", "c"])[RNG.integers(0, 3, N)]


def row(i):
    """Indices and values of a row."""
    return X[[i]].indices, X[[i]].data


def served(model, y=Y, **more):
    """A service that has learnt all rows."""
    service = tamis.live(model, n_features=P, **more)
    for i in range(N):
        service.learn(*row(i), y[i])
    return service


# --------------------------------------------------------------------------- what it is made of
def test_models_that_cannot_be_served():
    for model in (
        tamis.SieveClassifier(),
        tamis.BCWClassifier(),
        tamis.OnlineMultiTaskClassifier(),
        tamis.StabilizedSGDClassifierCV(),
        make_pipeline(FTRLClassifier()),
        FTRLClassifier,
        3,
    ):
        with pytest.raises(TypeError, match="live serves the online models of tamis"):
            tamis.live(model)


@pytest.mark.parametrize(
    ("model", "given", "said"),
    [
        (FTRLClassifier(), {}, "FTRLClassifier.*n_features"),
        (FTRLRegressor(), {}, "FTRLRegressor.*n_features"),
        (FTRLClassifier(), {"n_features": 5}, "FTRLClassifier.*classes="),
        (FTRLClassifier(alpha=-1.0), {"n_features": 5, "classes": [0, 1]}, "'alpha' parameter"),
        (FTRLClassifier(), {"hash_bits": 50, "classes": [0, 1]}, "from 1 to 40. Got 50"),
        (FTRLClassifier(), {"hash_bits": 4, "n_features": 5}, "Pass one of the two"),
        (FTRLClassifier().fit(X, Y), {"n_features": 5}, "the model has 20 columns"),
        (FTRLClassifier().fit(X, Y), {"hash_bits": 5}, "and hash_bits asks for 32"),
    ],
)
def test_what_live_refuses(model, given, said):
    with pytest.raises(ValueError, match=said):
        tamis.live(model, **given)


def test_a_row_needs_all_its_parts():
    service = tamis.live(FTRLClassifier(), classes=[0, 1], n_features=P)
    for call in (service.learn, service.score, service.predict, service.explain):
        with pytest.raises(TypeError, match="Got indices alone"):
            call([1])
    with pytest.raises(TypeError, match="learn needs a target"):
        service.learn([1], [1.0])
    with pytest.raises(TypeError, match="learn needs a target"):
        service.learn({1: 1.0})
    service.learn([1], [1.0], y=1, weight=2.0)
    service.learn({1: 1.0}, 1, 2.0)
    service.learn({1: 1.0}, y=1, weight=2.0)
    assert service.model._engine.weight == 6.0


def test_nothing_learnt_yet():
    service = tamis.live(FTRLClassifier(grow=True))
    with pytest.raises(NotFittedError, match="has learnt nothing yet"):
        service.score([1], [1.0])
    assert repr(service) == "live(FTRLClassifier(grow=True))"


def test_rows_longer_than_the_room():
    """The room for a row grows, whatever was prepared for shorter ones."""
    wide = sp.random_array((6, 4000), density=0.5, rng=RNG, format="csr")
    service = tamis.live(FTRLClassifier(), classes=[0, 1], n_features=4000)
    model = FTRLClassifier()
    for i in (*range(6), 0, 3):
        part = wide[[i]] if i % 2 else wide[[i]][:, :].tocsr()
        service.learn(part.indices.tolist(), part.data.tolist(), i % 2)
        model.partial_fit(part, [i % 2], classes=[0, 1])
    assert np.array_equal(service.model.coef_, model.coef_)
    order = RNG.permutation(part.nnz)
    with pytest.raises(ValueError, match="comes twice"):
        service.score(np.r_[part.indices[order], part.indices[5]], np.r_[part.data[order], 1.0])
    close = service.score(part.indices[order], part.data[order])
    assert close == pytest.approx(service.score(part.indices, part.data))


# --------------------------------------------------------------------------- what it says
@pytest.mark.parametrize(
    "make",
    [FTRLClassifier, AROWClassifier, OnlineGroupLassoClassifier, tamis.StabilizedSGDClassifier],
)
@pytest.mark.parametrize("y", [Y, THREE], ids=["two", "three"])
def test_contributions_are_products_of_weight_and_value(make, y):
    more = {"feature_groups": np.arange(P) // 4} if make is OnlineGroupLassoClassifier else {}
    service = served(make(**more), y, classes=np.unique(y))
    model = service.model
    for i in (0, 5, 7):
        indices, values = row(i)
        found = service.explain(indices, values)
        several = len(model.classes_) > 2
        assert found.label == (service.predict(indices, values) if several else model.classes_[1])
        output = list(model.classes_).index(found.label) if several else 0
        told = dict(found.contributions)
        for j, x in zip(indices, values, strict=True):
            assert told[j] == model.coef_[output, j] * x
        sizes = [abs(share) for _, share in found.contributions]
        assert sizes == sorted(sizes, reverse=True)
        assert found.intercept == model.intercept_[output]
        assert found.score == np.atleast_1d(service.score(indices, values))[output]
        assert found.intercept + sum(told.values()) == pytest.approx(found.score)
    if several:
        assert service.explain(indices, values, label="c").label == "c"
        with pytest.raises(ValueError, match="label='z' is none of"):
            service.explain(indices, values, label="z")


def test_probabilities():
    service = served(FTRLClassifier(), THREE, classes=["a", "b", "c"])
    for i in range(5):
        assert np.array_equal(
            service.predict_proba(*row(i)), service.model.predict_proba(X[[i]])[0]
        )
    with pytest.raises(AttributeError, match="no attribute 'predict_proba'"):
        served(FTRLClassifier(loss="hinge"), classes=[0, 1]).predict_proba(*row(0))
    assert type(service.predict(*row(0))) is str
    assert type(served(FTRLRegressor(), Y * 1.5).predict(*row(0))) is float


def test_looking_changes_nothing():
    looked, other = (served(FTRLClassifier(), classes=[0, 1]) for _ in range(2))
    for i in range(N):
        looked.score(*row(i)), looked.predict(*row(i))
        looked.predict_proba(*row(i)), looked.explain(*row(i))
        for service in (looked, other):
            service.learn(*row(i), Y[i])
    assert np.array_equal(looked.model.coef_, other.model.coef_)


# --------------------------------------------------------------------------- beside it
def test_the_model_may_be_trained_and_changed_beside_it():
    service = tamis.live(FTRLClassifier(random_state=0), classes=[0, 1], n_features=P)
    model = FTRLClassifier(random_state=0)
    for i in range(N):
        if i == 30:  # other terms: what was prepared is prepared anew
            service.model.set_params(loss="hinge", alpha=0.1, l1_ratio=0.5)
            model.set_params(loss="hinge", alpha=0.1, l1_ratio=0.5)
        if i == 60:
            service.model.fit(X, Y), model.fit(X, Y)
        model.partial_fit(X[[i]], Y[i : i + 1], classes=[0, 1])
        if i % 3 or i in (30, 60):
            service.model.partial_fit(X[[i]], Y[i : i + 1])
        else:
            service.learn(*row(i), Y[i])
        assert service.score(*row(i)) == model.decision_function(X[[i]])[0]
    assert np.array_equal(service.model.coef_, model.coef_)


def test_saved_at_any_moment(tmp_path):
    """A file made while other threads learn holds a model between two rows, and goes on."""
    service = tamis.live(FTRLClassifier(), classes=[0, 1], n_features=P)
    ended = threading.Event()

    def learn():
        while not ended.is_set():
            for i in range(N):
                service.learn(*row(i), Y[i])

    threads = [threading.Thread(target=learn) for _ in range(3)]
    for thread in threads:
        thread.start()
    try:
        for k in range(5):
            service.save(tmp_path / f"{k}.tamis")
    finally:
        ended.set()
        for thread in threads:
            thread.join()
    for k in range(5):
        tamis.live(tamis.load(tmp_path / f"{k}.tamis")).learn(*row(0), Y[0])
    assert service.model.t_ % 1 == 0
    service.save(tmp_path / "last.tamis")
    assert np.array_equal(tamis.load(tmp_path / "last.tamis").coef_, service.model.coef_)


def test_threads_lose_no_row():
    service = tamis.live(FTRLClassifier(), classes=[0, 1], n_features=P)

    def learn():
        for i in range(N):
            service.learn(*row(i), Y[i])
            service.score(*row(i))

    threads = [threading.Thread(target=learn) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert service.model.t_ == 4 * N
    assert service.model._engine.weight == 4 * N


def test_divergence_is_an_error():
    steps = {"eta": 1e6, "learning_rate": "constant", "penalty": None}
    service = tamis.live(tamis.OnlineRegressor(**steps), n_features=2)

    def diverge():
        for _ in range(100):
            service.learn([0, 1], [1.0, -1.0], 1.0)

    with pytest.raises(FloatingPointError, match="the loss became infinite or nan"):
        diverge()
