"""The factorisation: an error near the minimum, valid bounds, equal results for sparse and dense
data, row weights.
"""

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.utils import check_random_state

from tamis import LowRankFactorization, load, save
from tamis.datasets import make_text
from tamis.solvers.randomized_svd import CenteredOperator, spectral_error

pytestmark = pytest.mark.delicate

X, _, _ = make_text(n_samples=300, n_features=400, words=30, random_state=0)
CENTRED = X.toarray() - X.toarray().mean(axis=0)


def residual_matrix(model, rows):
    return rows - model.U_ * model.S_ @ model.W_.T


@pytest.mark.long
def test_the_error_is_near_the_minimum_and_within_the_bounds():
    model = LowRankFactorization(n_components=10, random_state=0).fit(X)
    best = np.linalg.svd(CENTRED, compute_uv=False)
    E = residual_matrix(model, CENTRED)
    error = np.linalg.norm(E, 2)
    assert best[10] <= error <= 1.25 * best[10]
    assert model.error_lower_ <= error * (1.0 + 1e-9)
    assert error <= model.error_upper_ <= 1.1 * error
    assert model.error_fro_ == pytest.approx(np.linalg.norm(E), rel=1e-9)
    assert pytest.approx((model.S_ * model.W_).T, abs=1e-9) == model.U_.T @ CENTRED
    for factor in (model.U_, model.W_):
        assert factor.T @ factor == pytest.approx(np.eye(10), abs=1e-10)


def test_power_iterations_help():
    errors = [
        LowRankFactorization(10, n_power_iter=q, random_state=0).fit(X).error_lower_
        for q in (0, 1, 2)
    ]
    assert errors[0] > errors[1] >= 0.999 * errors[2]


def test_sparse_and_dense_centred_and_not():
    for center in (True, False):
        sparse = LowRankFactorization(8, center=center, random_state=0).fit(X)
        dense = LowRankFactorization(8, center=center, random_state=0).fit(X.toarray())
        wide = LowRankFactorization(8, center=center, random_state=0).fit(sp.csc_matrix(X))
        for other in (dense, wide):
            assert pytest.approx(sparse.S_, rel=1e-10) == other.S_
            assert pytest.approx(sparse.W_, abs=1e-8) == other.W_
            assert other.error_upper_ == pytest.approx(sparse.error_upper_, rel=1e-8)
        assert sparse.mean_.any() == center
        rows = CENTRED if center else X.toarray()
        assert sparse.transform(X) == pytest.approx(rows @ sparse.W_, abs=1e-10)
        assert sparse.inverse_transform(sparse.transform(X)).shape == X.shape


def test_sparse_rows_are_never_made_dense(monkeypatch):
    monkeypatch.setattr(sp.csr_array, "toarray", lambda *a, **k: pytest.fail("made dense"))
    monkeypatch.setattr(sp.csr_array, "todense", lambda *a, **k: pytest.fail("made dense"))
    LowRankFactorization(5, random_state=0).fit(X)


def test_weights_equal_repetition():
    weights = np.random.default_rng(0).integers(0, 3, X.shape[0])
    weighted = LowRankFactorization(8, n_power_iter=6, random_state=0).fit(X, sample_weight=weights)
    repeated = LowRankFactorization(8, n_power_iter=6, random_state=0).fit(
        sp.csr_array(X.toarray().repeat(weights, axis=0))
    )
    assert pytest.approx(repeated.S_, rel=1e-9) == weighted.S_
    assert weighted.mean_ == pytest.approx(repeated.mean_)
    assert weighted.error_upper_ == pytest.approx(repeated.error_upper_, rel=1e-6)


def test_float32():
    low = LowRankFactorization(8, dtype="float32", random_state=0).fit(X)
    high = LowRankFactorization(8, random_state=0).fit(X)
    assert low.W_.dtype == np.float32
    assert pytest.approx(high.S_, rel=1e-4) == low.S_
    assert low.error_upper_ == pytest.approx(high.error_upper_, rel=1e-3)


def test_n_components_above_the_rank():
    exact = np.random.default_rng(0).normal(size=(30, 3)) @ np.random.default_rng(1).normal(
        size=(3, 20)
    )
    model = LowRankFactorization(10, random_state=0).fit(exact)
    assert model.n_components_ == 3
    assert model.error_upper_ <= 1e-10
    constant = LowRankFactorization(4, random_state=0).fit(np.ones((6, 5)))
    assert constant.n_components_ == 0
    assert constant.transform(np.ones((2, 5))).shape == (2, 0)


def test_error_upper_fails_at_most_with_probability_delta():
    """Flat and nearly tied spectra are the hard ones."""
    random = check_random_state(0)
    n_violations = 0
    for k in range(300):
        d = int(random.choice([20, 60]))
        spectrum = np.concatenate(
            [[1.0], 1.0 - 10.0 ** -random.uniform(0.5, 3) * random.rand(d - 1)]
        )
        basis = np.linalg.qr(random.normal(size=(d, d)))[0]
        operator = CenteredOperator(basis * spectrum, None, False)
        no_vectors = np.zeros((d, 0))
        lower, upper = spectral_error(
            operator, no_vectors, np.zeros(0), no_vectors, 8 + k % 8, 0.05, random
        )
        assert lower <= 1.0 + 1e-9
        n_violations += upper < 1.0
    assert n_violations <= 0.05 * 300


def test_with_too_few_steps_error_upper_is_the_frobenius_norm():
    model = LowRankFactorization(10, n_lanczos=2, random_state=0).fit(X)
    assert model.error_upper_ == model.error_fro_


def test_saved_and_loaded(tmp_path):
    model = LowRankFactorization(5, random_state=0).fit(X)
    save(model, tmp_path / "factors.tamis")
    assert np.array_equal(load(tmp_path / "factors.tamis").transform(X), model.transform(X))
