"""Overlapping groups and graphs against a cone program, and group lasso against celer and skglm
where they are installed.
"""

import clarabel
import numpy as np
import pytest
import scipy.sparse as sp

from tamis import GroupLassoRegressor

pytestmark = pytest.mark.delicate

PATHWAYS = [[0, 1, 2, 3], [2, 3, 4, 5], [5, 6, 7], [8, 9], [9, 10, 11], [0, 11]]
EDGES = [[k, k + 1] for k in range(11)] + [[0, 11], [3, 8]]


@pytest.fixture(scope="module")
def data():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(50, 12)) + 0.5
    y = X[:, 2:6] @ [2.0, -1.0, 1.0, 1.0] + X[:, 9] + 0.5 * rng.normal(size=50)
    return X, y


def cone_program(X, y, groups, alpha, l1_weight):
    """Return the smallest objective and the weights by an interior point method: one vector a
    group, its norm bounded by its own variable.
    """
    X, y = X - X.mean(axis=0), y - y.mean()
    members = np.concatenate(groups)
    sizes, n_coords = [len(g) for g in groups], len(members)
    # Vectors, bounds of norms, bounds of sizes.
    copies, count = X[:, members], n_coords + len(groups) + n_coords
    quadratic = sp.block_diag(
        [copies.T @ copies / len(y), sp.csc_matrix((count - n_coords, count - n_coords))],
        format="csc",
    )
    linear = np.concatenate(
        [-copies.T @ y / len(y), alpha * np.sqrt(sizes), np.full(n_coords, alpha * l1_weight)]
    )
    rows, cones, start = [], [clarabel.NonnegativeConeT(2 * n_coords)], 0
    for sign in (1.0, -1.0):
        rows += [
            sp.hstack(
                [sign * sp.eye(n_coords), sp.csr_matrix((n_coords, len(groups))), -sp.eye(n_coords)]
            )
        ]
    for g, size in enumerate(sizes):
        cone_rows = sp.csr_matrix(
            (np.ones(size + 1), (range(size + 1), [n_coords + g, *range(start, start + size)])),
            shape=(size + 1, count),
        )
        rows, start = [*rows, -cone_rows], start + size
        cones.append(clarabel.SecondOrderConeT(size + 1))
    table, settings = sp.vstack(rows, format="csc"), clarabel.DefaultSettings()
    settings.verbose = False
    settings.tol_gap_abs = settings.tol_gap_rel = settings.tol_feas = 1e-10
    solution = clarabel.DefaultSolver(
        sp.triu(quadratic, format="csc"), linear, table, np.zeros(table.shape[0]), cones, settings
    ).solve()
    coef = np.bincount(members, weights=np.asarray(solution.x)[:n_coords], minlength=X.shape[1])
    return solution.obj_val + 0.5 * np.mean(y**2), coef


@pytest.mark.parametrize("l1_weight", [0.0, 0.4])
@pytest.mark.parametrize("groups", [PATHWAYS, EDGES], ids=["pathways", "graph"])
@pytest.mark.parametrize("solver", ["blocks", "fista"])
def test_latent_overlap_is_the_cone_program(data, groups, l1_weight, solver):
    X, y = data
    least, coef = cone_program(X, y, groups, 0.15, l1_weight)
    model = GroupLassoRegressor(
        groups, 0.15, l1_weights=l1_weight, tol=1e-11, max_iter=500, solver=solver
    ).fit(X, y)
    assert model.objective_ == pytest.approx(least, rel=1e-8)
    assert model.coef_ == pytest.approx(coef, abs=1e-4)
    assert 0 < len(model.group_support_) < len(groups)


@pytest.mark.peer
@pytest.mark.parametrize("kind", ["dense", "sparse"])
@pytest.mark.parametrize("library", ["celer", "skglm"])
def test_other_libraries_find_the_same_weights(library, kind):
    module = pytest.importorskip(library)
    rng = np.random.default_rng(0)
    X = rng.normal(size=(60, 40)) * (1.0 if kind == "dense" else rng.random((60, 40)) < 0.3)
    y = X[:, :5].sum(axis=1) + 0.3 * rng.normal(size=60)
    X_given = np.asfortranarray(X) if kind == "dense" else sp.csc_matrix(X)
    if library == "celer":
        theirs = module.GroupLasso(
            groups=5, alpha=0.05 * np.sqrt(5), fit_intercept=False, tol=1e-12
        ).fit(X_given, y)
    else:
        theirs = module.GroupLasso(
            5, alpha=0.05, weights=np.full(8, np.sqrt(5)), fit_intercept=False, tol=1e-10
        ).fit(X_given, y)
    ours = GroupLassoRegressor(np.arange(40) // 5, 0.05, fit_intercept=False, tol=1e-13).fit(
        X_given, y
    )
    assert ours.coef_ == pytest.approx(theirs.coef_, abs=1e-6)
