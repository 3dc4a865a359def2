"""Robust problems as cone programs for Clarabel, independent of the oracles."""

import clarabel
import numpy as np
import scipy.sparse as sp


class ConeProgram:
    """A cone program in named blocks of variables: ``min 1/2 x'Px + q'x`` over ``b - Ax`` in a
    product of cones.
    """

    def __init__(self, **sizes):
        self.slices, self.size = {}, 0
        for name, size in sizes.items():
            self.slices[name] = slice(self.size, self.size + size)
            self.size += size
        self.quadratic, self.linear = np.zeros(self.size), np.zeros(self.size)
        self.blocks = []

    def rows(self, **matrices):
        """Return the rows of a linear map, from a matrix for each block of variables."""
        n_rows = next(len(matrix) for matrix in matrices.values())
        out = np.zeros((n_rows, self.size))
        for name, matrix in matrices.items():
            out[:, self.slices[name]] = matrix
        return out

    def at_least(self, constant, **matrices):
        """Add the constraint ``matrices x >= constant``."""
        rows = self.rows(**matrices)
        self.blocks.append(
            (
                -rows,
                -np.broadcast_to(constant, len(rows)).astype(float),
                clarabel.NonnegativeConeT(len(rows)),
            )
        )

    def in_cone(self, rows, constant=None):
        """Add the constraint that ``rows x + constant`` is in a second-order cone."""
        self.blocks.append(
            (
                -rows,
                np.zeros(len(rows)) if constant is None else constant,
                clarabel.SecondOrderConeT(len(rows)),
            )
        )

    def value(self):
        """Return the optimum."""
        A, b, cones = (list(arrays) for arrays in zip(*self.blocks, strict=True))
        settings = clarabel.DefaultSettings()
        settings.verbose = False
        P, A = sp.csc_matrix(np.diag(self.quadratic)), sp.csc_matrix(np.vstack(A))
        solution = clarabel.DefaultSolver(
            P, self.linear, A, np.concatenate(b), cones, settings
        ).solve()
        assert str(solution.status) == "Solved"
        return solution.obj_val


def norm_bound(program, kind, width, root):
    """Constrain the variable `norm` to at least the dual norm of `w`."""
    eye, one = np.eye(width), np.ones((width, 1))
    if kind == "l1":
        program.at_least(0.0, norm=one, w=eye)
        program.at_least(0.0, norm=one, w=-eye)
    elif kind == "linf":
        program.at_least(0.0, abs_w=eye, w=eye)
        program.at_least(0.0, abs_w=eye, w=-eye)
        program.at_least(0.0, norm=np.ones((1, 1)), abs_w=-np.ones((1, width)))
    else:
        program.in_cone(np.vstack((program.rows(norm=np.ones((1, 1))), program.rows(w=root))))


def robust_hinge(kind, X, y, C, radius, root=None):
    """Return the optimum of the robust support vector machine with an intercept; `root` is a root
    of the covariance of the ellipsoid.
    """
    n, d = X.shape
    root = np.eye(d) if root is None else root
    signed, ones, eye = y[:, None] * X, np.ones((n, 1)), np.eye(n)
    if kind == "deletion":
        return _deletion(signed, y, C, int(radius))
    if kind == "labels":
        return _labels(signed, y, C, radius)
    program = ConeProgram(w=d, b=1, slack=n, norm=1, abs_w=d)
    program.quadratic[program.slices["w"]] = 1.0
    program.linear[program.slices["slack"]] = C
    program.at_least(0.0, slack=eye)
    program.at_least(1.0, w=signed, b=y[:, None], slack=eye, norm=-radius * ones)
    norm_bound(program, kind, d, root)
    return program.value()


def _deletion(signed, y, C, max_deleted):
    """Sum of the largest terms as ``max_deleted z_i + sum_j v_ij`` with ``z_i + v_ij >= y_i w_j
    x_ij``, both at least 0.
    """
    n, d = signed.shape
    program = ConeProgram(w=d, b=1, slack=n, z=n, v=n * d)
    program.quadratic[program.slices["w"]] = 1.0
    program.linear[program.slices["slack"]] = C
    program.at_least(0.0, slack=np.eye(n))
    program.at_least(0.0, z=np.eye(n))
    program.at_least(0.0, v=np.eye(n * d))
    program.at_least(
        0.0,
        z=np.repeat(np.eye(n), d, axis=0),
        v=np.eye(n * d),
        w=-np.vstack([np.diag(row) for row in signed]),
    )
    program.at_least(
        1.0,
        w=signed,
        b=y[:, None],
        slack=np.eye(n),
        z=-max_deleted * np.eye(n),
        v=-np.repeat(np.eye(n), d, axis=1),
    )
    return program.value()


def _labels(signed, y, C, flips):
    """``flips tau + sum_i max(f(m_i), f(-m_i) - tau)``."""
    n, d = signed.shape
    program = ConeProgram(w=d, b=1, slack=n, tau=1)
    program.quadratic[program.slices["w"]] = 1.0
    program.linear[program.slices["slack"]] = C
    program.linear[program.slices["tau"]] = C * flips
    ones, eye = np.ones((n, 1)), np.eye(n)
    program.at_least(0.0, tau=np.ones((1, 1)))
    program.at_least(0.0, slack=eye)
    program.at_least(1.0, slack=eye, w=signed, b=y[:, None])
    program.at_least(0.0, slack=eye, tau=ones)
    program.at_least(1.0, slack=eye, tau=ones, w=-signed, b=-y[:, None])
    return program.value()


def robust_residuals(kind, X, y, C, radius, root=None):
    """Return the optimum of robust least squares with an intercept."""
    n, d = X.shape
    program = ConeProgram(w=d, b=1, size=n, length=1, norm=1, abs_w=d)
    program.quadratic[program.slices["w"]] = 1.0
    program.linear[program.slices["length"]] = C
    ones, eye = np.ones((n, 1)), np.eye(n)
    growth = 0.0 if kind == "spectral" else radius
    program.at_least(y, size=eye, w=X, b=ones, norm=-growth * ones)
    program.at_least(-y, size=eye, w=-X, b=-ones, norm=-growth * ones)
    program.in_cone(np.vstack((program.rows(length=np.ones((1, 1))), program.rows(size=eye))))
    if kind == "spectral":
        program.linear[program.slices["norm"]] = C * radius
    norm_bound(program, kind, d, np.eye(d) if root is None else root)
    return program.value()
