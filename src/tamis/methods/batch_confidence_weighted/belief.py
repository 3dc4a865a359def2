"""A Gaussian over weight vectors: a mean for each output and one precision for all, never inverted
by its eigenvectors.
"""

from typing import Any, ClassVar

import numpy as np
import scipy.sparse as sp
from scipy.linalg.blas import dtrmm, dtrsm
from scipy.linalg.lapack import dpotrf, dpotri, dpotrs, dtrtri

from tamis.methods.batch_confidence_weighted.rows import CHUNK, Rows, inner_products
from tamis.system.memory import check_memory
from tamis.system.schema import array, number, one_of, rows

TINY = np.finfo(float).tiny
MANY = 8  # rows a column from which the inverse of the factor is worth its making


def _width_of(constant: float, held) -> int:
    """Weights of an output, as a file says them."""
    return held.measure("columns", "constant") + (constant != 0.0)


class Belief:
    """Means (outputs, width), sums of dual steps, and a precision: I, R R' with `factor` R, or I +
    Z'Z with the rows Z of `stack`.

    The last form holds nothing of width squared: `root` is the lower Cholesky factor of I + Z Z'.
    The width is that of the columns and of the constant one, if its value is not 0.
    """

    _contents: ClassVar[dict] = {
        "constant": number(float, least=0.0, binds={"width": _width_of}),
        "mean": array("f8", "outputs", "width", order=None),
        "dual_sum": array("f8", "outputs", "width", order=None),
        "factor": one_of(None, array("f8", "width", "width", order="F")),
        "stack": one_of(None, array("f8", "stack", "width", order=None), rows("stack", "width")),
        "root": one_of(None, array("f8", "stack", "stack", order="F")),
    }

    def _restored(self) -> None:
        """Refuse a precision in two forms, or in half a form."""
        both = self.stack is not None and self.factor is not None
        if both or (self.stack is None) != (self.root is None):
            raise ValueError("the precision is in two forms, or in half a form")

    def __init__(self, outputs: int, columns: int, constant: float):
        width = columns + (constant != 0.0)
        self.constant = constant
        check_memory(
            f"the weights of {width:,} columns and {outputs:,} outputs",
            2 * 8 * outputs * width,
            "Select columns first, or learn fewer classes at a time.",
        )
        self.mean, self.dual_sum = np.zeros((outputs, width)), np.zeros((outputs, width))
        self.factor: Any = None
        self.stack: Any = None
        self.root: Any = None

    @property
    def width(self) -> int:
        """Number of weights of an output, the intercept's included."""
        return self.mean.shape[1]

    @property
    def stacked(self) -> int:
        """Rows of Z."""
        return 0 if self.stack is None else self.stack.shape[0]

    # ------------------------------------------------------------------ taking rows in
    def absorb_factor(self, rows: Rows, row_weights: np.ndarray) -> None:
        """Add weight x x' to the precision, as a Cholesky factor."""
        check_room(self.width)
        self.absorb_gram(rows.gram(row_weights))

    def absorb_gram(self, precision: np.ndarray) -> None:
        """The same, where the sum over the rows is there; it is written over."""
        if self.factor is not None:
            precision += self.factor @ self.factor.T
        else:
            precision[np.diag_indices(self.width)] += 1.0
            if self.stack is not None:
                precision += _square(self.stack)
        self.factor, self.stack, self.root = cholesky(precision), None, None

    def absorb_stack(self, rows: Rows, row_weights: np.ndarray) -> np.ndarray:
        """Add weight x x' to the precision as rows of Z; return (I + Z Z')^-1 Z Z', the columns of
        the new rows.
        """
        new, before = rows.scaled(np.sqrt(row_weights)), self.stacked
        if self.stack is None:
            self.stack = new
        else:
            both = [part if sp.issparse(part) else sp.csr_array(part) for part in (self.stack, new)]
            self.stack = (
                sp.csr_array(sp.vstack(both))
                if sp.issparse(self.stack)
                else np.vstack([self.stack, both[1].toarray()])
            )
        gram = np.asfortranarray(inner_products(self.stack, self.stack))
        own = gram[:, before:].copy()
        gram[np.diag_indices(len(gram))] += 1.0
        self.root = cholesky(gram)
        return dpotrs(self.root, own, lower=1)[0]

    # ------------------------------------------------------------------ asking
    def whitening(self, count: int):
        """Function that makes R^-1 x of the rows of a dense C-ordered array, which it overwrites;
        `count` rows are to come.
        """
        if self.factor is None:
            return lambda dense: dense
        if count < MANY * self.width:
            return lambda dense: dtrsm(1.0, self.factor, dense.T, lower=1, overwrite_b=1).T
        inverse = dtrtri(self.factor, lower=1)[0]  # products run faster than solutions
        return lambda dense: dtrmm(1.0, inverse, dense.T, lower=1, overwrite_b=1).T

    def unwhitened(self, weights: np.ndarray) -> np.ndarray:
        """R^-T w for the rows of an array."""
        if self.factor is None:
            return weights
        return dtrsm(1.0, self.factor, weights.T, lower=1, trans_a=1).T

    def covered(self, vectors: np.ndarray) -> np.ndarray:
        """Sigma v for the rows of an array."""
        if self.factor is not None:
            return dpotrs(self.factor, vectors.T, lower=1)[0].T
        if self.stack is None:
            return vectors.copy()
        return vectors - self.returned(np.asarray(self.stack @ vectors.T))

    def returned(self, coefficients: np.ndarray) -> np.ndarray:
        """Sigma Z' c = Z' (I + Z Z')^-1 c for the columns c of an array, as rows."""
        return (self.stack.T @ dpotrs(self.root, coefficients, lower=1)[0]).T

    def covariance(self) -> np.ndarray:
        """Sigma as a whole; of shape (0, 0) where it is the identity."""
        if self.factor is None:
            return np.zeros((0, 0))
        lower = dpotri(self.factor, lower=1)[0]
        return np.ascontiguousarray(np.tril(lower) + np.tril(lower, -1).T)

    def variances(self, rows: Rows) -> np.ndarray:
        """x' Sigma x of the rows."""
        found = np.empty(rows.count)
        whiten = self.whitening(rows.count)
        for span in rows.spans():
            if self.factor is not None or not rows.sparse:
                part = rows.dense(span)
            else:
                part = Rows(rows.matrix[span], rows.constant).scaled()
            found[span] = self._variances(part, whiten)
        return np.maximum(found, TINY)

    def _variances(self, part, whiten):
        if self.factor is not None:
            part = whiten(part)
            return np.einsum("ij,ij->i", part, part)
        if sp.issparse(part):
            square = part.power(2).sum(axis=1)
        else:
            square = np.einsum("ij,ij->i", part, part)
        if self.stack is None:
            return square
        seen = inner_products(self.stack, part)
        return square - (dtrsm(1.0, self.root, seen, lower=1) ** 2).sum(axis=0)

    def diagonal(self) -> np.ndarray:
        """Variance of each weight."""
        if self.factor is not None:
            return np.ascontiguousarray(dpotri(self.factor, lower=1)[0].diagonal())
        found = np.ones(self.width)
        if self.stack is not None:
            columns = sp.csc_array(self.stack) if sp.issparse(self.stack) else self.stack
            step = max(1, CHUNK // self.stacked)
            for start in range(0, self.width, step):
                part = columns[:, start : start + step]
                part = part.toarray() if sp.issparse(part) else np.asfortranarray(part)
                seen = dtrsm(1.0, self.root, part, lower=1)
                found[start : start + step] -= (seen**2).sum(axis=0)
        return np.maximum(found, TINY)


def _square(stack) -> np.ndarray:
    """Z' Z."""
    return (stack.T @ stack).toarray() if sp.issparse(stack) else stack.T @ stack


def cholesky(matrix: np.ndarray) -> np.ndarray:
    """Lower Cholesky factor of a matrix that is at least I; rounding may cost it that, so it is
    lifted once.
    """
    factor, failed = dpotrf(matrix.copy(order="F"), lower=1, clean=1, overwrite_a=1)
    if failed:
        matrix[np.diag_indices(len(matrix))] += np.finfo(float).eps * np.trace(matrix) / len(matrix)
        factor, failed = dpotrf(matrix, lower=1, clean=1, overwrite_a=1)
    if failed or not np.isfinite(factor).all():
        raise FloatingPointError(
            "the precision is not positive definite in double precision: columns differ too much "
            "in scale, or are too large. Scale the columns."
        )
    return factor


def check_room(width: int) -> None:
    """Refuse a full covariance that cannot fit into memory."""
    check_memory(
        f"a full covariance of {width:,} columns",
        3 * 8 * width**2,
        "Pass fewer rows than columns, or use SparseBCWClassifier or "
        "AROWClassifier(covariance='diagonal').",
    )
