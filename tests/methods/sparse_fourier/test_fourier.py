"""Sparse Fourier features: the prior without labels, the kernel, planted columns, pipelines."""

import numpy as np
import pytest
import scipy.sparse as sp
from scipy.stats import poisson
from sklearn.exceptions import ConvergenceWarning
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline

from tamis import SparseFourierFeatures, load, save
from tamis.methods.sparse_fourier.chain import _new_chain, _new_proposal
from tamis.methods.sparse_fourier.loop import PriorConstants, initialize_chain
from tamis.methods.sparse_fourier.posterior import effective_size, split_r_hat

pytestmark = [
    pytest.mark.delicate,
    pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning"),
]
SHORT_RUN = {"max_iter": 2000, "n_refreshes": 0, "random_state": 0}


def make_checkers(n=300, p=10, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, p))
    return X, np.where(X[:, 2] * X[:, 5] > 0, "same", "opposite")


# ------------------------------------------------------------------------- the prior and the kernel
@pytest.mark.long
def test_without_labels_the_chain_returns_the_prior():
    """The number of frequencies is a truncated Poisson variable, and no column is preferred."""
    X, y = make_checkers(20, 6)
    model = SparseFourierFeatures(
        sharpness=0.0,
        mean_frequencies=5.0,
        max_frequencies=12,
        max_iter=40_000,
        thin=1,
        n_chains=1,
        burn_in=0.05,
        n_refreshes=0,
        random_state=1,
    ).fit(X, y)
    counts = np.bincount(model.trace_["n_frequencies"][0, 2000:], minlength=13)[1:]
    prior = poisson.pmf(np.arange(1, 13), 5.0)
    assert 0.5 * np.abs(counts / counts.sum() - prior / prior.sum()).sum() < 0.03
    # No column is preferred.
    assert model.inclusion_share_.std() < 0.4 * model.inclusion_share_.mean()


def test_walks_follow_the_urn():
    """With one column each step ends the walk by a Polya urn of two colours that starts with half a
    ball of each.
    """
    columns = (np.ones(2), np.array([0, 1]), np.array([0, 2]))
    other, prior = np.array([1, 0]), PriorConstants(5.0, 1.0, 0.5, 1.0, 0.5, 0.0)
    lengths = []
    for key in range(8000):
        chain = _new_chain(2, 2)
        initialize_chain(
            chain, _new_proposal(2), 2, columns, other, other, 1, prior, np.uint64(key)
        )
        lengths.append(chain.lengths.copy())
    first, second = np.array(lengths).T
    assert [np.mean(first == k) for k in (1, 2, 3, 6)] == pytest.approx(
        urn_lengths(0.5)[[0, 1, 2, 5]], abs=0.02
    )
    assert [np.mean(second[first == 1] == k) for k in (1, 2, 3)] == pytest.approx(
        urn_lengths(1.5)[:3], abs=0.02
    )


def urn_lengths(ends, goes=0.5, longest=32):
    """Return the probabilities of the lengths 1, 2, ... of a walk that ends or continues by an urn
    with these balls, given that it is not longer than `longest`.
    """
    probabilities, survival = [], 1.0
    for _ in range(longest):
        probabilities.append(survival * ends / (ends + goes))
        survival *= goes / (ends + goes)
        goes += 1.0
    return np.array(probabilities) / sum(probabilities)


def test_first_columns_follow_the_urn():
    columns = (np.ones(2), np.array([0, 1]), np.array([0, 2, 2, 2, 2]))
    other, prior = np.array([1, 0]), PriorConstants(5.0, 1.0, 0.5, 1.0, 0.5, 0.0)
    same = []
    for key in range(4000):
        chain = _new_chain(2, 2)
        initialize_chain(
            chain, _new_proposal(2), 2, columns, other, other, 4, prior, np.uint64(key)
        )
        same.append(chain.walks[0, 0] == chain.walks[1, 0])
    assert np.mean(same) == pytest.approx((1 + 1 / 4) / 2, abs=0.03)


def test_the_kernel_depends_on_differences_and_is_one_on_the_diagonal():
    X, y = make_checkers()
    model = SparseFourierFeatures(**SHORT_RUN).fit(X, y)
    Z, shifted = model.transform(X), model.transform(X + np.linspace(-3, 3, 10))
    np.testing.assert_allclose(Z @ Z.T, shifted @ shifted.T, atol=1e-10)
    np.testing.assert_allclose((Z * Z).sum(axis=1), 1.0)
    model.n_components = None
    Z = model.transform(X)
    direct = (
        model.frequency_weights_ * np.cos((X[:3] - X[3:6]) @ model.frequencies_.T.toarray())
    ).sum(axis=1)
    np.testing.assert_allclose((Z[:3] * Z[3:6]).sum(axis=1), direct, atol=1e-10)


def test_threads_and_storage_do_not_change_the_result():
    X, y = make_checkers(120)
    X[np.abs(X) < 0.5] = 0.0
    one = SparseFourierFeatures(**SHORT_RUN).fit(X, y)
    for other in (
        SparseFourierFeatures(**SHORT_RUN, n_jobs=2).fit(X, y),
        SparseFourierFeatures(**SHORT_RUN).fit(sp.csc_array(X), y),
    ):
        np.testing.assert_allclose(one.frequency_weights_, other.frequency_weights_)
        np.testing.assert_allclose(one.transform(X), other.transform(sp.csr_array(X)), atol=1e-12)


# --------------------------------------------------------------------------- planted columns
@pytest.mark.long
def test_planted_columns_rank_first_and_permuted_labels_find_nothing():
    X, y = make_checkers(400, 20)
    model = SparseFourierFeatures(max_iter=6000, random_state=0).fit(X, y)
    assert set(np.argsort(-model.inclusion_share_)[:2]) == {2, 5}
    Z = model.transform(X)
    new_rows, truth = make_checkers(400, 20, seed=1)
    nearest = y[np.argmax(model.transform(new_rows) @ Z.T, axis=1)]
    assert np.mean(nearest == truth) > 0.75
    shuffled = SparseFourierFeatures(max_iter=6000, random_state=0).fit(
        X, np.random.default_rng(0).permutation(y)
    )
    nearest = y[np.argmax(shuffled.transform(new_rows) @ shuffled.transform(X).T, axis=1)]
    assert np.mean(nearest == truth) < 0.65


def test_diagnostics_of_agreeing_and_disagreeing_chains():
    rng = np.random.default_rng(0)
    independent = rng.normal(size=(2, 1000))
    assert split_r_hat(independent) < 1.02
    assert split_r_hat(independent + np.array([[0.0], [3.0]])) > 1.5
    assert 1500 < effective_size(independent) <= 2100
    correlated = np.cumsum(independent, axis=1)
    assert effective_size(correlated) < 100


# --------------------------------------------------------------------------- pipelines and errors
def test_pipeline_save_and_load(tmp_path):
    pd = pytest.importorskip("pandas")
    X, y = make_checkers()
    frame = pd.DataFrame(X, columns=[f"gene{k}" for k in range(10)])
    model = make_pipeline(
        SparseFourierFeatures(n_components=200, max_iter=4000, random_state=0),
        LogisticRegression(C=100),
    ).fit(frame, y)
    assert model.score(frame, y) > 0.85
    features = model[0]
    width = features.transform(frame).shape[1]
    assert 100 < width <= 200  # a frequency drawn twice is one
    assert len(features.get_feature_names_out()) == width
    save(features, tmp_path / "m.tamis")
    loaded = load(tmp_path / "m.tamis")
    np.testing.assert_array_equal(loaded.transform(frame), features.transform(frame))
    assert loaded.diagnostics_ == features.diagnostics_


def test_chains_that_disagree_warn():
    X, y = make_checkers()
    with pytest.warns(ConvergenceWarning, match="split R-hat of the log-likelihood"):
        SparseFourierFeatures(
            sharpness=60.0, max_iter=400, n_refreshes=0, burn_in=0.1, random_state=0
        ).fit(X, y)


def test_one_class_is_refused():
    X, _ = make_checkers(20)
    with pytest.raises(ValueError, match="only one class"):
        SparseFourierFeatures().fit(X, np.zeros(20))
