"""Support vector problems as quadratic programs for a general cone solver."""

import clarabel
import numpy as np
import scipy.sparse as sp


def solve(kernel, signs, linear, caps, rows):
    """Dual variables, value and intercept of the problem of `solve_svm`."""
    row_signs = sp.csr_array(
        (signs, (rows, np.arange(len(signs)))), shape=(len(kernel), len(signs))
    ).toarray()
    quadratic = row_signs.T @ kernel @ row_signs + 1e-12 * np.eye(len(signs))
    capped = np.flatnonzero(np.isfinite(caps))
    bounds = sp.vstack(
        [
            sp.csc_array(signs[None]),
            -sp.eye_array(len(signs)),
            sp.eye_array(len(signs)).tocsr()[capped],
        ]
    ).tocsc()
    bound_values = np.r_[0.0, np.zeros(len(signs)), caps[capped]]
    settings = clarabel.DefaultSettings()
    settings.verbose = False
    settings.tol_gap_abs = settings.tol_gap_rel = settings.tol_feas = 1e-10
    cones = [clarabel.ZeroConeT(1), clarabel.NonnegativeConeT(len(bound_values) - 1)]
    solution = clarabel.DefaultSolver(
        sp.triu(sp.csc_array(quadratic)).tocsc(), -linear, bounds, bound_values, cones, settings
    ).solve()
    return np.array(solution.x), -solution.obj_val, solution.z[0]
