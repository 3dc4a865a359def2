"""Streams of counts with known rates: fitted means, offsets as exposures, refused losses."""

from typing import NamedTuple

import numpy as np
import pytest
from registry import MODELS
from sklearn.base import is_regressor
from sklearn.metrics import mean_poisson_deviance

import tamis
from tamis import FOBOSRegressor, FTRLClassifier, FTRLRegressor, OnlineRegressor, RDARegressor
from tamis.numerics.numba import term

REGRESSORS = [cls for cls in MODELS if is_regressor(cls())]
FIRST_ORDER = [cls for cls in REGRESSORS if hasattr(cls(), "average")]
N = 3000


def made(level, n=N):
    """Rows, counts and their rates, exp(w x + level)."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(n, 20)) * (rng.random((n, 20)) < 0.3)
    rates = np.exp(X[:, :5] @ [0.8, -0.6, 0.5, -0.4, 0.3] + level)
    return X, rng.poisson(rates).astype(float), rates


@pytest.mark.parametrize("level", [0.5, 6.0])
@pytest.mark.parametrize("cls", REGRESSORS)
def test_the_rates_are_found(cls, level):
    """Among counts of two and of four hundred, whose second derivatives are as far apart."""
    X, y, rates = made(level)
    model = cls(loss="poisson", random_state=0).fit(X, y)
    true, null = mean_poisson_deviance(y, rates), mean_poisson_deviance(y, np.full(N, y.mean()))
    excess = mean_poisson_deviance(y, model.predict(X)) - true
    # The steps of models with groups begin to fall after 30,000 rows only.
    assert excess < (0.1 if cls in FIRST_ORDER else 0.25) * (null - true)
    assert model.score(X, y) == pytest.approx(1.0 - (excess + true) / null, abs=1e-9)
    assert np.isfinite(model.history_[-1]["loss"])


@pytest.mark.parametrize("cls", REGRESSORS)
def test_wild_rows_do_no_lasting_harm(cls):
    """Counts of a million among those of two, and rows a thousand times as long."""
    X, y, _ = made(0.5)
    wild = np.arange(0, N, 500)
    X[wild] *= 1e3
    y[wild[1::2]] = 1e6
    model = cls(loss="poisson", random_state=0).partial_fit(X, y)
    calm = np.setdiff1d(np.arange(N), wild)
    null = mean_poisson_deviance(y[calm], np.full(len(calm), y[calm].mean()))
    assert np.isfinite(model.coef_).all()
    assert np.isfinite(mean_poisson_deviance(y[calm], model.predict(X[calm])) / null)


@pytest.mark.parametrize("cls", FIRST_ORDER)
def test_chunks_equal_the_whole(cls):
    X, y, _ = made(0.5, 300)
    offset = np.linspace(-1.0, 1.0, 300)
    whole = cls(loss="poisson").partial_fit(X, y, offset=offset)
    cut = cls(loss="poisson")
    for rows in (slice(0, 1), slice(1, 140), slice(140, 300)):
        cut.partial_fit(X[rows], y[rows], offset=offset[rows])
    assert np.array_equal(cut.coef_, whole.coef_)
    assert np.array_equal(cut.intercept_, whole.intercept_)


@pytest.mark.parametrize("cls", [FOBOSRegressor, RDARegressor])
def test_an_offset_is_an_exposure(cls):
    """The counts of an exposure are rates a unit of it that weigh as much as it is long."""
    X, _, rates = made(0.5, 1000)
    rng = np.random.default_rng(1)
    exposure = rng.uniform(0.1, 20.0, len(X))
    y = rng.poisson(rates * exposure).astype(float)
    given = {"loss": "poisson", "alpha": 1e-3, "max_iter": 5, "tol": None, "random_state": 0}
    model = cls(**given).fit(X, y, offset=np.log(exposure))
    other = cls(**given).fit(X, y / exposure, sample_weight=exposure)
    np.testing.assert_allclose(model.coef_, other.coef_, atol=1e-12)
    np.testing.assert_allclose(
        model.predict(X, offset=np.log(exposure)), exposure * other.predict(X), rtol=1e-9
    )


def test_who_was_begun_with_an_offset_needs_it(tmp_path):
    X, y, _ = made(0.5, 200)
    offset = np.full(200, 0.3)
    model = FTRLRegressor(loss="poisson", random_state=0).fit(X, y, offset=offset)
    tamis.save(model, tmp_path / "model")
    for one in (model, tamis.load(tmp_path / "model")):
        before = one.coef_
        for call in (one.predict, lambda X, one=one: one.partial_fit(X, y)):
            with pytest.raises(ValueError, match=r"FTRLRegressor .*offset"):
                call(X)
        with pytest.raises(TypeError, match=r"live .*offset.*FTRLRegressor"):
            tamis.live(one)
        assert np.array_equal(one.coef_, before)
        scores = np.log(one.predict(X, offset=np.zeros(200)))
        np.testing.assert_allclose(np.log(one.predict(X, offset=offset)), scores + 0.3)
    assert FTRLRegressor(loss="poisson").fit(X, y).predict(X).min() > 0.0
    model.fit(X, y)
    model.predict(X)


def test_offsets_that_are_refused():
    X, y, _ = made(0.5, 90)
    with pytest.raises(ValueError, match=r"offset.shape == \(3,\), expected \(90,\)"):
        FTRLRegressor().fit(X, y, offset=np.zeros(3))
    with pytest.raises(ValueError, match=r"NaN"):
        FTRLRegressor().partial_fit(X, y, offset=np.full(90, np.nan))
    with pytest.raises(ValueError, match=r"offset .*two classes"):
        FTRLClassifier().fit(X, np.arange(90) % 3, offset=np.zeros(90))
    two = FTRLClassifier(random_state=0).fit(X, np.arange(90) % 2, offset=np.ones(90))
    assert np.allclose(
        two.decision_function(X, offset=np.ones(90)),
        two.decision_function(X, offset=np.zeros(90)) + 1.0,
    )


def test_what_a_loss_lacks_is_named():
    @term
    class Quartic(NamedTuple):
        """Fourth power of the residual."""

        scale: float = 1.0

        def value(self, score, target):
            return 0.25 * self.scale * (score - target) ** 4

        def gradient(self, score, target):
            return self.scale * (score - target) ** 3

        def hessian_bound(self):
            return float("inf")

    X, y, _ = made(0.5, 60)
    with pytest.raises(TypeError, match=r"Quartic.*implicit_gradient.*ftrl"):
        OnlineRegressor(loss=Quartic()).fit(X, y)
    with pytest.raises(ValueError, match=r"y holds -1 in row 0.*Poisson"):
        OnlineRegressor(loss="poisson").fit(X, np.where(np.arange(60) == 0, -1.0, y))
    with pytest.raises(ValueError, match=r"passive-aggressive steps.*Poisson"):
        OnlineRegressor(loss="poisson", penalty=None, learning_rate="pa1").fit(X, y)
