"""The cutting planes against cone programs, enumeration and other libraries, and the invariants of
the models.
"""

from itertools import combinations, pairwise

import numpy as np
import pytest
import scipy.sparse as sp
from methods.robust import cones
from sklearn.linear_model import Ridge
from sklearn.svm import SVC

from tamis import RobustRegressor, RobustSVC
from tamis.methods.robust.cutting_planes import minimise, tangent_plane
from tamis.methods.robust.hinge_oracles import hinge_oracle
from tamis.methods.robust.residual_oracles import residual_oracle

pytestmark = pytest.mark.delicate

RNG = np.random.default_rng(0)
N, D = 80, 8
X = RNG.normal(size=(N, D)) * (RNG.random((N, D)) < 0.8)
Y = np.where(X[:, 0] - X[:, 1] + 0.5 * X[:, 2] + RNG.normal(size=N) + 0.4 > 0, 1.0, -1.0)
T = X @ RNG.normal(size=D) + 0.3 * RNG.normal(size=N) + 2.0
ROOT = RNG.normal(size=(D, D)) / 2.0
SIGMA = ROOT.T @ ROOT
RADII = {
    "l1": 0.2,
    "l2": 0.1,
    "linf": 0.05,
    "ellipsoid": 0.1,
    "deletion": 1,
    "labels": 3,
    "spectral": 0.5,
}
SETS = tuple(RADII)


def make_hinge_oracle(kind, radius=None, intercept=True, row_weights=None):
    radius = RADII[kind] if radius is None else radius
    return hinge_oracle(
        kind,
        float(radius),
        SIGMA,
        X,
        Y,
        np.ones(N) if row_weights is None else row_weights,
        intercept,
    )


def make_residual_oracle(kind, radius=None, intercept=True):
    radius = RADII[kind] if radius is None else radius
    return residual_oracle(kind, float(radius), SIGMA, X, T, np.ones(N), intercept)


def fit_robust(kind, radius=None, cls=RobustSVC, **params):
    radius = RADII[kind] if radius is None else radius
    ellipsoid_params = {"ellipsoid": SIGMA} if kind == "ellipsoid" else {}
    return cls(kind, radius=radius, **{"C": 0.5, **ellipsoid_params, **params}).fit(
        X, Y if cls is RobustSVC else T
    )


# --------------------------------------------------------------------------- cone programs
@pytest.mark.parametrize("kind", ["l1", "l2", "linf", "ellipsoid", "deletion", "labels"])
def test_hinge_against_a_cone_program(kind):
    expected = cones.robust_hinge(
        kind, X, Y, 0.5, RADII[kind], ROOT if kind == "ellipsoid" else None
    )
    model = fit_robust(kind)
    assert model.objective_ == pytest.approx(expected, rel=2e-4)
    assert model.objective_ >= expected * (1.0 - 1e-6)
    assert model.history_[-1]["lower"] <= expected * (1.0 + 1e-6)
    assert model.gap_ <= 1e-4


@pytest.mark.parametrize("kind", ["l1", "l2", "linf", "ellipsoid", "spectral"])
def test_residuals_against_a_cone_program(kind):
    expected = cones.robust_residuals(
        kind, X, T, 5.0, RADII[kind], ROOT if kind == "ellipsoid" else None
    )
    model = fit_robust(kind, cls=RobustRegressor, C=5.0)
    assert model.objective_ == pytest.approx(expected, rel=2e-4)
    assert model.objective_ >= expected * (1.0 - 1e-6)
    assert model.history_[-1]["lower"] <= expected * (1.0 + 1e-6)


# --------------------------------------------------------------------------- enumeration
@pytest.mark.parametrize("max_deleted", [0, 1, 2, 3])
def test_deletions_by_enumeration(max_deleted):
    """All deletions of up to `max_deleted` features, for hinge and for residuals."""
    w, subset = np.random.default_rng(1).normal(size=D), slice(0, 12)
    deletions = [
        list(deleted) for size in range(max_deleted + 1) for deleted in combinations(range(D), size)
    ]
    masks = np.array([np.where(np.isin(np.arange(D), deleted), 0.0, 1.0) for deleted in deletions])
    scores = (X[subset] * w) @ masks.T + 0.3
    hinge = hinge_oracle("deletion", max_deleted, None, X[subset], Y[subset], np.ones(12), True)
    hinge.set_weights(w)
    assert hinge.tangent_at(0.3).value == pytest.approx(
        np.maximum(1.0 - Y[subset, None] * scores, 0.0).max(axis=1).sum()
    )
    residuals = residual_oracle(
        "deletion", max_deleted, None, X[subset], T[subset], np.ones(12), True
    )
    residuals.set_weights(w)
    assert residuals.tangent_at(0.3).value == pytest.approx(
        np.linalg.norm(np.abs(T[subset, None] - scores).max(axis=1))
    )


@pytest.mark.parametrize("flips", [0, 1, 2, 3])
def test_flips_by_enumeration(flips):
    w, subset = np.random.default_rng(2).normal(size=D) / 2.0, slice(0, 10)
    margins = Y[subset] * (X[subset] @ w - 0.1)
    worst = 0.0
    for size in range(flips + 1):
        for flipped in combinations(range(10), size):
            signs = np.ones(10)
            signs[list(flipped)] = -1.0
            worst = max(worst, np.maximum(1.0 - signs * margins, 0.0).sum())
    oracle = hinge_oracle("labels", float(flips), None, X[subset], Y[subset], np.ones(10), True)
    oracle.set_weights(w)
    assert oracle.tangent_at(-0.1).value == pytest.approx(worst)


def test_the_spectral_worst_case_by_enumeration_and_by_an_attack():
    """Over all sets of attacked rows; and a perturbation of rank one reaches the value."""
    w, subset, radius = np.random.default_rng(3).normal(size=D), slice(0, 9), 0.7
    slacks = 1.0 - Y[subset] * (X[subset] @ w + 0.2)
    t, best, attacked = radius * np.linalg.norm(w), 0.0, []
    for size in range(1, 10):
        for rows in combinations(range(9), size):
            value = slacks[list(rows)].sum() + t * np.sqrt(size)
            best, attacked = (value, list(rows)) if value > best else (best, attacked)
    oracle = hinge_oracle("spectral", radius, None, X[subset], Y[subset], np.ones(9), True)
    oracle.set_weights(w)
    assert oracle.tangent_at(0.2).value == pytest.approx(best)
    coefficients = np.zeros(9)
    coefficients[attacked] = -Y[subset][attacked] / np.sqrt(len(attacked))
    attack = radius * np.outer(coefficients, w / np.linalg.norm(w))
    assert np.linalg.norm(attack, 2) == pytest.approx(radius)
    assert np.maximum(
        1.0 - Y[subset] * ((X[subset] + attack) @ w + 0.2), 0.0
    ).sum() == pytest.approx(best)


def test_the_spectral_worst_case_of_residuals_is_reached():
    w, radius = np.random.default_rng(4).normal(size=D), 0.7
    residuals = T - X @ w - 0.5
    attack = -radius * np.outer(residuals / np.linalg.norm(residuals), w / np.linalg.norm(w))
    oracle = make_residual_oracle("spectral", radius)
    oracle.set_weights(w)
    assert np.linalg.norm(T - (X + attack) @ w - 0.5) == pytest.approx(oracle.tangent_at(0.5).value)


@pytest.mark.parametrize("kind", ["l1", "l2", "linf", "ellipsoid"])
def test_the_worst_row_of_a_ball_is_in_the_ball(kind):
    """The perturbation along the subgradient of the dual norm is feasible and reaches the dual
    norm.
    """
    from tamis.methods.robust.rows import dual_norm

    w = np.random.default_rng(5).normal(size=D)
    value, perturbation = dual_norm(kind, w, SIGMA)
    assert w @ perturbation == pytest.approx(value)
    norms = {
        "l1": np.abs(perturbation).sum(),
        "l2": np.linalg.norm(perturbation),
        "linf": np.abs(perturbation).max(),
        "ellipsoid": np.sqrt(perturbation @ np.linalg.solve(SIGMA, perturbation)),
    }
    assert norms[kind] == pytest.approx(1.0)
    if kind == "ellipsoid":
        assert dual_norm(kind, w, np.diag(SIGMA))[0] == pytest.approx(
            np.sqrt(w**2 @ np.diag(SIGMA))
        )


# --------------------------------------------------------------------------- tangent planes
@pytest.mark.parametrize(
    "make", [make_hinge_oracle, make_residual_oracle], ids=["hinge", "residuals"]
)
@pytest.mark.parametrize("kind", SETS)
@pytest.mark.parametrize("intercept", [True, False])
def test_planes_lie_below_and_touch(make, kind, intercept):
    if make is make_residual_oracle and kind == "labels":
        return
    oracle, rng = make(kind, intercept=intercept), np.random.default_rng(6)
    points = [np.zeros(D), *(rng.normal(size=(6, D)) * rng.choice([0.1, 1.0, 5.0], size=(6, 1)))]
    planes = [tangent_plane(oracle, w, 0.0) for w in points]
    for w, (value, bias, gradient, offset) in zip(points, planes, strict=True):
        assert value == pytest.approx(gradient @ w + offset, rel=1e-7, abs=1e-9)
        oracle.set_weights(w)
        if intercept:
            assert all(
                oracle.tangent_at(bias + shift).value >= value * (1.0 - 1e-9)
                for shift in (-1.0, -1e-3, 1e-3, 1.0)
            )
        for other, (other_value, *_) in zip(points, planes, strict=True):
            assert other_value >= gradient @ other + offset - 1e-8 * max(other_value, 1.0)


# --------------------------------------------------------------------------- invariants
@pytest.mark.parametrize("kind", SETS)
def test_a_radius_of_0_is_the_plain_svm(kind):
    plain = SVC(kernel="linear", C=0.5, tol=1e-8).fit(X, Y)
    model = fit_robust(kind, 0, tol=1e-7)
    assert model.coef_ == pytest.approx(plain.coef_, abs=5e-3)
    assert model.decision_function(X) == pytest.approx(plain.decision_function(X), abs=2e-2)


@pytest.mark.parametrize("kind", SETS)
def test_the_optimum_grows_with_the_radius(kind):
    values = [fit_robust(kind, factor * RADII[kind]).objective_ for factor in (0, 1, 2, 4)]
    assert all(after >= before * (1.0 - 2e-4) for before, after in pairwise(values))
    assert values[-1] > values[0]


@pytest.mark.parametrize("kind", SETS)
def test_a_large_radius_gives_zero_weights(kind):
    """Without an intercept the objective is then C n."""
    large = {"deletion": D, "labels": N}.get(kind, 100.0)
    outcome = minimise(make_hinge_oracle(kind, large, intercept=False), D, 0.5, 1e-6, 300)
    assert np.abs(outcome.weights).max() < 1e-6
    assert outcome.objective == pytest.approx(0.5 * N)


@pytest.mark.parametrize("kind", SETS)
def test_weights_are_repetitions(kind):
    counts = np.random.default_rng(7).integers(0, 3, N)
    repetition = np.repeat(np.arange(N), counts)
    extra = {"ellipsoid": SIGMA} if kind == "ellipsoid" else {}
    for rows in (X, sp.csr_array(X)):
        weighted = RobustSVC(kind, radius=RADII[kind], C=0.5, **extra).fit(
            rows, Y, sample_weight=counts
        )
        repeated = RobustSVC(kind, radius=RADII[kind], C=0.5, **extra).fit(
            rows[repetition[::-1]], Y[repetition[::-1]]
        )
        assert np.array_equal(weighted.coef_, repeated.coef_)
        if kind != "labels":
            weighted = RobustRegressor(kind, radius=RADII[kind], **extra).fit(
                rows, T, sample_weight=counts
            )
            repeated = RobustRegressor(kind, radius=RADII[kind], **extra).fit(
                rows[repetition[::-1]], T[repetition[::-1]]
            )
            assert np.array_equal(weighted.coef_, repeated.coef_)


def test_oracles_take_a_weight_of_2_for_two_rows():
    """The oracles themselves take a weight of 2 for two rows, without merging equal rows."""
    counts = np.random.default_rng(7).integers(1, 3, N).astype(float)
    repetition, w = (
        np.repeat(np.arange(N), counts.astype(int)),
        np.random.default_rng(8).normal(size=D),
    )
    for kind in SETS:
        oracles = [
            (hinge_oracle(kind, float(RADII[kind]), SIGMA, X[rows], Y[rows], row_weights, True))
            for rows, row_weights in ((slice(None), counts), (repetition, np.ones(len(repetition))))
        ]
        if kind != "labels":
            oracles += [
                (
                    residual_oracle(
                        kind, float(RADII[kind]), SIGMA, X[rows], T[rows], row_weights, True
                    )
                )
                for rows, row_weights in (
                    (slice(None), counts),
                    (repetition, np.ones(len(repetition))),
                )
            ]
        planes = [tangent_plane(oracle, w, 0.0) for oracle in oracles]
        for weighted, repeated in zip(planes[::2], planes[1::2], strict=True):
            assert weighted[0] == pytest.approx(repeated[0])
            assert weighted[2] == pytest.approx(repeated[2], abs=1e-6)


def test_spectral_least_squares_is_ridge():
    """The weights equal those of ridge regression with a strength that depends on the solution."""
    model = RobustRegressor("spectral", radius=2.0, C=50.0, tol=1e-9, max_iter=3000).fit(X, T)
    length, norm = np.linalg.norm(T - model.predict(X)), np.linalg.norm(model.coef_)
    ridge = Ridge(alpha=length * (1.0 / 50.0 + 2.0 / norm), tol=1e-12).fit(X, T)
    assert model.coef_ == pytest.approx(ridge.coef_, abs=1e-3)
    assert model.intercept_[0] == pytest.approx(ridge.intercept_, abs=1e-3)


def test_a_perturbation_shared_by_all_rows_is_a_norm_penalty():
    """The maximum of the hinge sum over sum_i ||u_i|| <= lam is the hinge sum + lam ||w|| if some
    margin is at most 1, and less otherwise.
    """
    rng = np.random.default_rng(8)
    w, lam = rng.normal(size=D) / 3.0, 0.8
    slacks = 1.0 - Y * (X @ w)
    worst = max(
        np.maximum(np.delete(slacks, k), 0.0).sum() + max(slacks[k] + lam * np.linalg.norm(w), 0.0)
        for k in range(N)
    )
    assert worst == pytest.approx(np.maximum(slacks, 0.0).sum() + lam * np.linalg.norm(w))
    easy = slacks - slacks.max() - 0.1
    worst = max(max(easy[k] + lam * np.linalg.norm(w), 0.0) for k in range(N))
    assert worst < lam * np.linalg.norm(w)


@pytest.mark.parametrize("kind", SETS)
def test_sparse_and_dense_agree(kind):
    extra = {"ellipsoid": SIGMA} if kind == "ellipsoid" else {}
    for form in (sp.csr_array, sp.csc_matrix):
        model = RobustSVC(kind, radius=RADII[kind], C=0.5, **extra).fit(form(X), Y)
        assert model.objective_ == pytest.approx(fit_robust(kind).objective_, rel=2e-4)
        assert model.score(form(X), Y, worst_case=True) == model.score(X, Y, worst_case=True)
