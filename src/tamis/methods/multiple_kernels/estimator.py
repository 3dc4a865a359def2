"""Base of GMKLClassifier and GMKLRegressor: parameters, fit and scores."""

from numbers import Real
from typing import Any, ClassVar

import numpy as np
import scipy.sparse as sp
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils import check_random_state
from sklearn.utils._param_validation import Interval
from sklearn.utils.validation import check_is_fitted

from tamis.base.estimators.estimator import Estimator, validate_prediction, validate_training
from tamis.base.parameters import (
    BOOL,
    NON_NEGATIVE,
    POSITIVE,
    POSITIVE_INTEGER,
    RANDOM_STATE,
    TERM,
    UNIT_INTERVAL,
    Seed,
    estimator,
    one_of_strings,
    parameter,
)
from tamis.base.validation import warn_user
from tamis.methods.multiple_kernels.dictionary import kernel_name, parse_kernels, parse_row_numbers
from tamis.methods.multiple_kernels.fit import GMKLFit, GMKLOptions, WeightGroup, learn
from tamis.methods.multiple_kernels.machines import SVMDual
from tamis.methods.multiple_kernels.nystroem import fit_on_all_rows
from tamis.methods.multiple_kernels.rows import KernelRows, Sample
from tamis.system.schema import array, count, flag, names, nested_object, records, statistic
from tamis.system.schema import one_of as any_of

MIN_SELECTED_RATIO = 1e-6  # of the weight of a selected kernel to the largest weight


@estimator
class KernelModel(Estimator):
    r"""Base of the models of several kernels; a {kind} adds `_problems`, and its targets.

    over :math:`\Theta = \{\theta \ge 0 : v \sum_q \theta_q + (1 - v) \sum_q \theta_q^2 \le 1\}`,
    with C s the costs of the rows and v the parameter `l1_ratio`. It is solved by the level method
    to a certified relative gap of `tol`; at v = 0 by closed-form steps. v = 1 keeps the fewest
    kernels, but chooses among similar ones by chance; v = 0 keeps all; between them, similar
    kernels get similar weights and useless ones exactly 0.

    {parameters}

    {attributes}

    See Also
    --------
    kernel_dictionary : Makes kernels to choose from.
    KernelWeightsDisplay : Draws the weights.

    Notes
    -----
    Kernels are stored as packed triangles of single precision, polynomials of one column by their
    factors, and all sums are of double precision. Equal rows with equal targets are merged into one
    row of their summed weight. Where Newton's method does not find the next weights of the kernels,
    a cone program does, which needs the extra ``conic``. Up to `max_rows` rows nothing else is
    approximated. For more rows `gap_`, the weights and the calibration are those of a sample; the
    final machine uses the Nyström approximation and liblinear, which penalises its intercept
    weakly.

    References
    ----------
    H. Yang, Z. Xu, J. Ye, I. King and M. R. Lyu, "Efficient Sparse Generalized Multiple Kernel
    Learning", IEEE Transactions on Neural Networks 22, 2011. The constraint holds the square of
    the 2-norm, as in the closed form there; regression is among its future work.
    """

    kernels: Any = parameter(
        "auto",
        TERM,
        'Kernels to choose from. "auto" is `kernel_dictionary(X)`: 13 kernels on all columns and '
        "13 on each. A list may hold kernels of a dictionary and callables ``k(X, Y)``, which "
        "receive the rows without standardisation. With square matrices X is a column of row "
        "numbers, so that they can be cross-validated.",
        '"auto", list of kernels, callables or matrices, or array of shape (n_kernels, n, n)',
    )
    l1_ratio: float = parameter(
        0.5,
        [UNIT_INTERVAL],
        "Fraction of L1 in the constraint on the weights; it sets how sparse they are: 1 is "
        "L1-MKL, 0 is L2-MKL (or Lp-MKL, see `p`), between them is GMKL.",
    )
    p: float = parameter(
        2,
        [Interval(Real, 1, None, closed="neither")],
        "Norm of the weights at ``l1_ratio=0``; above 1. Larger values give more equal weights.",
    )
    C: float = parameter(
        100.0,
        [POSITIVE],
        'Cost of the loss of a row. With ``normalize="trace"`` the diagonal of a kernel is about '
        "1 / n_samples, and 100 is moderate. Values for different `l1_ratio` cannot be compared.",
    )
    weights: str = parameter(
        "learned",
        [one_of_strings("learned", "uniform")],
        "Whether weights are learnt, or all are 1 / n_kernels: a baseline that ignores `l1_ratio` "
        "and `p`.",
        kw_only=True,
    )
    normalize: str | None = parameter(
        "trace",
        [one_of_strings("trace", "mean_diag"), None],
        "Normalisation of each kernel: its trace over the training rows is 1, its mean diagonal "
        'is 1, or none. C of "mean_diag" is C of "trace" divided by n_samples.',
        kw_only=True,
    )
    standardize: bool = parameter(
        True,
        [BOOL],
        "Whether kernels of a dictionary use columns of mean 0 and standard deviation 1 over the "
        "training rows. Sparse rows stay sparse.",
        kw_only=True,
    )
    share_weights: bool = parameter(
        True,
        [BOOL],
        "Whether several outputs (one against the rest, labels, targets) share the weights of the "
        "kernels, or each output has separate weights.",
        kw_only=True,
    )
    tol: float = parameter(
        1e-3, [POSITIVE], "Relative gap between the bounds at which learning ends.", kw_only=True
    )
    max_iter: int = parameter(
        500,
        [POSITIVE_INTEGER],
        "Maximum of iterations; each solves the machines once.",
        kw_only=True,
    )
    max_kernel_bytes: float = parameter(
        2147483648,
        [NON_NEGATIVE],
        "Maximum memory for stored kernels, in bytes. Kernels beyond it are recomputed in blocks "
        "at every iteration, which is slower and gives the same result.",
        "int",
        kw_only=True,
    )
    max_rows: int = parameter(
        20000,
        [POSITIVE_INTEGER],
        "Maximum of rows of an exact fit. For more rows, the weights are learnt on a sample and "
        "the machine on Nyström features of all rows.",
        kw_only=True,
    )
    n_components: int = parameter(
        1000,
        [POSITIVE_INTEGER],
        "Size of that sample, which is also the Nyström basis.",
        kw_only=True,
    )
    random_state: Seed = parameter(
        None, [RANDOM_STATE], "Seed of that sample and of the folds of a calibration.", kw_only=True
    )
    _contents: ClassVar[dict] = {
        "exact_": flag(),
        "_rows": nested_object(KernelRows, "columns", "rows", "kernels"),
        "kernel_names_": names("kernels"),
        "kernel_weights_": any_of(
            array("f8", "kernels", minimum=0.0), array("f8", "outputs", "kernels", minimum=0.0)
        ),
        "_scales": array("f8", "kernels"),
        "dual_coef_": array("f8", "outputs", "rows"),
        "intercept_": array("f8", "outputs"),
        "objective_": statistic(),
        "gap_": statistic(finite=False),
        "history_": records(),
        "n_iter_": count(),
    }
    _attributes: ClassVar[str] = """\
        kernel_weights_ : ndarray of shape (n_kernels,) or (n_outputs, n_kernels)
            Weights of the kernels; zeros are exact for ``l1_ratio`` above 0. One row for each
            output with ``share_weights=False``.
        kernel_names_ : ndarray of str of shape (n_kernels,)
            Names of the kernels, such as "gaussian(age, width=0.5)".
        selected_kernels_ : ndarray of str
            Names of the kernels whose weight is above a millionth of the largest.
        gap_ : float
            Certified relative gap: the objective is at most this fraction above the optimum. With
            ``share_weights=False`` the largest gap of an output.
        objective_ : float
            Upper bound on the optimum.
        history_ : list of dict
            For each iteration: bounds on the optimum, and the number of kernels of the best weights
            so far.
        n_iter_ : int
            Number of iterations.
        exact_ : bool
            Whether the fit used all rows exactly; False where there were more than `max_rows`.
        dual_coef_ : ndarray of shape (n_outputs, n_support)
            Weights of the support vectors.
        support_vectors_ : {ndarray, csr_array} of shape (n_support, n_features)
            Rows that predictions use, as passed to `fit`.
        intercept_ : ndarray of shape (n_outputs,)
            Intercepts.
        n_features_in_ : int
            Number of columns.
        feature_names_in_ : ndarray of str
            Names of the columns, where X had them."""

    # ------------------------------------------------------------------ training
    def _fit(self, X, y, sample_weight):
        """Validate the data, learn the weights and the machines, and set the attributes."""
        self._validate_params()
        self._check_norm()
        training = validate_training(self, X, y, sample_weight)
        kernels = parse_kernels(
            self.kernels, training.rows.shape[1], getattr(self, "feature_names_in_", None)
        )
        if isinstance(kernels[0], np.ndarray):
            parse_row_numbers(training.rows, len(kernels[0]))
        full_sample = Sample(
            training.rows, training.columns, training.user_weights, training.weights
        ).merge_duplicates()
        full_sample = full_sample._replace(costs=float(self.C) * full_sample.costs)
        sample_rows = self._draw_sample(len(full_sample.weights))
        sample = full_sample if sample_rows is None else full_sample.select(sample_rows)
        rows = KernelRows.from_rows(
            sample.matrix, sample.weights, kernels, standardize=self.standardize
        )
        problems = self._problems(training.targets, sample)
        options = GMKLOptions(*(getattr(self, name) for name in GMKLOptions._fields))
        solution = learn(rows, sample.weights, problems, options)
        attributes = solution.attributes() | self._calibration(solution, problems, sample.weights)
        groups, scales = solution.groups, solution.store.scales.copy()
        if sample_rows is not None:
            if self.normalize == "trace":
                scales *= sample.weights.sum() / full_sample.weights.sum()
            problems = self._problems(training.targets, full_sample)
            groups = fit_on_all_rows(groups, rows, full_sample.matrix, problems, scales)
        attributes |= {"_targets": training.targets, "_scales": scales}
        attributes |= {"exact_": sample_rows is None}
        self.__dict__.update(attributes | self._prediction_attributes(groups, rows))
        if not solution.converged:
            self._warn_not_converged()
        return self

    def _check_norm(self) -> None:
        if self.p != 2 and self.l1_ratio != 0:
            raise ValueError(
                f"p={self.p!r} applies only at l1_ratio=0, the ball of the p-norm; "
                f"l1_ratio={self.l1_ratio!r} combines the 1-norm and the squared 2-norm. "
                "Set l1_ratio=0, or leave p at 2."
            )

    def _draw_sample(self, n_rows: int) -> np.ndarray | None:
        """Return the indices of a sample of rows, or None where an exact fit uses all rows."""
        if n_rows <= self.max_rows:
            return None
        order = check_random_state(self.random_state).permutation(n_rows)
        return np.sort(order[: min(self.n_components, self.max_rows)])

    def _problems(self, targets, sample: Sample) -> list[SVMDual]:
        """Return one dual problem for each output."""
        raise NotImplementedError

    def _calibration(self, fit: GMKLFit, problems: list[SVMDual], weights) -> dict:
        """Return the attributes that a classifier adds for probabilities."""
        return {}

    def _prediction_attributes(self, groups: list[WeightGroup], rows: KernelRows) -> dict:
        """Return the attributes of predictions: weights, names, and the support vectors."""
        thetas = np.array([group.theta for group in groups])
        betas = np.vstack([group.betas for group in groups])
        support = np.flatnonzero(betas.any(axis=0))
        kernel_names = [kernel_name(kernel, k) for k, kernel in enumerate(rows.kernels)]
        return {
            "kernel_weights_": thetas[0] if self.share_weights else thetas,
            "kernel_names_": np.array(kernel_names, dtype=object),
            "dual_coef_": np.ascontiguousarray(betas[:, support]),
            "intercept_": np.concatenate([group.intercepts for group in groups]),
            "_rows": rows.select(support, np.flatnonzero(thetas.any(axis=0))),
        }

    def _warn_not_converged(self) -> None:
        warn_user(
            f"{type(self).__name__} ended after {self.n_iter_} iterations with a relative gap of "
            f"{self.gap_:.2g}, above tol={self.tol:g}. Raise max_iter or tol, or lower C.",
            ConvergenceWarning,
        )

    # ------------------------------------------------------------------ after fit
    @property
    def selected_kernels_(self):
        """Names of the kernels whose weight is above a millionth of the largest."""
        check_is_fitted(self)
        thetas = np.atleast_2d(self.kernel_weights_)
        return self.kernel_names_[
            (thetas > MIN_SELECTED_RATIO * thetas.max(axis=1, keepdims=True)).any(axis=0)
        ]

    @property
    def support_vectors_(self):
        """Rows that predictions use, as passed to `fit`."""
        check_is_fitted(self)
        return self._rows.matrix

    def _scores(self, X):
        """Return the scores of the outputs, computed in blocks of rows."""
        matrix = validate_prediction(self, X)
        n_outputs = len(self.intercept_)
        scores = np.tile(self.intercept_, (matrix.shape[0], 1))
        thetas = np.atleast_2d(self.kernel_weights_)
        # Sparse rows may have to become dense.
        dense_width = matrix.shape[1] if sp.issparse(matrix) else 1
        step = max(1, (1 << 21) // max(1, self.dual_coef_.shape[1], dense_width))
        for first in range(0, matrix.shape[0], step):
            block = slice(first, first + step)
            for k, theta in enumerate(thetas):
                outputs = slice(0, n_outputs) if len(thetas) == 1 else slice(k, k + 1)
                mixture = self._rows.mixture(matrix[block], theta * self._scales)
                scores[block, outputs] += mixture @ self.dual_coef_[outputs].T
        return scores

    def _contributions(self, X):
        """Return the contribution of each used kernel to the scores."""
        matrix, n_outputs = validate_prediction(self, X), len(self.intercept_)
        thetas = np.atleast_2d(self.kernel_weights_)
        used = np.flatnonzero(thetas.any(axis=0))
        contributions = np.zeros((n_outputs, matrix.shape[0], len(used)))
        for j, kernel in enumerate(used):
            one_hot = np.zeros(thetas.shape[1])
            one_hot[kernel] = 1.0
            values = self._rows.mixture(matrix, one_hot) @ self.dual_coef_.T
            factors = np.broadcast_to(thetas[:, kernel] * self._scales[kernel], n_outputs)
            contributions[:, :, j] = (values * factors).T
        names = [str(self.kernel_names_[kernel]) for kernel in used]
        return names, used, [sp.csr_array(output) for output in contributions], self.intercept_

    def __sklearn_is_fitted__(self):
        return "_rows" in vars(self)

    def _check_saved(self) -> None:
        """Raise for kernels that are functions, which a model file cannot hold."""
        for index, kernel in enumerate(
            self.kernels if isinstance(self.kernels, list | tuple) else []
        ):
            if callable(kernel):
                raise TypeError(
                    f"kernel {index} of `kernels`, {kernel_name(kernel, index)}, is a function, "
                    "and a model file holds no code. "
                    "Use kernels of kernel_dictionary or matrices, or save the model by pickle."
                )
