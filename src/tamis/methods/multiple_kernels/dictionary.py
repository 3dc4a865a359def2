"""The parameter `kernels`: dictionaries, callables and matrices, parsed and checked."""

import functools
from itertools import pairwise

import numpy as np
from sklearn.utils.validation import _get_feature_names

from tamis.base.fast_checks import check_array, to_dense
from tamis.base.feature_groups import parse_feature_groups
from tamis.base.validation import check_matrix_magnitude
from tamis.methods.multiple_kernels.matrices.kinds import DEGREES, WIDTHS, Kernel

MAX_AUTO_COLUMNS = 5000  # up to which "auto" makes kernels of single columns
_KERNEL_CHOICES = (
    "'auto', a kernel_dictionary(X), a list of callables k(X, Y), or a list of square matrices "
    "(X is then a column of row numbers)"
)


def kernel_dictionary(
    X, *, widths=WIDTHS, degrees=DEGREES, whole=True, single=True, feature_groups=None
):
    r"""Kernels on all columns and on single ones or groups of them: Gaussians of several widths,
    polynomials of several degrees.

    For standardised columns these are :math:`\exp(-\|x - z\|^2 / 2\sigma^2)` and :math:`(x \cdot z
    + 1)^k`. With the defaults there are 13 kernels on all columns and 13 on each column. A model
    standardises columns and normalises kernels by its own training rows, so that one dictionary
    serves all folds of a cross-validation.

    Parameters
    ----------
    X : {array-like, sparse matrix} of shape (n_samples, n_features)
        Rows; only the number and the names of the columns are read.
    widths : iterable of float, default=(0.125, 0.25, 0.5, 1.0, 2.0, 4.0, 8.0, 16.0, 32.0, 64.0)
        Widths of the Gaussians, in standard deviations. Widths that halve one another share one
        exponential.
    degrees : iterable of int, default=(1, 2, 3)
        Degrees of the polynomials.
    whole : bool, default=True
        Whether to include kernels on all columns.
    single : bool, default=True
        Whether to include kernels on every single column.
    feature_groups : list of arrays, labels, prefixes or None, default=None
        Groups of columns to make kernels on, in the forms that `OnlineGroupLassoClassifier`
        accepts. Groups of one column are left to `single`.

    Returns
    -------
    kernels : list of Kernel
        Kernels with `kind`, `parameter`, `columns` and `name`, for the parameter `kernels` of
        `GMKLClassifier`; select from the list or extend it.

    See Also
    --------
    GMKLClassifier : Learns which of them matter.
    groups_from_names : Groups from the names of columns.

    References
    ----------
    A. Rakotomamonjy, F. Bach, S. Canu and Y. Grandvalet, "SimpleMKL", Journal of Machine Learning
    Research 9, 2008, section 5.

    Examples
    --------
    >>> import numpy as np
    >>> from tamis import kernel_dictionary
    >>> kernels = kernel_dictionary(np.zeros((5, 20)))
    >>> len(kernels), kernels[0].name, kernels[-1].name
    (273, 'gaussian(all, width=0.125)', 'polynomial(x19, degree=3)')
    >>> pair = {"whole": False, "single": False, "feature_groups": [[0, 1]]}
    >>> [k.name for k in kernel_dictionary(np.zeros((5, 3)), widths=[1], degrees=[], **pair)]
    ['gaussian(x0+x1, width=1)']
    """
    width = (
        X.shape[1]
        if hasattr(X, "shape") and len(X.shape) == 2
        else check_array(X, dtype=None).shape[1]
    )
    return make_dictionary(
        width, _get_feature_names(X), widths, degrees, whole, single, feature_groups
    )


def make_dictionary(
    n_columns: int,
    names=None,
    widths=WIDTHS,
    degrees=DEGREES,
    whole=True,
    single=True,
    feature_groups=None,
) -> list[Kernel]:
    """Return the kernels of `kernel_dictionary` for a number of columns."""
    widths, degrees = [float(w) for w in widths], list(degrees)
    for w in widths:
        if not (w > 0.0 and np.isfinite(w)):
            raise ValueError(f"widths must be above 0 and finite; got {w!r}.")
    for k in degrees:
        if isinstance(k, bool) or k != int(k) or k < 1:
            raise ValueError(f"degrees must be whole numbers from 1 on; got {k!r}.")
    column_names = (
        [f"x{j}" for j in range(n_columns)] if names is None else [str(name) for name in names]
    )
    column_sets: list = [(None, "all")] if whole else []
    if feature_groups is not None:
        blocks = parse_feature_groups(feature_groups, n_columns, names)
        groups = [blocks.members[a:b].astype(int) for a, b in pairwise(blocks.starts.astype(int))]
        column_sets += [
            (tuple(group.tolist()), _label(group, column_names))
            for group in groups
            if len(group) > 1
        ]
    column_sets += [((j,), column_names[j]) for j in range(n_columns)] if single else []
    kinds = [("gaussian", w) for w in widths] + [("polynomial", float(k)) for k in degrees]
    kernels = [
        Kernel(kind, parameter, columns, label)
        for columns, label in column_sets
        for kind, parameter in kinds
    ]
    if not kernels:
        raise ValueError(
            "the dictionary is empty; pass widths or degrees, and choose kernels on all columns, "
            "on single columns or on groups."
        )
    return kernels


def _label(columns, column_names) -> str:
    """Return a label of a group: its columns, or the first and the last of more than three."""
    labels = [column_names[j] for j in columns]
    return (
        "+".join(labels)
        if len(labels) <= 3
        else f"{labels[0]}..{labels[-1]} ({len(labels)} columns)"
    )


# -------------------------------------------------------------------------- the parameter `kernels`
def parse_kernels(kernels, n_columns: int, names=None) -> list:
    """Return the parameter `kernels` as a list of dictionary kernels and callables, or of
    matrices.
    """
    if isinstance(kernels, str):
        if kernels == "precomputed":
            raise ValueError(
                "kernels='precomputed' is not a choice: pass the matrices as kernels=[K1, K2, ...] "
                "and a column of row numbers as X."
            )
        if kernels != "auto":
            raise ValueError(
                f"The 'kernels' parameter must be {_KERNEL_CHOICES}. Got {kernels!r} instead."
            )
        if n_columns > MAX_AUTO_COLUMNS:
            raise ValueError(
                f"X has {n_columns} columns, of which kernels='auto' would make "
                f"{13 * (n_columns + 1)} kernels (it stops at {MAX_AUTO_COLUMNS} columns). "
                "Pass kernel_dictionary(X, single=False), with groups where columns belong "
                "together, or select columns first."
            )
        return make_dictionary(n_columns, names)
    if isinstance(kernels, np.ndarray) and kernels.ndim == 3:
        kernels = list(kernels)
    if not isinstance(kernels, list | tuple) or not len(kernels):
        raise ValueError(
            f"The 'kernels' parameter must be {_KERNEL_CHOICES}. Got {str(kernels)[:60]!r} instead."
        )
    is_matrix = [not isinstance(k, Kernel) and not callable(k) for k in kernels]
    if all(is_matrix):
        return [_validate_matrix(k, index, kernels[0]) for index, k in enumerate(kernels)]
    if any(is_matrix):
        raise ValueError(
            "The 'kernels' parameter holds matrices beside other kernels. Fit them separately: "
            "with matrices X is a column of row numbers."
        )
    for index, kernel in enumerate(kernels):
        if (
            isinstance(kernel, Kernel)
            and kernel.columns is not None
            and max(kernel.columns) >= n_columns
        ):
            raise ValueError(
                f"kernel {index} of `kernels`, {kernel.name}, uses column "
                f"{max(kernel.columns)}, but X has {n_columns} columns."
            )
    return list(kernels)


def _validate_matrix(matrix, index: int, first) -> np.ndarray:
    """Return a finite symmetric matrix of the size of the first, or raise."""
    matrix = check_array(matrix, dtype=np.float64, input_name=f"kernels[{index}]")
    check_matrix_magnitude(f"kernels[{index}]", matrix)
    size = np.shape(first)[0]
    if matrix.shape != (size, size):
        raise ValueError(
            f"kernels[{index}] has shape {matrix.shape}; matrices must be square and of one size, "
            f"here {(size, size)}."
        )
    if np.abs(matrix - matrix.T).max() > 1e-6 * np.abs(matrix).max():
        raise ValueError(f"kernels[{index}] is not symmetric; k(x, z) must equal k(z, x).")
    return matrix


def parse_row_numbers(matrix, size: int) -> np.ndarray:
    """Return X as row numbers of the matrices."""
    matrix = to_dense(matrix, "X")
    numbers = matrix[:, 0].astype(np.intp)
    if (
        matrix.shape[1] != 1
        or not np.array_equal(numbers, matrix[:, 0])
        or numbers.min(initial=0) < 0
        or numbers.max(initial=0) >= size
    ):
        raise ValueError(
            "with matrices as kernels X must be one column of row numbers, whole and from 0 to "
            f"{size - 1}."
        )
    return numbers


def kernel_name(kernel, index: int) -> str:
    """Return a name of a kernel."""
    if isinstance(kernel, Kernel):
        return kernel.name
    if isinstance(kernel, functools.partial):
        arguments = ", ".join(f"{name}={value}" for name, value in kernel.keywords.items())
        return f"{getattr(kernel.func, '__name__', 'kernel')}({arguments})"
    if callable(kernel):
        return getattr(kernel, "__name__", f"kernel {index}")
    return f"matrix {index}"


def call_kernel(kernel, index: int, rows, others) -> np.ndarray:
    """Return the checked values of a user's kernel between two sets of rows."""
    values = kernel(rows, others)
    values = np.asarray(to_dense(values, kernel_name(kernel, index)), dtype=np.float64)
    if values.shape != (rows.shape[0], others.shape[0]):
        shape = (rows.shape[0], others.shape[0])
        raise ValueError(
            f"{kernel_name(kernel, index)} gave an array of shape {values.shape} for {shape[0]} "
            f"and {shape[1]} rows; it must return {shape}."
        )
    if not np.isfinite(values).all():
        raise ValueError(
            f"{kernel_name(kernel, index)} gave values that are not finite; scale the columns, or "
            "choose other parameters."
        )
    return values
