"""The low-rank lasso as a cone program, for an interior-point method."""

import clarabel
import numpy as np
import scipy.sparse as sp


def solve_cone(X, y, eta, radius=None, l1_penalty=0.0, masked=-1):
    """Minimise ``||y - X b|| + eta ||b||_2 + l1_penalty ||b||_1`` over ``||b||_1 <= radius``;
    return (value, b).

    Variables: b (d), their absolute values u (d), and the two norms.
    """
    n, d = X.shape
    cost = np.concatenate([np.zeros(d), np.full(d, l1_penalty), [1.0, eta]])
    eye, no_column = sp.identity(d), sp.csc_matrix((d, 1))
    no_weights = sp.csc_matrix((1, 2 * d))
    constraints = [
        sp.hstack([eye, -eye, no_column, no_column]),
        sp.hstack([-eye, -eye, no_column, no_column]),
    ]
    bounds, cones = [np.zeros(2 * d)], []
    rows = 2 * d
    if radius is not None:
        constraints.append(
            sp.hstack([sp.csc_matrix((1, d)), np.ones((1, d)), sp.csc_matrix((1, 2))])
        )
        bounds.append(np.array([radius]))
        rows += 1
    cones.append(clarabel.NonnegativeConeT(rows))
    if masked >= 0:
        masked_entry = sp.csc_matrix(([1.0], ([0], [masked])), shape=(1, 2 * d + 2))
        constraints.append(masked_entry)
        bounds.append(np.zeros(1))
        cones.append(clarabel.ZeroConeT(1))
    constraints += [
        sp.hstack([no_weights, [[-1.0]], [[0.0]]]),
        sp.hstack([X, sp.csc_matrix((n, d + 2))]),
    ]
    bounds += [np.zeros(1), y]
    cones.append(clarabel.SecondOrderConeT(n + 1))
    constraints += [
        sp.hstack([no_weights, [[0.0]], [[-1.0]]]),
        sp.hstack([eye, sp.csc_matrix((d, d + 2))]),
    ]
    bounds += [np.zeros(1), np.zeros(d)]
    cones.append(clarabel.SecondOrderConeT(d + 1))
    settings = clarabel.DefaultSettings()
    settings.verbose = False
    settings.tol_gap_abs = settings.tol_gap_rel = settings.tol_feas = 1e-10
    program = clarabel.DefaultSolver(
        sp.csc_matrix((2 * d + 2, 2 * d + 2)),
        cost,
        sp.csc_matrix(sp.vstack(constraints)),
        np.concatenate(bounds),
        cones,
        settings,
    )
    solution = program.solve()
    return solution.obj_val, np.array(solution.x)[:d]
