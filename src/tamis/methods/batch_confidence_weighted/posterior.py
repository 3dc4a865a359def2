"""The Gaussian over the weight vectors: a mean for each output and one precision for all, as a
Cholesky factor or as identity plus low rank.
"""

from typing import Any, ClassVar

import numpy as np
import scipy.sparse as sp
from scipy.linalg.blas import dtrmm, dtrsm
from scipy.linalg.lapack import dpotrf, dpotri, dpotrs, dtrtri

from tamis.methods.batch_confidence_weighted.rows import CHUNK_SIZE, BatchRows, inner_products
from tamis.system.memory import check_memory
from tamis.system.schema import array, number, one_of, rows

MIN_VARIANCE = np.finfo(float).tiny  # so that standard deviations are positive
# From so many rows per column on, inverting the factor once is faster than triangular solves.
INVERSE_ROWS_PER_COLUMN = 8


def _stored_width(constant: float, sizes) -> int:
    """Return the number of weights of an output, from the sizes in a model file."""
    return sizes.evaluate_size("columns", "constant") + (constant != 0.0)


class GaussianPosterior:
    """Gaussian over weights: means (outputs, width), sums of alpha y x, and one precision, which is
    I, R R' with the Cholesky factor R in `factor`, or I + Z'Z with Z in `scaled_rows`.

    The last form needs no array of width squared: `gram_factor` is the lower Cholesky factor of I +
    Z Z'. The width is the number of columns, plus one if `constant` is not 0.
    """

    _contents: ClassVar[dict] = {
        "constant": number(float, minimum=0.0, binds={"width": _stored_width}),
        "mean": array("f8", "outputs", "width", order=None),
        "dual_sum": array("f8", "outputs", "width", order=None),
        "factor": one_of(None, array("f8", "width", "width", order="F")),
        "scaled_rows": one_of(
            None, array("f8", "scaled_rows", "width", order=None), rows("scaled_rows", "width")
        ),
        "gram_factor": one_of(None, array("f8", "scaled_rows", "scaled_rows", order="F")),
    }

    def _after_load(self) -> None:
        """Raise a ValueError if the stored precision has two forms, or one is incomplete."""
        both = self.scaled_rows is not None and self.factor is not None
        if both or (self.scaled_rows is None) != (self.gram_factor is None):
            raise ValueError(
                "the precision must be `factor` alone, or `scaled_rows` with `gram_factor`"
            )

    def __init__(self, n_outputs: int, n_columns: int, constant: float):
        width = n_columns + (constant != 0.0)
        self.constant = constant
        check_memory(
            f"the weights of {width:,} columns and {n_outputs:,} outputs",
            2 * 8 * n_outputs * width,
            "Select columns first, or learn fewer classes at a time.",
        )
        self.mean, self.dual_sum = np.zeros((n_outputs, width)), np.zeros((n_outputs, width))
        self.factor: Any = None
        self.scaled_rows: Any = None
        self.gram_factor: Any = None

    @property
    def width(self) -> int:
        """Number of weights of an output, that of the constant column included."""
        return self.mean.shape[1]

    @property
    def n_scaled_rows(self) -> int:
        """Number of rows of Z."""
        return 0 if self.scaled_rows is None else self.scaled_rows.shape[0]

    # ------------------------------------------------------------------ updating the precision
    def add_rows(self, rows: BatchRows, row_weights: np.ndarray) -> None:
        """Add weight x x' to the precision, as a Cholesky factor."""
        check_covariance_memory(self.width)
        self.add_gram(rows.gram(row_weights))

    def add_gram(self, precision: np.ndarray) -> None:
        """Add a weighted Gram matrix of rows to the precision; the array is overwritten."""
        if self.factor is not None:
            precision += self.factor @ self.factor.T
        else:
            precision[np.diag_indices(self.width)] += 1.0
            if self.scaled_rows is not None:
                precision += _gram(self.scaled_rows)
        self.factor, self.scaled_rows, self.gram_factor = cholesky(precision), None, None

    def add_scaled_rows(self, rows: BatchRows, row_weights: np.ndarray) -> np.ndarray:
        """Add weight x x' to the precision as new rows of Z; return the columns of the new rows of
        (I + Z Z')^-1 Z Z'.
        """
        new_rows, n_before = rows.scale_rows(np.sqrt(row_weights)), self.n_scaled_rows
        if self.scaled_rows is None:
            self.scaled_rows = new_rows
        else:
            before, new = (
                matrix if sp.issparse(matrix) else sp.csr_array(matrix)
                for matrix in (self.scaled_rows, new_rows)
            )
            self.scaled_rows = (
                sp.csr_array(sp.vstack([before, new]))
                if sp.issparse(self.scaled_rows)
                else np.vstack([self.scaled_rows, new.toarray()])
            )
        gram = np.asfortranarray(inner_products(self.scaled_rows, self.scaled_rows))
        new_columns = gram[:, n_before:].copy()
        gram[np.diag_indices(len(gram))] += 1.0
        self.gram_factor = cholesky(gram)
        return dpotrs(self.gram_factor, new_columns, lower=1)[0]

    # ------------------------------------------------------------------ products
    def whitening(self, n_rows: int):
        """Return a function that replaces each row x of a dense C-ordered array by R^-1 x; `n_rows`
        is the number of rows it will be applied to.
        """
        if self.factor is None:
            return lambda dense: dense
        if n_rows < INVERSE_ROWS_PER_COLUMN * self.width:
            return lambda dense: dtrsm(1.0, self.factor, dense.T, lower=1, overwrite_b=1).T
        inverse = dtrtri(self.factor, lower=1)[0]
        return lambda dense: dtrmm(1.0, inverse, dense.T, lower=1, overwrite_b=1).T

    def unwhiten(self, weights: np.ndarray) -> np.ndarray:
        """Return R^-T w for each row w of an array."""
        if self.factor is None:
            return weights
        return dtrsm(1.0, self.factor, weights.T, lower=1, trans_a=1).T

    def apply_covariance(self, vectors: np.ndarray) -> np.ndarray:
        """Return Sigma v for each row v of an array."""
        if self.factor is not None:
            return dpotrs(self.factor, vectors.T, lower=1)[0].T
        if self.scaled_rows is None:
            return vectors.copy()
        return vectors - self.apply_covariance_to_rows(np.asarray(self.scaled_rows @ vectors.T))

    def apply_covariance_to_rows(self, coefficients: np.ndarray) -> np.ndarray:
        """Return Sigma Z' c = Z' (I + Z Z')^-1 c for each column c of an array, as rows."""
        return (self.scaled_rows.T @ dpotrs(self.gram_factor, coefficients, lower=1)[0]).T

    def covariance(self) -> np.ndarray:
        """Return Sigma as a full matrix; of shape (0, 0) if it is the identity."""
        if self.factor is None:
            return np.zeros((0, 0))
        lower = dpotri(self.factor, lower=1)[0]
        return np.ascontiguousarray(np.tril(lower) + np.tril(lower, -1).T)

    def variances(self, rows: BatchRows) -> np.ndarray:
        """Return x' Sigma x of each row."""
        variances = np.empty(rows.count)
        whiten = self.whitening(rows.count)
        for rows_slice in rows.chunk_slices():
            if self.factor is not None or not rows.sparse:
                chunk = rows.to_dense(rows_slice)
            else:
                chunk = BatchRows(rows.matrix[rows_slice], rows.constant).scale_rows()
            variances[rows_slice] = self._variances(chunk, whiten)
        return np.maximum(variances, MIN_VARIANCE)

    def _variances(self, chunk, whiten):
        if self.factor is not None:
            chunk = whiten(chunk)
            return np.einsum("ij,ij->i", chunk, chunk)
        if sp.issparse(chunk):
            squared_norms = chunk.power(2).sum(axis=1)
        else:
            squared_norms = np.einsum("ij,ij->i", chunk, chunk)
        if self.scaled_rows is None:
            return squared_norms
        products = inner_products(self.scaled_rows, chunk)
        return squared_norms - (dtrsm(1.0, self.gram_factor, products, lower=1) ** 2).sum(axis=0)

    def diagonal(self) -> np.ndarray:
        """Return the variance of each weight."""
        if self.factor is not None:
            return np.ascontiguousarray(dpotri(self.factor, lower=1)[0].diagonal())
        variances = np.ones(self.width)
        if self.scaled_rows is not None:
            columns = (
                sp.csc_array(self.scaled_rows)
                if sp.issparse(self.scaled_rows)
                else self.scaled_rows
            )
            step = max(1, CHUNK_SIZE // self.n_scaled_rows)
            for start in range(0, self.width, step):
                chunk = columns[:, start : start + step]
                chunk = chunk.toarray() if sp.issparse(chunk) else np.asfortranarray(chunk)
                solved = dtrsm(1.0, self.gram_factor, chunk, lower=1)
                variances[start : start + step] -= (solved**2).sum(axis=0)
        return np.maximum(variances, MIN_VARIANCE)


def _gram(rows) -> np.ndarray:
    """Return Z'Z as a dense array."""
    return (rows.T @ rows).toarray() if sp.issparse(rows) else rows.T @ rows


def cholesky(matrix: np.ndarray) -> np.ndarray:
    """Return the lower Cholesky factor of a matrix that is at least I in exact arithmetic; if
    rounding makes it fail, try once more with a larger diagonal.
    """
    factor, info = dpotrf(matrix.copy(order="F"), lower=1, clean=1, overwrite_a=1)
    if info:
        matrix[np.diag_indices(len(matrix))] += np.finfo(float).eps * np.trace(matrix) / len(matrix)
        factor, info = dpotrf(matrix, lower=1, clean=1, overwrite_a=1)
    if info or not np.isfinite(factor).all():
        raise FloatingPointError(
            "the precision is not positive definite in double precision: columns differ too much "
            "in scale, or are too large. Scale the columns."
        )
    return factor


def check_covariance_memory(n_columns: int) -> None:
    """Raise a MemoryError if a full covariance does not fit into memory."""
    check_memory(
        f"a full covariance of {n_columns:,} columns",
        3 * 8 * n_columns**2,
        "Pass fewer rows than columns, or use SparseBCWClassifier or "
        "AROWClassifier(covariance='diagonal').",
    )
