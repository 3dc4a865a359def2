"""Losses and penalties of the batch group lasso as parameters: shipped ones, a user's own, offsets,
and by what a fit ends.
"""

import math
import runpy
import warnings
from typing import NamedTuple

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.exceptions import ConvergenceWarning
from sklearn.linear_model import PoissonRegressor
from sklearn.metrics import d2_tweedie_score

import tamis
from tamis import (
    FTRLRegressor,
    GroupLassoClassifier,
    GroupLassoClassifierCV,
    GroupLassoRegressor,
    GroupLassoRegressorCV,
    MultiTaskRegressor,
    SieveRegressor,
)
from tamis.base.validation import validate_offset
from tamis.model_files import ModelFileError
from tamis.terms import MCP, Free, GroupL2, SparseGroup, term

pytestmark = pytest.mark.delicate

GROUPS = np.repeat(np.arange(8), 3)


@term
class PseudoHuber(NamedTuple):
    """A user's loss, without a conjugate: sqrt(1 + r^2) - 1."""

    width: float = 1.0

    def value(self, score, target):
        r = (score - target) / self.width
        return self.width * self.width * (math.sqrt(1.0 + r * r) - 1.0)

    def gradient(self, score, target):
        r = (score - target) / self.width
        return self.width * r / math.sqrt(1.0 + r * r)

    def hessian(self, score, target):
        r = (score - target) / self.width
        return 1.0 / (1.0 + r * r) ** 1.5

    def hessian_bound(self):
        return 1.0


@term
class GroupRoot(NamedTuple):
    """A user's penalty, with the three methods that every penalty has: the norm of a group, one
    column's twice.
    """

    alpha: float = 1.0

    def value(self, w, weight, l1_weight):
        square = 0.0
        for k in range(len(w)):
            square += w[k] * w[k]
        return self.alpha * weight * math.sqrt(square)

    def prox(self, v, step, weight, l1_weight, out):
        square = 0.0
        for k in range(len(v)):
            square += v[k] * v[k]
        norm, threshold = math.sqrt(square), step * self.alpha * weight
        for k in range(len(v)):
            out[k] = v[k] * (1.0 - threshold / norm) if norm > threshold else 0.0

    def subdiff_distance(self, w, gradient, weight, l1_weight):
        square, apart = 0.0, 0.0
        for k in range(len(w)):
            square += w[k] * w[k]
        norm, strength = math.sqrt(square), self.alpha * weight
        for k in range(len(w)):
            off = gradient[k] + (strength * w[k] / norm if norm > 0.0 else 0.0)
            apart += off * off
        return math.sqrt(apart) if norm > 0.0 else max(0.0, math.sqrt(apart) - strength)


@pytest.fixture(scope="module")
def data():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(150, 24))
    score = 0.3 + X[:, :3] @ [0.6, -0.4, 0.5]
    return X, score, score + 0.3 * rng.normal(size=150), rng


@pytest.fixture(scope="module")
def counts(data):
    X, score, _, _ = data
    rng = np.random.default_rng(1)
    exposure = rng.uniform(0.2, 4.0, 150)
    return X, rng.poisson(exposure * np.exp(score)).astype(float), np.log(exposure)


def violation(model, X, slope, gamma):
    """Largest distance of a group to the optimality conditions of the minimax concave penalty."""
    worst = 0.0
    for group in model.feature_groups_:
        strength, w, g = (
            model.alpha_ * np.sqrt(len(group)),
            model.coef_.ravel()[group],
            slope[group],
        )
        norm = np.linalg.norm(w)
        if norm == 0.0:
            worst = max(worst, np.linalg.norm(g) - strength)
        else:
            pull = max(0.0, strength - norm / gamma)
            worst = max(worst, np.linalg.norm(g + pull * w / norm))
    return worst


# ----------------------------------------------------------------- Poisson
def test_poisson_without_a_penalty_is_that_of_scikit_learn(counts):
    X, y, _ = counts
    s = np.random.default_rng(2).uniform(0.0, 2.0, 150)
    theirs = PoissonRegressor(alpha=0.0, tol=1e-10, max_iter=10_000).fit(X, y, s)
    for given in (X, sp.csr_array(X)):
        mine = GroupLassoRegressor(loss="poisson", alpha=0.0, tol=1e-12).fit(given, y, s)
        assert mine.coef_ == pytest.approx(theirs.coef_, abs=1e-6)
        assert mine.predict(given) == pytest.approx(theirs.predict(X), rel=1e-5)
        assert mine.score(given, y, s) == pytest.approx(theirs.score(X, y, s), abs=1e-9)
    assert mine.score(X, y) == pytest.approx(d2_tweedie_score(y, mine.predict(X), power=1))


@pytest.mark.parametrize("solver", ["blocks", "fista"])
def test_poisson_ends_with_a_gap_and_is_optimal(counts, solver):
    X, y, _ = counts
    model = GroupLassoRegressor(GROUPS, 0.25, loss="poisson", tol=1e-11, solver=solver).fit(X, y)
    slope = X.T @ (model.predict(X) - y) / len(y)
    assert violation(model, X, slope, math.inf) < 1e-5
    assert 0 < len(model.group_support_) < 8
    deviance = 2.0 * np.mean(y * np.log(np.where(y > 0, y / y.mean(), 1.0)))
    assert 0.0 <= model.dual_gap_ <= 1e-11 * deviance
    top = GroupLassoRegressor(GROUPS, loss="poisson").fit(X, y).alpha_max_
    assert not GroupLassoRegressor(GROUPS, 1.001 * top, loss="poisson").fit(X, y).coef_.any()
    assert GroupLassoRegressor(GROUPS, 0.98 * top, loss="poisson").fit(X, y).coef_.any()


def test_tol_is_a_share_of_the_null_deviance_though_the_loss_is_negative(counts):
    X, y, _ = counts
    exact = GroupLassoRegressor(loss="poisson", alpha=0.05, tol=1e-13).fit(X, 100.0 * y)
    assert exact.objective_ < 0.0
    for tol in (1e-2, 1e-4):
        with warnings.catch_warnings():
            warnings.simplefilter("error")  # it ends where it should
            rough = GroupLassoRegressor(loss="poisson", alpha=0.05, tol=tol).fit(X, 100.0 * y)
        assert rough.n_iter_ < exact.n_iter_
        deviance = 200.0 * np.mean(y * np.log(np.where(y > 0, y / y.mean(), 1.0)))
        assert rough.objective_ - exact.objective_ <= rough.dual_gap_ <= tol * deviance


@pytest.mark.parametrize("y", [0.0, 3.0, 1e-30, 1e9])
def test_counts_that_never_change_have_the_model_of_their_mean(y, data):
    model = GroupLassoRegressor(loss="poisson").fit(data[0], np.full(150, y))
    assert not model.coef_.any()
    assert model.predict(data[0]) == pytest.approx(np.full(150, y), rel=1e-9, abs=1e-9)


@pytest.mark.parametrize("make", [GroupLassoRegressor, FTRLRegressor, MultiTaskRegressor])
def test_targets_outside_the_domain_are_refused_by_row(make, counts):
    X, y, _ = counts
    y = y.copy()
    y[17] = -2.0
    with pytest.raises(ValueError, match=r"-2 in row 17.*Poisson"):
        make(loss="poisson").fit(X, y)


def test_families_that_need_classes_or_residuals_refuse_poisson(counts):
    X, y, _ = counts
    for model in (GroupLassoClassifier(loss="poisson"), SieveRegressor(loss="poisson")):
        with pytest.raises(ValueError, match=r"'poisson'.*" + type(model).__name__):
            model.fit(X, y > 1)


def test_live_predicts_means_and_refuses_negative_counts(counts):
    X, y, _ = counts
    model = FTRLRegressor(loss="poisson", random_state=0).fit(X, y)
    served = tamis.live(model)
    columns = np.arange(24)
    assert served.predict(columns, X[3]) == pytest.approx(model.predict(X[3:4])[0], rel=1e-12)
    assert served.predict(columns, X[3]) == pytest.approx(math.exp(served.score(columns, X[3])))
    with pytest.raises(ValueError, match=r"-1 in row 0"):
        served.learn(columns, X[3], -1.0)
    before = model.t_
    served.learn(columns, X[3], 2.0)
    assert model.t_ == before + 1


def test_exports_never_show_a_score_for_a_mean(counts, tmp_path):
    X, y, offset = counts
    plain = GroupLassoRegressor(loss="poisson").fit(X, y)
    shifted = GroupLassoRegressor(loss="poisson").fit(X, y, offset=offset)
    for suffix in ("json", "py", "sql", "md"):
        with pytest.raises(ValueError, match="offset"):
            tamis.export(shifted, tmp_path / f"m.{suffix}")
    tamis.export(plain, tmp_path / "m.py")
    alone = runpy.run_path(str(tmp_path / "m.py"))
    means = [alone["predict"](row) for row in X[:5].tolist()]
    assert means == pytest.approx(plain.predict(X[:5]), rel=1e-12)
    explained = plain.explain(X[:5])
    assert np.exp(explained.score) == pytest.approx(plain.predict(X[:5]))
    assert "nan" not in str(plain.report(X, y))


# ----------------------------------------------------------------- offsets
@pytest.mark.parametrize("cls", [GroupLassoRegressor, GroupLassoClassifier])
def test_an_offset_is_a_column_of_known_weight(cls, counts):
    """For the squared loss it is taken from the target."""
    X, y, offset = counts
    if cls is GroupLassoClassifier:
        plain = cls(alpha=0.02, tol=1e-11).fit(X, y > 1, offset=2.5 * np.ones(150))
        same = cls(alpha=0.02, tol=1e-11).fit(X, y > 1)
        assert plain.coef_ == pytest.approx(same.coef_, abs=1e-5)
        assert plain.intercept_ == pytest.approx(same.intercept_ - 2.5, abs=1e-5)
        assert plain.predict_proba(X, offset=2.5 * np.ones(150)) == pytest.approx(
            same.predict_proba(X), abs=1e-5
        )
        assert plain.score(X, y > 1, offset=2.5 * np.ones(150)) == same.score(X, y > 1)
        assert np.array_equal(plain.predict(X, offset=np.full(150, 2.5)), same.predict(X))
        return
    s = np.arange(150) % 3
    shifted = cls(GROUPS, 0.05, tol=1e-12).fit(X, y, s, offset=offset)
    same = cls(GROUPS, 0.05, tol=1e-12).fit(X, y - offset, s)
    assert shifted.coef_ == pytest.approx(same.coef_, abs=1e-6)
    assert shifted.objective_ == pytest.approx(same.objective_)
    assert shifted.predict(X, offset=offset) == pytest.approx(same.predict(X) + offset, abs=1e-6)
    assert 0.0 <= shifted.dual_gap_ <= 1e-12 * np.var(y - offset) * 4.0


def test_exposure_makes_rates(counts):
    """A row of exposure 2 is a row of twice the mean; the offset also enters the certificate."""
    X, y, offset = counts
    model = GroupLassoRegressor(GROUPS, 0.02, loss="poisson", tol=1e-11).fit(X, y, offset=offset)
    slope = X.T @ (model.predict(X, offset=offset) - y) / len(y)
    assert violation(model, X, slope, math.inf) < 1e-5
    assert model.predict(X, offset=offset + math.log(2.0)) == pytest.approx(
        2.0 * model.predict(X, offset=offset)
    )
    assert model.score(X, y, offset=offset) > GroupLassoRegressor(GROUPS, 0.02, loss="poisson").fit(
        X, y
    ).score(X, y)
    held_out = GroupLassoRegressorCV(GROUPS, alphas=[0.3, 0.05], cv=3, tol=1e-10)
    losses = held_out.fit(X, y, offset=offset).cv_results_["split_test_loss"]
    same = held_out.fit(X, y - offset).cv_results_["split_test_loss"]
    assert losses == pytest.approx(same, rel=1e-6)
    searched = GroupLassoRegressorCV(GROUPS, alphas=5, cv=3, loss="poisson")
    searched.fit(X, y, offset=offset)
    assert 0 in searched.group_support_
    path = model.path(X, y, alphas=[model.alpha_], offset=offset)
    assert path["coef"][0, 0] == pytest.approx(model.coef_, abs=1e-4)


def test_a_model_with_an_offset_asks_for_one(counts, tmp_path):
    X, y, offset = counts
    model = GroupLassoRegressor().fit(X, y, offset=offset)
    tamis.save(model, tmp_path / "m.tamis")
    for each in (model, tamis.load(tmp_path / "m.tamis")):
        for ask in (each.predict, lambda X, each=each: each.score(X, y)):
            with pytest.raises(ValueError, match=r"GroupLassoRegressor .*offset"):
                ask(X)
        assert np.array_equal(each.predict(X, offset=offset), model.predict(X, offset=offset))
    assert np.array_equal(model.fit(X, y).predict(X), model.predict(X, offset=np.zeros(150)))


def test_offsets_are_one_finite_number_a_row(counts):
    X, y, offset = counts
    bad = offset.copy()
    bad[7] = np.nan
    huge = offset.copy()
    huge[7] = 1e60
    for given, said in (
        (bad, "offset"),
        (huge, "1e\\+60 in row 7"),
        (offset[:-1], r"\(149,\)"),
        (np.c_[offset, offset], "2D"),
    ):
        with pytest.raises(ValueError, match=said):
            GroupLassoRegressor().fit(X, y, offset=given)
    with pytest.raises(ValueError, match="offset has no effect"):
        GroupLassoClassifier().fit(X, (y % 3).astype(int), offset=offset)
    assert validate_offset(None, 5) is None
    assert validate_offset([1, 2], 2).tolist() == [1.0, 2.0]
    assert offset.flags.writeable


# ----------------------------------------------------------------- penalties
@pytest.mark.parametrize("scale", [1.0, 0.1], ids=["unit", "small"])
@pytest.mark.parametrize("kind", [np.asarray, sp.csr_array], ids=["dense", "sparse"])
def test_mcp_ends_at_a_stationary_point(data, scale, kind):
    """Columns of little curvature, too, where a step of 1 over it is longer than gamma."""
    X, _, y, _ = data
    X = scale * np.where(np.abs(X) > 0.5, X, 0.0)
    model = GroupLassoRegressor(penalty=MCP(gamma=2.5), alpha=0.1 * scale, tol=1e-12)
    model.fit(kind(X), y)
    slope = X.T @ (X @ model.coef_ + model.intercept_ - y) / len(y)
    assert violation(model, X, slope, 2.5) <= 1e-6 * model.alpha_ + 1e-12
    assert model.kkt_violation_ <= 1e-6 * model.alpha_
    assert not hasattr(model, "dual_gap_")
    assert {0, 1, 2} <= set(model.support_) != set(range(24))


@pytest.mark.parametrize("solver", ["blocks", "fista"])
def test_mcp_of_groups_and_other_losses(data, counts, solver):
    X, _, y, _ = data
    model = GroupLassoRegressor(GROUPS, 0.1, penalty="mcp", tol=1e-11, solver=solver).fit(X, y)
    slope = X.T @ (model.predict(X) - y) / len(y)
    assert violation(model, X, slope, 3.0) < 1e-5
    assert model.group_support_.tolist() == [0]
    labels = GroupLassoClassifier(GROUPS, 0.05, penalty="mcp", tol=1e-11, solver=solver)
    labels.fit(X, y > 0)
    slope = X.T @ (labels.predict_proba(X)[:, 1] - (y > 0)) / len(y)
    assert violation(labels, X, slope, 3.0) < 1e-5
    X, y, offset = counts
    rates = GroupLassoRegressor(GROUPS, 0.2, penalty="mcp", loss="poisson", tol=1e-11)
    rates.set_params(solver=solver).fit(X, y, offset=offset)
    slope = X.T @ (rates.predict(X, offset=offset) - y) / len(y)
    assert violation(rates, X, slope, 3.0) < 1e-5
    chosen = GroupLassoRegressorCV(GROUPS, penalty="mcp", alphas=8, cv=3).fit(X, y)
    assert np.isnan(chosen.path_["dual_gap"]).all()


def test_mcp_does_not_shrink_large_weights(data):
    """On orthonormal columns it has a closed form, and beyond gamma alpha that of least squares."""
    rng = np.random.default_rng(3)
    X = np.linalg.qr(rng.normal(size=(90, 12)))[0] * np.sqrt(90)
    y = X @ np.r_[3.0, -2.0, 0.25, np.zeros(9)] + 0.1 * rng.normal(size=90)
    least = X.T @ y / 90
    model = GroupLassoRegressor(penalty="mcp", alpha=0.15, fit_intercept=False, tol=1e-14)
    coef = model.fit(X, y).coef_
    shrunk = np.sign(least) * np.maximum(np.abs(least) - 0.15, 0.0) / (1.0 - 1.0 / 3.0)
    assert coef == pytest.approx(np.where(np.abs(least) > 0.45, least, shrunk), abs=1e-9)
    lasso = GroupLassoRegressor(alpha=0.15, fit_intercept=False).fit(X, y).coef_
    assert abs(lasso[0]) < abs(coef[0]) - 0.1
    far = GroupLassoRegressor(penalty=MCP(gamma=1e9), alpha=0.15, fit_intercept=False, tol=1e-14)
    assert far.fit(X, y).coef_ == pytest.approx(lasso, abs=1e-4)


def test_an_object_is_a_shape_that_alpha_multiplies(data):
    X, _, y, _ = data
    usual = GroupLassoRegressor(GROUPS, 0.1).fit(X, y)
    for penalty, alpha in (("group_lasso", 0.1), (GroupL2(1.0), 0.1), (GroupL2(0.5), 0.2)):
        model = GroupLassoRegressor(GROUPS, alpha, penalty=penalty).fit(X, y)
        assert model.coef_ == pytest.approx(usual.coef_, rel=1e-12)
        assert model.alpha_max_ * 0.1 / alpha == pytest.approx(usual.alpha_max_)
        auto = GroupLassoRegressor(GROUPS, penalty=penalty).fit(X, y)
        assert auto.coef_ == pytest.approx(GroupLassoRegressor(GROUPS).fit(X, y).coef_, rel=1e-9)
    inside = GroupLassoRegressor(GROUPS, 0.1, l1_weights=0.5).fit(X, y)
    model = GroupLassoRegressor(GROUPS, 0.1, penalty=SparseGroup(1.0), l1_weights=0.5).fit(X, y)
    assert np.array_equal(model.coef_, inside.coef_)
    positive = GroupLassoRegressor(GROUPS, 0.1, penalty=GroupL2(1.0), positive=True).fit(X, y)
    usual = GroupLassoRegressor(GROUPS, 0.1, positive=True).fit(X, y)
    assert np.array_equal(positive.coef_, usual.coef_)


@pytest.mark.parametrize(
    ("given", "error", "said"),
    [
        ({"penalty": GroupL2(1.0), "l1_ratio": 0.5}, ValueError, "l1_ratio=0.5"),
        ({"penalty": "mcp", "l1_weights": 0.5}, ValueError, "l1_weights=0.5"),
        ({"penalty": "mcp", "positive": True}, ValueError, "MCP.*positive"),
        ({"penalty": GroupL2(0.0)}, TypeError, "GroupL2.*alpha"),
        ({"penalty": Free()}, TypeError, "Free.*penalty of groups"),
        ({"penalty": "l0"}, ValueError, "'l0'"),
        ({"penalty": 0.3}, TypeError, "penalty"),
        ({"penalty": "mcp", "stop": "gap"}, ValueError, "MCP.*conjugate.*stop='kkt'"),
        ({"loss": PseudoHuber(), "stop": "gap"}, ValueError, "PseudoHuber.*conjugate.*stop='kkt'"),
        ({"penalty": GroupRoot()}, ValueError, "dual_scale.*GroupRoot.*alpha as a number"),
        ({"stop": "soon"}, ValueError, "stop"),
    ],
)
def test_what_does_not_go_together_is_refused_with_the_way_out(data, given, error, said):
    with pytest.raises(error, match=said):
        GroupLassoRegressor(GROUPS, **given).fit(data[0], data[2])


def test_strengths_without_a_dual_scale_must_be_listed(data):
    model = GroupLassoRegressorCV(GROUPS, penalty=GroupRoot(), alphas=[0.3, 0.1], cv=2)
    assert model.fit(data[0], data[2]).alpha_ in (0.3, 0.1)
    assert not hasattr(model, "alpha_max_")
    with pytest.raises(ValueError, match=r"GroupRoot.*dual_scale.*list"):
        model.set_params(alphas=5).fit(data[0], data[2])


# ----------------------------------------------------------------- a user's own
@pytest.mark.parametrize("solver", ["blocks", "fista"])
@pytest.mark.parametrize("kind", [np.asarray, sp.csr_array], ids=["dense", "sparse"])
def test_a_users_penalty_is_solved_like_the_shipped_one_it_copies(data, solver, kind):
    X, _, y, _ = data
    given = {"alpha": 0.1, "tol": 1e-13, "solver": solver}
    theirs = GroupLassoRegressor(GROUPS, **given).fit(kind(X), y)
    own = GroupLassoRegressor(GROUPS, penalty=GroupRoot(), **given).fit(kind(X), y)
    assert own.coef_ == pytest.approx(theirs.coef_, abs=1e-5)
    assert own.group_support_.tolist() == theirs.group_support_.tolist()
    assert not hasattr(own, "dual_gap_")
    assert own.kkt_violation_ <= math.sqrt(1e-13) * 0.1 * math.sqrt(3.0)


@term
class Cautious(NamedTuple):
    """The same, with a prox that is good for short steps alone."""

    alpha: float = 1.0
    limit: float = 0.5

    def value(self, w, weight, l1_weight):
        return self.alpha * weight * abs(w[0])

    def prox(self, v, step, weight, l1_weight, out):
        shrunk = max(abs(v[0]) - step * self.alpha * weight, 0.0)
        out[0] = math.copysign(shrunk, v[0]) if step <= self.limit else math.nan

    def subdiff_distance(self, w, gradient, weight, l1_weight):
        strength = self.alpha * weight
        if w[0] == 0.0:
            return max(0.0, abs(gradient[0]) - strength)
        return abs(gradient[0] + math.copysign(strength, w[0]))

    def largest_step(self):
        return self.limit


@pytest.mark.parametrize("loss", ["squared_error", "poisson"])
@pytest.mark.parametrize("solver", ["blocks", "fista"])
@pytest.mark.parametrize("kind", [np.asarray, sp.csr_array], ids=["dense", "sparse"])
@pytest.mark.parametrize("width", [24, 400])
def test_no_step_is_longer_than_a_penalty_allows(counts, solver, kind, loss, width):
    """Columns of little curvature ask for long ones; with more columns than rows, too."""
    X, y, _ = counts
    X = np.hstack([X, np.random.default_rng(5).normal(size=(150, width - 24))])
    X = 0.2 * np.where(np.abs(X) > 0.5, X, 0.0)
    given = {"alpha": 0.05, "loss": loss, "solver": solver, "tol": 1e-11, "max_iter": 400}
    model = GroupLassoRegressor(penalty=Cautious(), **given).fit(kind(X), y)
    assert model.coef_ == pytest.approx(
        GroupLassoRegressor(**given).fit(kind(X), y).coef_, abs=1e-3
    )
    assert model.coef_.any()


@pytest.mark.parametrize("solver", ["blocks", "fista"])
def test_a_users_loss_without_a_conjugate(data, solver):
    X, _, y, _ = data
    model = GroupLassoRegressor(GROUPS, 0.05, loss=PseudoHuber(0.5), tol=1e-12, solver=solver)
    model.fit(X, y)
    r = (model.predict(X) - y) / 0.5
    slope = X.T @ (0.5 * r / np.sqrt(1.0 + r**2)) / len(y)
    assert violation(model, X, slope, math.inf) < 1e-6
    assert 0 < len(model.group_support_) < 8
    both = GroupLassoRegressor(GROUPS, 0.05, loss=PseudoHuber(0.5), penalty=GroupRoot(), tol=1e-12)
    assert both.fit(X, y).coef_ == pytest.approx(model.coef_, abs=1e-5)


def test_files_keep_a_users_terms_by_name_and_code(data, tmp_path):
    X, _, y, _ = data
    model = GroupLassoRegressor(GROUPS, 0.05, loss=PseudoHuber(), penalty=GroupRoot()).fit(X, y)
    tamis.save(model, tmp_path / "m.tamis")
    with pytest.raises(ModelFileError, match=r"GroupRoot|PseudoHuber"):
        tamis.load(tmp_path / "m.tamis")
    again = tamis.load(tmp_path / "m.tamis", terms=[PseudoHuber, GroupRoot])
    assert np.array_equal(again.predict(X), model.predict(X))
    assert np.array_equal(again.fit(X, y).coef_, model.coef_)
    tamis.save(GroupLassoRegressor(penalty=MCP(gamma=4.0)).fit(X, y), tmp_path / "m.tamis")
    assert tamis.load(tmp_path / "m.tamis").penalty == MCP(1.0, 4.0)


# ----------------------------------------------------------------- by what a fit ends
def test_the_gap_and_the_conditions_end_at_one_solution(data):
    X, _, y, _ = data
    for cls, target in ((GroupLassoRegressor, y), (GroupLassoClassifier, y > 0)):
        gap = cls(GROUPS, 0.03, 0.3, stop="gap", tol=1e-12).fit(X, target)
        kkt = cls(GROUPS, 0.03, 0.3, stop="kkt", tol=1e-12).fit(X, target)
        assert kkt.coef_ == pytest.approx(gap.coef_, abs=1e-5)
        assert not hasattr(kkt, "dual_gap_")
        assert not hasattr(gap, "kkt_violation_")
        assert kkt.kkt_violation_ <= 1e-6 * 0.03 * math.sqrt(3.0)
        auto = cls(GROUPS, 0.03, 0.3, tol=1e-12).fit(X, target)
        assert np.array_equal(auto.coef_, gap.coef_)
    both = GroupLassoRegressor(GROUPS, 0.03, stop="kkt").fit(X, y).set_params(stop="gap").fit(X, y)
    assert not hasattr(both, "kkt_violation_")
    free = GroupLassoRegressor([None] * 2 + [0] * 22, 0.2, stop="kkt", tol=1e-12).fit(X, y)
    slope = X.T @ (free.predict(X) - y) / len(y)
    assert np.abs(slope[:2]).max() < 1e-6


def test_too_few_iterations_without_a_gap_warn(data):
    with pytest.warns(ConvergenceWarning, match="KKT violation"):
        GroupLassoRegressor(alpha=0.01, penalty="mcp", max_iter=1).fit(data[0], data[2])


@term
class Cloglog(NamedTuple):
    """A user's loss of classes with an inverse link that is not symmetric."""

    unused: float = 0.0

    @property
    def domain(self):
        return "classes, as -1 and 1"

    def accepts(self, targets):
        return abs(targets) == 1.0

    def value(self, score, target):
        rate = math.exp(min(score, 30.0))
        return rate if target < 0.0 else -math.log(max(-math.expm1(-rate), 1e-300))

    def gradient(self, score, target):
        rate = math.exp(min(score, 30.0))
        return rate if target < 0.0 else -rate / math.expm1(min(rate, 700.0))

    def hessian(self, score, target):
        rate = math.exp(min(score, 30.0))
        if target < 0.0:
            return rate
        grown = math.expm1(min(rate, 300.0))
        return rate * (rate * (grown + 1.0) - grown) / (grown * grown)

    def hessian_bound(self):
        return math.inf

    def inverse_link(self, score):
        return -math.expm1(-math.exp(min(score, 30.0)))


def test_probabilities_are_the_inverse_link_of_any_loss(data):
    X, score, _, _ = data
    rng = np.random.default_rng(4)
    y = rng.random(150) < -np.expm1(-np.exp(score))
    model = GroupLassoClassifier(GROUPS, 0.01, loss=Cloglog(), tol=1e-12).fit(X, y)
    share = model.predict_proba(X)
    assert share[:, 1] == pytest.approx(-np.expm1(-np.exp(model.decision_function(X))), abs=1e-12)
    assert share.sum(axis=1) == pytest.approx(np.ones(150))
    assert share[:, 1].mean() == pytest.approx(y.mean(), abs=0.02)
    three = GroupLassoClassifier(GROUPS, 0.01, loss=Cloglog()).fit(X, y + (X[:, 5] > 1))
    assert three.predict_proba(X).sum(axis=1) == pytest.approx(np.ones(150))
    with pytest.raises(ValueError, match="inverse link"):
        tamis.export(model, "never.json")
    assert not hasattr(GroupLassoClassifier(loss="squared_hinge"), "predict_proba")
    assert hasattr(GroupLassoClassifierCV(), "predict_proba")
