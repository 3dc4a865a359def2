"""The comparator of the paper's benchmark, and the verdicts of the benchmark."""

import numpy as np
import pytest
import scipy.sparse as sp
from methods.batch_confidence_weighted import reference
from sklearn.svm import LinearSVC

from benchmarks.papers.confidence import verdict
from benchmarks.papers.confidence.spardca import SparDCA

X, Y = reference.make_data(150, 10, seed=2)
ROWS = sp.csr_array(X[X.any(axis=1)])
SIGNS = Y[X.any(axis=1)]


def test_spardca_climbs_its_dual_to_the_optimum():
    model = SparDCA(C=0.7, tau=0.0, lam=0.5, max_iter=2000, tol=1e-12).fit(ROWS, SIGNS)
    assert (np.diff(model.duals_) >= -1e-12).all()
    assert min(model.gaps_) >= -1e-9
    assert model.coef_[0] == pytest.approx(
        reference.newton_svm(ROWS.toarray(), SIGNS, 1.4), abs=1e-5
    )


def test_spardca_tends_to_the_l1_svm():
    model = SparDCA(C=0.05, tau=1.0, lam=1e-3, max_iter=20_000, tol=1e-6).fit(ROWS, SIGNS)
    svm = LinearSVC(
        penalty="l1", dual=False, C=0.05, fit_intercept=False, tol=1e-8, max_iter=100_000
    ).fit(ROWS, SIGNS)
    assert model.coef_[0] == pytest.approx(svm.coef_[0], abs=2e-3)
    assert np.array_equal(model.coef_[0] == 0.0, svm.coef_[0] == 0.0)


def test_verdicts_need_more_than_two_standard_errors_of_the_difference():
    truth = np.random.default_rng(0).random(1000)
    worse, same, better = ({"wrong": verdict.packed(truth < error)} for error in (0.2, 0.101, 0.1))
    assert verdict.against(better, worse, 1000) == "lower"
    assert verdict.against(worse, better, 1000) == "higher"
    assert verdict.against(same, better, 1000) == "equal"
    assert verdict.unpacked(worse["wrong"], 1000).mean() == np.mean(truth < 0.2)
