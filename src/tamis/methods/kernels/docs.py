"""The parameters and attributes that the models of several kernels share, in words."""

import inspect
import textwrap

_SHARED = """\
kernels : "auto", list of kernels, callables or matrices, or array of shape (n_kernels, n, n),
default="auto"
    Kernels to choose from. "auto" is `kernel_dictionary(X)`: 13 kernels on all columns and 13 on
    each. A list may hold kernels of a dictionary and callables ``k(X, Y)``, which see the rows as
    given. Of square matrices X is a column of row numbers, so that they can be cross-validated.
mix : float, default=0.5
    How sparse the weights are: 1 is L1-MKL, 0 is L2-MKL (or Lp-MKL, see `p`), between is GMKL.
p : float, default=2
    Norm of the weights at ``mix=0``; above 1. Larger values give more equal weights.
C : float, default=100.0
    Cost of the loss of a row. With ``normalize="trace"`` the diagonal of a kernel is about 1 /
    n_samples: 100 is moderate there. Values for unlike `mix` cannot be compared.
weights : {"learned", "uniform"}, default="learned"
    Whether weights are learnt, or all 1 / n_kernels: the baseline, for which `mix` and `p` mean
    nothing.
normalize : {"trace", "mean_diag"} or None, default="trace"
    What is made 1 in each kernel: the trace over the training rows, its mean, or nothing. C of
    "mean_diag" is C of "trace" over n_samples.
standardize : bool, default=True
    Whether kernels of a dictionary see columns of mean 0 and deviation 1 over the training rows.
    Sparse rows stay sparse.
share_weights : bool, default=True
    Whether several outputs (one against the rest, labels, targets) share the weights of the
    kernels, or each has its own.
"""
_REST = """\
tol : float, default=1e-3
    Relative gap between the bounds at which learning ends.
max_iter : int, default=500
    Most iterations, each of which solves the machines once.
max_kernel_bytes : int, default=2147483648
    Most memory for stored kernels. Kernels beyond it are made again in blocks at every iteration:
    slower, to the same result.
max_rows : int, default=20000
    Most rows of an exact fit. For more, the weights are learnt on a sample and the machine on
    Nyström features of all rows.
n_components : int, default=1000
    Size of that sample, which is also the Nyström basis.
random_state : int, RandomState instance or None, default=None
    Seed of that sample and of the folds of a calibration.
"""
_ATTRIBUTES = """\
kernel_weights_ : ndarray of shape (n_kernels,) or (n_outputs, n_kernels)
    Weights of the kernels; zeros are exact for ``mix`` above 0. One row an output with
    ``share_weights=False``.
kernel_names_ : ndarray of str of shape (n_kernels,)
    The kernels in words, as "gaussian(age, width=0.5)".
selected_kernels_ : ndarray of str
    Names of the kernels whose weight is above a millionth of the largest.
gap_ : float
    Certified relative gap: the objective is at most this share above the optimum. With own weights
    that of the worst output.
objective_ : float
    Upper bound on the optimum.
history_ : list of dict
    Per iteration: bounds of the optimum, and kernels of the best weights so far.
n_iter_ : int
    Iterations made.
exact_ : bool
    Whether all rows took part; False where there were more than `max_rows`.
dual_coef_ : ndarray of shape (n_outputs, n_support)
    Weights of the rows that predictions look at.
support_vectors_ : {ndarray, csr_array} of shape (n_support, n_features)
    These rows, as they were given.
intercept_ : ndarray of shape (n_outputs,)
    Intercepts.
n_features_in_ : int
    Number of columns.
feature_names_in_ : ndarray of str
    Names of the columns, where X had them.
"""
_NOTES = """\
Kernels are stored as packed triangles of single precision, polynomials of one column by their
factors, and all sums are of double precision. Equal rows with equal targets are one row of their
summed weight. Up to `max_rows` rows nothing is approximated beyond that. For more rows `gap_`, the
weights and a calibration are those of the sample; the final machine is that of the Nyström
approximation, by liblinear, whose intercept is weakly penalised. """


def documented(cls):
    """Write the shared parts into the docstring."""
    text = inspect.cleandoc(cls.__doc__)
    for name, part in (
        ("shared", _SHARED),
        ("rest", _REST),
        ("attributes", _ATTRIBUTES),
        ("notes", _NOTES),
    ):
        text = text.replace(f"{{{name}}}\n", part)
    cls.__doc__ = textwrap.indent(text.replace("{folds}", "5"), "    ").strip() + "\n    "
    return cls
