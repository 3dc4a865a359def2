"""What users say about kernels: dictionaries, callables and matrices, as the kernels that stores
and predictions read.
"""

import functools
from itertools import pairwise

import numpy as np
from sklearn.utils.validation import _get_feature_names

from tamis.base.fast_checks import check_array, dense
from tamis.base.feature_groups import take_groups
from tamis.base.validation import check_matrix_size
from tamis.methods.multiple_kernels.matrices.kinds import DEGREES, WIDTHS, Kernel

MOST_AUTO = 5000  # columns up to which "auto" makes kernels of single ones
_WAYS = (
    "'auto', a kernel_dictionary(X), a list of callables k(X, Y), or a list of square matrices "
    "(X is then a column of row numbers)"
)


def kernel_dictionary(
    X, *, widths=WIDTHS, degrees=DEGREES, whole=True, single=True, feature_groups=None
):
    r"""Kernels on all columns and on single ones or groups of them: Gaussians of several widths,
    polynomials of several degrees.

    For columns in standard units these are :math:`\exp(-\|x - z\|^2 / 2\sigma^2)` and :math:`(x
    \cdot z + 1)^k`. With the defaults there are 13 kernels on all columns and 13 on each column. A
    model that gets the list takes the units and the traces from its own training rows, so that one
    dictionary serves all folds of a cross-validation.

    Parameters
    ----------
    X : {array-like, sparse matrix} of shape (n_samples, n_features)
        Rows, of which only the number and the names of the columns are read.
    widths : iterable of float, default=(0.125, 0.25, 0.5, 1.0, 2.0, 4.0, 8.0, 16.0, 32.0, 64.0)
        Widths of the Gaussians, in standard units. Those that halve one another cost one
        exponential together.
    degrees : iterable of int, default=(1, 2, 3)
        Degrees of the polynomials.
    whole : bool, default=True
        Whether to have kernels on all columns.
    single : bool, default=True
        Whether to have kernels on every single column.
    feature_groups : list of arrays, labels, prefixes or None, default=None
        Groups of columns to have kernels on, as `OnlineGroupLassoClassifier` takes them. Groups of
        one column are left to `single`.

    Returns
    -------
    kernels : list of Kernel
        Kernels with `kind`, `parameter`, `columns` and `name`, for the parameter `kernels` of
        `GMKLClassifier`; select or extend it as any list.

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
    """The kernels of `kernel_dictionary`, from the number of columns."""
    widths, degrees = [float(w) for w in widths], list(degrees)
    for w in widths:
        if not (w > 0.0 and np.isfinite(w)):
            raise ValueError(f"widths must be above 0 and finite; got {w!r}.")
    for k in degrees:
        if isinstance(k, bool) or k != int(k) or k < 1:
            raise ValueError(f"degrees must be whole numbers from 1 on; got {k!r}.")
    words = [f"x{j}" for j in range(n_columns)] if names is None else [str(name) for name in names]
    sets: list = [(None, "all")] if whole else []
    if feature_groups is not None:
        blocks = take_groups(feature_groups, n_columns, names)
        parts = [blocks.members[a:b].astype(int) for a, b in pairwise(blocks.starts.astype(int))]
        sets += [(tuple(part.tolist()), _label(part, words)) for part in parts if len(part) > 1]
    sets += [((j,), words[j]) for j in range(n_columns)] if single else []
    kinds = [("gaussian", w) for w in widths] + [("polynomial", float(k)) for k in degrees]
    made = [
        Kernel(kind, parameter, columns, label)
        for columns, label in sets
        for kind, parameter in kinds
    ]
    if not made:
        raise ValueError(
            "the dictionary is empty; ask for widths or degrees, and for kernels on all columns, "
            "on single ones or on groups."
        )
    return made


def _label(columns, words) -> str:
    """A group in words: its columns, or the first and the last of many."""
    named = [words[j] for j in columns]
    return "+".join(named) if len(named) <= 3 else f"{named[0]}..{named[-1]} ({len(named)} columns)"


# -------------------------------------------------------------------------- the parameter `kernels`
def take_kernels(given, n_columns: int, names=None) -> list:
    """The parameter `kernels` as a list of dictionary kernels and callables, or of matrices."""
    if isinstance(given, str):
        if given == "precomputed":
            raise ValueError(
                "kernels='precomputed' is not a choice: pass the matrices as kernels=[K1, K2, ...] "
                "and a column of row numbers as X."
            )
        if given != "auto":
            raise ValueError(f"The 'kernels' parameter must be {_WAYS}. Got {given!r} instead.")
        if n_columns > MOST_AUTO:
            raise ValueError(
                f"X has {n_columns} columns, of which kernels='auto' would make "
                f"{13 * (n_columns + 1)} kernels (it stops at {MOST_AUTO} columns). "
                "Pass kernel_dictionary(X, single=False), with groups where columns belong "
                "together, or select columns first."
            )
        return make_dictionary(n_columns, names)
    if isinstance(given, np.ndarray) and given.ndim == 3:
        given = list(given)
    if not isinstance(given, list | tuple) or not len(given):
        raise ValueError(
            f"The 'kernels' parameter must be {_WAYS}. Got {str(given)[:60]!r} instead."
        )
    matrices = [not isinstance(k, Kernel) and not callable(k) for k in given]
    if all(matrices):
        return [_take_matrix(k, place, given[0]) for place, k in enumerate(given)]
    if any(matrices):
        raise ValueError(
            "The 'kernels' parameter holds matrices beside other kernels; keep them apart, for "
            "with matrices X is a column of row numbers."
        )
    for place, kernel in enumerate(given):
        if (
            isinstance(kernel, Kernel)
            and kernel.columns is not None
            and max(kernel.columns) >= n_columns
        ):
            raise ValueError(
                f"kernel {place} of `kernels`, {kernel.name}, looks at column "
                f"{max(kernel.columns)}, but X has {n_columns} columns."
            )
    return list(given)


def _take_matrix(matrix, place: int, first) -> np.ndarray:
    """A square matrix, symmetric and finite, as large as the first."""
    matrix = check_array(matrix, dtype=np.float64, input_name=f"kernels[{place}]")
    check_matrix_size(f"kernels[{place}]", matrix)
    size = np.shape(first)[0]
    if matrix.shape != (size, size):
        raise ValueError(
            f"kernels[{place}] has shape {matrix.shape}; matrices must be square and of one size, "
            f"here {(size, size)}."
        )
    if np.abs(matrix - matrix.T).max() > 1e-6 * np.abs(matrix).max():
        raise ValueError(
            f"kernels[{place}] is not symmetric; a kernel of x and z is that of z and x."
        )
    return matrix


def take_numbers(matrix, size: int) -> np.ndarray:
    """X as row numbers of the matrices."""
    matrix = dense(matrix, "X")
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


def name_of(kernel, place: int) -> str:
    """A kernel in words."""
    if isinstance(kernel, Kernel):
        return kernel.name
    if isinstance(kernel, functools.partial):
        inside = ", ".join(f"{name}={value}" for name, value in kernel.keywords.items())
        return f"{getattr(kernel.func, '__name__', 'kernel')}({inside})"
    if callable(kernel):
        return getattr(kernel, "__name__", f"kernel {place}")
    return f"matrix {place}"


def called(kernel, place: int, rows, others) -> np.ndarray:
    """What a user's kernel gives, checked."""
    found = kernel(rows, others)
    found = np.asarray(dense(found, name_of(kernel, place)), dtype=np.float64)
    if found.shape != (rows.shape[0], others.shape[0]):
        wanted = (rows.shape[0], others.shape[0])
        raise ValueError(
            f"{name_of(kernel, place)} gave an array of shape {found.shape} for {wanted[0]} and "
            f"{wanted[1]} rows; a kernel gives {wanted}."
        )
    if not np.isfinite(found).all():
        raise ValueError(
            f"{name_of(kernel, place)} gave values that are not finite; scale the columns, or "
            "choose other parameters."
        )
    return found
