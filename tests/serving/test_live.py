"""Services: the models that they accept, explanations, and use of the model outside of them."""

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


def trained_service(model, y=Y, **options):
    """A service that has learnt all rows."""
    service = tamis.live(model, n_features=P, **options)
    for i in range(N):
        service.learn(*row(i), y[i])
    return service


# --------------------------------------------------------------------------- models
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
    ("model", "parameters", "message"),
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
def test_errors_of_live(model, parameters, message):
    with pytest.raises(ValueError, match=message):
        tamis.live(model, **parameters)


def test_a_row_needs_values_and_a_target():
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
    assert service.model._solver_state.weight == 6.0


def test_nothing_learnt_yet():
    service = tamis.live(FTRLClassifier(grow=True))
    with pytest.raises(NotFittedError, match="has learnt nothing yet"):
        service.score([1], [1.0])
    assert repr(service) == "live(FTRLClassifier(grow=True))"


def test_rows_longer_than_the_buffer():
    """The buffer of a row grows, whatever functions were looked up for shorter ones."""
    wide = sp.random_array((6, 4000), density=0.5, rng=RNG, format="csr")
    service = tamis.live(FTRLClassifier(), classes=[0, 1], n_features=4000)
    model = FTRLClassifier()
    for i in (*range(6), 0, 3):
        sparse_row = wide[[i]] if i % 2 else wide[[i]][:, :].tocsr()
        service.learn(sparse_row.indices.tolist(), sparse_row.data.tolist(), i % 2)
        model.partial_fit(sparse_row, [i % 2], classes=[0, 1])
    assert np.array_equal(service.model.coef_, model.coef_)
    order = RNG.permutation(sparse_row.nnz)
    with pytest.raises(ValueError, match="comes twice"):
        service.score(
            np.r_[sparse_row.indices[order], sparse_row.indices[5]],
            np.r_[sparse_row.data[order], 1.0],
        )
    close = service.score(sparse_row.indices[order], sparse_row.data[order])
    assert close == pytest.approx(service.score(sparse_row.indices, sparse_row.data))


# --------------------------------------------------------------------------- explanations
@pytest.mark.parametrize(
    "make",
    [FTRLClassifier, AROWClassifier, OnlineGroupLassoClassifier, tamis.StabilizedSGDClassifier],
)
@pytest.mark.parametrize("y", [Y, THREE], ids=["two", "three"])
def test_contributions_are_products_of_weight_and_value(make, y):
    options = {"feature_groups": np.arange(P) // 4} if make is OnlineGroupLassoClassifier else {}
    service = trained_service(make(**options), y, classes=np.unique(y))
    model = service.model
    for i in (0, 5, 7):
        indices, values = row(i)
        explanation = service.explain(indices, values)
        several = len(model.classes_) > 2
        assert explanation.label == (
            service.predict(indices, values) if several else model.classes_[1]
        )
        output = list(model.classes_).index(explanation.label) if several else 0
        contributions = dict(explanation.contributions)
        for j, x in zip(indices, values, strict=True):
            assert contributions[j] == model.coef_[output, j] * x
        sizes = [abs(contribution) for _, contribution in explanation.contributions]
        assert sizes == sorted(sizes, reverse=True)
        assert explanation.intercept == model.intercept_[output]
        assert explanation.score == np.atleast_1d(service.score(indices, values))[output]
        assert explanation.intercept + sum(contributions.values()) == pytest.approx(
            explanation.score
        )
    if several:
        assert service.explain(indices, values, label="c").label == "c"
        with pytest.raises(ValueError, match="label='z' is none of"):
            service.explain(indices, values, label="z")


def test_probabilities():
    service = trained_service(FTRLClassifier(), THREE, classes=["a", "b", "c"])
    for i in range(5):
        assert np.array_equal(
            service.predict_proba(*row(i)), service.model.predict_proba(X[[i]])[0]
        )
    with pytest.raises(AttributeError, match="no attribute 'predict_proba'"):
        trained_service(FTRLClassifier(loss="hinge"), classes=[0, 1]).predict_proba(*row(0))
    assert type(service.predict(*row(0))) is str
    assert type(trained_service(FTRLRegressor(), Y * 1.5).predict(*row(0))) is float


def test_scoring_changes_nothing():
    scored, other = (trained_service(FTRLClassifier(), classes=[0, 1]) for _ in range(2))
    for i in range(N):
        scored.score(*row(i)), scored.predict(*row(i))
        scored.predict_proba(*row(i)), scored.explain(*row(i))
        for service in (scored, other):
            service.learn(*row(i), Y[i])
    assert np.array_equal(scored.model.coef_, other.model.coef_)


# --------------------------------------------------------------------------- outside of it
def test_the_model_may_be_trained_and_changed_outside_of_it():
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
    assert service.model._solver_state.weight == 4 * N


def test_divergence_is_an_error():
    steps = {"eta": 1e6, "learning_rate": "constant", "penalty": None}
    service = tamis.live(tamis.OnlineRegressor(**steps), n_features=2)

    def diverge():
        for _ in range(100):
            service.learn([0, 1], [1.0, -1.0], 1.0)

    with pytest.raises(FloatingPointError, match="the loss became infinite or nan"):
        diverge()
