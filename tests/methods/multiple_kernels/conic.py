"""The whole problem of generalized multiple kernel learning as one cone program, for Clarabel: no
level method, no SMO.
"""

import clarabel
import numpy as np
import scipy.sparse as sp


def optimum(kernels, signs, linear, caps, v, rows=None):
    """Least value over the weights.

    The support function of the set is min over lam of lam + sum [s - lam v]_+^2 / (4 lam (1 - v)).
    """
    n_kernels, n, m = len(kernels), len(kernels[0]), len(signs)
    rows = np.arange(m) if rows is None else rows
    to_beta = np.zeros((n, m))
    to_beta[rows, np.arange(m)] = signs
    size = m + 3 * n_kernels + 1  # alpha, forms r, lam, w, z
    r, lam, w, z = m, m + n_kernels, m + n_kernels + 1, m + 2 * n_kernels + 1
    cost = np.zeros(size)
    cost[:m], cost[lam] = -linear, 0.5
    if v < 1.0:
        cost[z:] = 0.5
    blocks, rhs, cones = [], [], []

    def dense_block(entries, height):
        block = np.zeros((height, size))
        for i, j, value in entries:
            block[i, j] = value
        return block

    blocks.append(np.r_[signs, np.zeros(size - m)][None, :])
    rhs.append(np.zeros(1))
    cones.append(clarabel.ZeroConeT(1))
    box = np.vstack([np.eye(m, size), -np.eye(m, size)])
    lower = dense_block(
        [(q, r + q, 1.0) for q in range(n_kernels)]
        + [(q, lam, -v) for q in range(n_kernels)]
        + [(q, w + q, -1.0) for q in range(n_kernels)],
        n_kernels,
    )
    nonneg = dense_block(
        [(q, w + q, -1.0) for q in range(n_kernels)] + [(n_kernels, lam, -1.0)], n_kernels + 1
    )
    blocks.append(np.vstack([box, lower, nonneg]))
    rhs.append(np.r_[caps, np.zeros(m + 2 * n_kernels + 1)])
    cones.append(clarabel.NonnegativeConeT(2 * m + 2 * n_kernels + 1))
    for q, kernel in enumerate(kernels):
        values, vectors = np.linalg.eigh(kernel)
        root = (vectors * np.sqrt(np.maximum(values, 0.0))).T @ to_beta
        block = np.zeros((n + 2, size))
        block[0, r + q], block[1, r + q], block[2:, :m] = -1.0, -1.0, -2.0 * root
        blocks.append(block)
        rhs.append(np.r_[1.0, -1.0, np.zeros(n)])
        cones.append(clarabel.SecondOrderConeT(n + 2))
        if v < 1.0:
            scale = 4.0 * (1.0 - v)
            blocks.append(
                dense_block(
                    [
                        (0, z + q, -1.0),
                        (0, lam, -scale),
                        (1, z + q, -1.0),
                        (1, lam, scale),
                        (2, w + q, -2.0),
                    ],
                    3,
                )
            )
            rhs.append(np.zeros(3))
            cones.append(clarabel.SecondOrderConeT(3))
        else:
            blocks.append(dense_block([(0, w + q, 1.0)], 1))  # no form above lam
            rhs.append(np.zeros(1))
            cones.append(clarabel.NonnegativeConeT(1))
    settings = clarabel.DefaultSettings()
    settings.verbose = False
    matrix = sp.csc_matrix(np.vstack(blocks))
    solution = clarabel.DefaultSolver(
        sp.csc_matrix((size, size)), cost, matrix, np.concatenate(rhs), cones, settings
    ).solve()
    return -solution.obj_val
