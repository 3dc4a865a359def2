"""What the models of several kernels share: parameters, rows and kernels in, weights of kernels and
machines out.
"""

from numbers import Real
from typing import Any, ClassVar

import numpy as np
import scipy.sparse as sp
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils import check_random_state
from sklearn.utils._param_validation import Interval
from sklearn.utils.validation import check_is_fitted

from tamis.base.estimators.estimator import Estimator, take, take_asked
from tamis.base.parameters import (
    ABOVE,
    BOOL,
    COUNT,
    NUMBER,
    RANDOM,
    SHARE,
    TERM,
    Seed,
    estimator,
    one_of,
    parameter,
)
from tamis.base.validation import warn_user
from tamis.methods.multiple_kernels.choice import name_of, take_kernels, take_numbers
from tamis.methods.multiple_kernels.fit import Group, Learnt, Options, learn
from tamis.methods.multiple_kernels.machines import Entries
from tamis.methods.multiple_kernels.nystroem import spread_to_all
from tamis.methods.multiple_kernels.rows import KernelRows, Sample
from tamis.system.schema import array, count, figure, flag, names, part, records
from tamis.system.schema import one_of as any_of

SELECTED = 1e-6  # share of the largest weight from which on a kernel counts as selected


@estimator
class KernelModel(Estimator):
    r"""Base of the models of several kernels; a {kind} adds `_problems`, and its targets.

    over :math:`\Theta = \{\theta \ge 0 : v \sum_q \theta_q + (1 - v) \sum_q \theta_q^2 \le 1\}`,
    with C s the costs of the rows and v the parameter `l1_ratio`. It is solved by the level method
    to a certified relative gap of `tol`; at v = 0 by closed-form steps. v = 1 keeps the fewest
    kernels, but picks among similar ones by chance; v = 0 keeps all; between, similar kernels get
    similar weights and useless ones exactly 0.

    {parameters}

    {attributes}

    See Also
    --------
    kernel_dictionary : Makes the kernels.
    KernelWeightsDisplay : Draws the weights.

    Notes
    -----
    Kernels are stored as packed triangles of single precision, polynomials of one column by their
    factors, and all sums are of double precision. Equal rows with equal targets are one row of
    their summed weight. Where Newton's method does not find the next weights of the kernels, a cone
    program does, which needs the extra ``conic``. Up to `max_rows` rows nothing is approximated
    beyond that. For more rows `gap_`, the weights and a calibration are those of the sample; the
    final machine is that of the Nyström approximation, by liblinear, whose intercept is weakly
    penalised.

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
        "13 on each. A list may hold kernels of a dictionary and callables ``k(X, Y)``, which see "
        "the rows as given. Of square matrices X is a column of row numbers, so that they can be "
        "cross-validated.",
        '"auto", list of kernels, callables or matrices, or array of shape (n_kernels, n, n)',
    )
    l1_ratio: float = parameter(
        0.5,
        [SHARE],
        "Share of L1 in the constraint on the weights, hence how sparse they are: 1 is L1-MKL, 0 "
        "is L2-MKL (or Lp-MKL, see `p`), between is GMKL.",
    )
    p: float = parameter(
        2,
        [Interval(Real, 1, None, closed="neither")],
        "Norm of the weights at ``l1_ratio=0``; above 1. Larger values give more equal weights.",
    )
    C: float = parameter(
        100.0,
        [ABOVE],
        'Cost of the loss of a row. With ``normalize="trace"`` the diagonal of a kernel is about '
        "1 / n_samples: 100 is moderate there. Values for unlike `l1_ratio` cannot be compared.",
    )
    weights: str = parameter(
        "learned",
        [one_of("learned", "uniform")],
        "Whether weights are learnt, or all 1 / n_kernels: the baseline, for which `l1_ratio` and "
        "`p` mean nothing.",
        kw_only=True,
    )
    normalize: str | None = parameter(
        "trace",
        [one_of("trace", "mean_diag"), None],
        "What is made 1 in each kernel: the trace over the training rows, its mean, or nothing. C "
        'of "mean_diag" is C of "trace" over n_samples.',
        kw_only=True,
    )
    standardize: bool = parameter(
        True,
        [BOOL],
        "Whether kernels of a dictionary see columns of mean 0 and deviation 1 over the training "
        "rows. Sparse rows stay sparse.",
        kw_only=True,
    )
    share_weights: bool = parameter(
        True,
        [BOOL],
        "Whether several outputs (one against the rest, labels, targets) share the weights of the "
        "kernels, or each has its own.",
        kw_only=True,
    )
    tol: float = parameter(
        1e-3, [ABOVE], "Relative gap between the bounds at which learning ends.", kw_only=True
    )
    max_iter: int = parameter(
        500, [COUNT], "Most iterations, each of which solves the machines once.", kw_only=True
    )
    max_kernel_bytes: float = parameter(
        2147483648,
        [NUMBER],
        "Most memory for stored kernels. Kernels beyond it are made again in blocks at every "
        "iteration: slower, to the same result.",
        "int",
        kw_only=True,
    )
    max_rows: int = parameter(
        20000,
        [COUNT],
        "Most rows of an exact fit. For more, the weights are learnt on a sample and the machine "
        "on Nyström features of all rows.",
        kw_only=True,
    )
    n_components: int = parameter(
        1000, [COUNT], "Size of that sample, which is also the Nyström basis.", kw_only=True
    )
    random_state: Seed = parameter(
        None, [RANDOM], "Seed of that sample and of the folds of a calibration.", kw_only=True
    )
    _contents: ClassVar[dict] = {
        "exact_": flag(),
        "_rows": part(KernelRows, "columns", "rows", "kernels"),
        "kernel_names_": names("kernels"),
        "kernel_weights_": any_of(
            array("f8", "kernels", least=0.0), array("f8", "outputs", "kernels", least=0.0)
        ),
        "_scales": array("f8", "kernels"),
        "dual_coef_": array("f8", "outputs", "rows"),
        "intercept_": array("f8", "outputs"),
        "objective_": figure(),
        "gap_": figure(finite=False),
        "history_": records(),
        "n_iter_": count(),
    }
    _attributes: ClassVar[str] = """\
        kernel_weights_ : ndarray of shape (n_kernels,) or (n_outputs, n_kernels)
            Weights of the kernels; zeros are exact for ``l1_ratio`` above 0. One row an output with
            ``share_weights=False``.
        kernel_names_ : ndarray of str of shape (n_kernels,)
            The kernels in words, as "gaussian(age, width=0.5)".
        selected_kernels_ : ndarray of str
            Names of the kernels whose weight is above a millionth of the largest.
        gap_ : float
            Certified relative gap: the objective is at most this share above the optimum. With own
            weights that of the worst output.
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
            Names of the columns, where X had them."""

    # ------------------------------------------------------------------ training
    def _fit(self, X, y, sample_weight):
        """Check, prepare, learn the weights and the machines, store."""
        self._validate_params()
        self._check_norm()
        taken = take(self, X, y, sample_weight)
        kernels = take_kernels(
            self.kernels, taken.rows.shape[1], getattr(self, "feature_names_in_", None)
        )
        if isinstance(kernels[0], np.ndarray):
            take_numbers(taken.rows, len(kernels[0]))
        whole = Sample(taken.rows, taken.columns, taken.row_weights, taken.weights).merged()
        whole = whole._replace(costs=float(self.C) * whole.costs)
        picked = self._picked(len(whole.weights))
        sample = whole if picked is None else whole.picked(picked)
        rows = KernelRows.of(sample.matrix, sample.weights, kernels, standardize=self.standardize)
        problems = self._problems(taken.targets, sample)
        options = Options(*(getattr(self, name) for name in Options._fields))
        learnt = learn(rows, sample.weights, problems, options)
        found = learnt.attributes() | self._calibration(learnt, problems, sample.weights)
        groups, scales = learnt.groups, learnt.store.scales.copy()
        if picked is not None:
            if self.normalize == "trace":
                scales *= sample.weights.sum() / whole.weights.sum()
            problems = self._problems(taken.targets, whole)
            groups = spread_to_all(groups, rows, whole.matrix, problems, scales)
        found |= {"_targets": taken.targets, "_scales": scales, "exact_": picked is None}
        self.__dict__.update(found | self._kept(groups, rows))
        if not learnt.converged:
            self._warn_unfinished()
        return self

    def _check_norm(self) -> None:
        if self.p != 2 and self.l1_ratio != 0:
            raise ValueError(
                f"p={self.p!r} has a meaning only at l1_ratio=0, the ball of the p-norm; "
                f"l1_ratio={self.l1_ratio!r} joins the 1-norm and the squared 2-norm. "
                "Set l1_ratio=0, or leave p at 2."
            )

    def _picked(self, n_rows: int) -> np.ndarray | None:
        """Numbers of the rows that weights are learnt from, where there are too many for all."""
        if n_rows <= self.max_rows:
            return None
        order = check_random_state(self.random_state).permutation(n_rows)
        return np.sort(order[: min(self.n_components, self.max_rows)])

    def _problems(self, targets, sample: Sample) -> list[Entries]:
        """The support vector problems, one an output."""
        raise NotImplementedError

    def _calibration(self, learnt: Learnt, problems: list[Entries], weights) -> dict:
        """What classifiers add to the attributes."""
        return {}

    def _kept(self, groups: list[Group], rows: KernelRows) -> dict:
        """Weights, names, and of the rows those that predictions need."""
        thetas = np.array([group.theta for group in groups])
        betas = np.vstack([group.betas for group in groups])
        kept = np.flatnonzero(betas.any(axis=0))
        words = [name_of(kernel, k) for k, kernel in enumerate(rows.kernels)]
        return {
            "kernel_weights_": thetas[0] if self.share_weights else thetas,
            "kernel_names_": np.array(words, dtype=object),
            "dual_coef_": np.ascontiguousarray(betas[:, kept]),
            "intercept_": np.concatenate([group.intercepts for group in groups]),
            "_rows": rows.picked(kept, np.flatnonzero(thetas.any(axis=0))),
        }

    def _warn_unfinished(self) -> None:
        warn_user(
            f"{type(self).__name__} ended after {self.n_iter_} iterations with a relative gap of "
            f"{self.gap_:.2g}, above tol={self.tol:g}. Raise max_iter or tol, or lower C.",
            ConvergenceWarning,
        )

    # ------------------------------------------------------------------ what a fit shows
    @property
    def selected_kernels_(self):
        """Names of the kernels whose weight is above a millionth of the largest."""
        check_is_fitted(self)
        thetas = np.atleast_2d(self.kernel_weights_)
        return self.kernel_names_[
            (thetas > SELECTED * thetas.max(axis=1, keepdims=True)).any(axis=0)
        ]

    @property
    def support_vectors_(self):
        """The rows that predictions look at, as they were given."""
        check_is_fitted(self)
        return self._rows.matrix

    def _scores(self, X):
        """Scores of the outputs, a block of rows at a time."""
        matrix = take_asked(self, X)
        outputs = len(self.intercept_)
        scores = np.tile(self.intercept_, (matrix.shape[0], 1))
        thetas = np.atleast_2d(self.kernel_weights_)
        filled = matrix.shape[1] if sp.issparse(matrix) else 1  # they may have to be made dense
        step = max(1, (1 << 21) // max(1, self.dual_coef_.shape[1], filled))
        for first in range(0, matrix.shape[0], step):
            block = slice(first, first + step)
            for k, theta in enumerate(thetas):
                own = slice(0, outputs) if len(thetas) == 1 else slice(k, k + 1)
                mixture = self._rows.mixture(matrix[block], theta * self._scales)
                scores[block, own] += mixture @ self.dual_coef_[own].T
        return scores

    def _shares(self, X):
        """Of each kernel with a weight what it adds to the scores."""
        matrix, outputs = take_asked(self, X), len(self.intercept_)
        thetas = np.atleast_2d(self.kernel_weights_)
        used = np.flatnonzero(thetas.any(axis=0))
        parts = np.zeros((outputs, matrix.shape[0], len(used)))
        for place, kernel in enumerate(used):
            alone = np.zeros(thetas.shape[1])
            alone[kernel] = 1.0
            values = self._rows.mixture(matrix, alone) @ self.dual_coef_.T
            factors = np.broadcast_to(thetas[:, kernel] * self._scales[kernel], outputs)
            parts[:, :, place] = (values * factors).T
        names = [str(self.kernel_names_[kernel]) for kernel in used]
        return names, used, [sp.csr_array(part) for part in parts], self.intercept_

    def __sklearn_is_fitted__(self):
        return "_rows" in vars(self)

    def _check_saved(self) -> None:
        """Refuse to save functions."""
        for place, kernel in enumerate(
            self.kernels if isinstance(self.kernels, list | tuple) else []
        ):
            if callable(kernel):
                raise TypeError(
                    f"kernel {place} of `kernels`, {name_of(kernel, place)}, is a function of "
                    "yours, and a model file holds no code. "
                    "Use kernels of kernel_dictionary or matrices, or keep the model by pickle."
                )
