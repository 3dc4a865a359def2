"""What the models of several kernels share: rows and kernels in, weights of kernels and machines
out.
"""

from numbers import Real
from typing import ClassVar, NamedTuple

import numpy as np
import scipy.sparse as sp
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils import check_random_state
from sklearn.utils._param_validation import Interval, StrOptions
from sklearn.utils.validation import check_is_fitted

from tamis.base.border import take_blocks, take_weights, warn_user
from tamis.base.contents import array, count, early, figure, flag, names, one_of, part, records
from tamis.base.estimator import Estimator
from tamis.base.parameters import ABOVE, COUNT, SHARE
from tamis.base.rows import Csr
from tamis.methods.kernels.choice import name_of, take_kernels, take_numbers
from tamis.methods.kernels.level.method import Weighing
from tamis.methods.kernels.machines import Machines, learn_weights
from tamis.methods.kernels.matrices.store import KernelStore
from tamis.methods.kernels.nystroem import spread_to_all
from tamis.methods.kernels.rows import KernelRows, merged

SHARED = {
    "kernels": "no_validation",
    "mix": [SHARE],
    "p": [Interval(Real, 1, None, closed="neither")],
    "C": [ABOVE],
    "weights": [StrOptions({"learned", "uniform"})],
    "normalize": [StrOptions({"trace", "mean_diag"}), None],
    "standardize": ["boolean"],
    "share_weights": ["boolean"],
    "tol": [ABOVE],
    "max_iter": [COUNT],
    "max_kernel_bytes": [Interval(Real, 0, None, closed="left")],
    "max_rows": [COUNT],
    "n_components": [COUNT],
    "random_state": ["random_state"],
}
SELECTED = 1e-6  # share of the largest weight from which on a kernel counts as selected


class Fitted(NamedTuple):
    """One group of machines that share their weights of kernels: weights of all kernels, of the
    rows, intercepts, bounds.
    """

    theta: np.ndarray
    betas: np.ndarray
    intercepts: np.ndarray
    found: Weighing


class KernelModel(Estimator):
    """Base of the models of several kernels.

    A subclass has `_problems(targets, caps)`, and the treatment of its targets.
    """

    grow = False  # the shared treatment of classes asks

    def _fit(self, X, y, sample_weight):
        """Check, prepare, learn the weights and the machines, store."""
        self._validate_params()
        self._check_mix()
        rows = take_blocks(self, X, reset=True)
        matrix = rows.scipy() if isinstance(rows, Csr) else rows
        targets = np.asarray(self._take_targets(y, matrix.shape[0], first=True, whole=True))
        weights = take_weights(sample_weight, matrix.shape[0], some=True)
        loads = self._weigh(targets, weights, whole=True)
        given = take_kernels(
            self.kernels, matrix.shape[1], getattr(self, "feature_names_in_", None)
        )
        if isinstance(given[0], np.ndarray):
            take_numbers(matrix, len(given[0]))
        matrix, targets, weights, loads = merged(matrix, targets, weights, loads)
        whole, place = self._learn(matrix, targets, weights, float(self.C) * loads, given)
        self._store(whole, place, given)
        return self

    def _check_mix(self) -> None:
        if self.p != 2 and self.mix != 0:
            raise ValueError(
                f"p={self.p!r} has a meaning only at mix=0, the ball of the p-norm; "
                f"mix={self.mix!r} joins the 1-norm and the squared 2-norm. "
                "Set mix=0, or leave p at 2."
            )

    # ------------------------------------------------------------------ learning
    def _learn(self, matrix, targets, weights, caps, given):
        """Weights and machines from all rows, or from a sample of them where there are too many."""
        count = matrix.shape[0]
        self.exact_ = count <= self.max_rows
        sample = np.arange(count)
        if not self.exact_:
            picked = check_random_state(self.random_state).permutation(count)[
                : min(self.n_components, self.max_rows)
            ]
            sample = np.sort(picked)
        rows = KernelRows.of(matrix[sample], weights[sample], given, standardize=self.standardize)
        options = {
            "weights": weights[sample],
            "normalize": self.normalize,
            "max_bytes": self.max_kernel_bytes,
        }
        store = KernelStore.of(rows.standard, len(sample), rows.blocks(), **options)
        if not store.usable.all():
            self._warn_dropped(store, given)
        problems = self._problems(targets[sample], caps[sample])
        groups = [problems] if self.share_weights else [[problem] for problem in problems]
        fits = [self._learn_group(Machines(store, group)) for group in groups]
        self._calibrate(store, fits, problems, targets[sample], weights[sample])
        self._note(fits, store)
        if self.exact_:
            return fits, rows
        share = weights[sample].sum() / weights.sum() if self.normalize == "trace" else 1.0
        self._scales *= share
        problems = self._problems(targets, caps)
        return spread_to_all(self, fits, rows, matrix, problems, store.scales * share), rows

    def _learn_group(self, machines: Machines) -> Fitted:
        found = learn_weights(
            machines,
            float(self.mix),
            float(self.p),
            float(self.tol),
            self.max_iter,
            uniform=self.weights == "uniform",
        )
        betas = np.array([machine.beta for machine in found.machine])
        return Fitted(
            machines.spread(found.theta),
            betas,
            np.array([machine.intercept for machine in found.machine]),
            found,
        )

    def _note(self, fits: list[Fitted], store: KernelStore) -> None:
        """Bounds, history and warnings."""
        self.objective_ = float(sum(fit.found.upper for fit in fits))
        self.gap_ = float(max(fit.found.gap for fit in fits))
        self.n_iter_ = max(len(fit.found.history) for fit in fits)
        numbered = len(fits) > 1
        self.history_ = [
            {"output": k, **line} if numbered else line
            for k, fit in enumerate(fits)
            for line in fit.found.history
        ]
        self._scales = store.scales.copy()
        if not all(fit.found.converged for fit in fits):
            warn_user(
                f"{type(self).__name__} ended after {self.n_iter_} iterations with a relative gap "
                f"of {self.gap_:.2g}, above tol={self.tol:g}. "
                "Raise max_iter or tol, or lower C.",
                ConvergenceWarning,
            )

    def _warn_dropped(self, store: KernelStore, given) -> None:
        lost = np.flatnonzero(~store.usable)
        if len(lost) == store.count:
            raise ValueError(
                "all kernels have trace 0 on the training rows; nothing can be learnt from them."
            )
        names = ", ".join(name_of(given[k], k) for k in lost[:3])
        warn_user(
            f"{len(lost)} kernels have trace 0 or less on the training rows and were dropped: "
            f"{names}.",
            UserWarning,
        )

    def _calibrate(self, store, fits, problems, targets, weights) -> None:
        """A place for what classifiers do beside."""

    # ------------------------------------------------------------------ what a fit keeps
    def _store(self, fits: list[Fitted], rows: KernelRows, given) -> None:
        """Weights, names, and of the rows those that predictions need."""
        thetas = np.array([fit.theta for fit in fits])
        self.kernel_weights_ = thetas[0] if self.share_weights else thetas
        self.kernel_names_ = np.array(
            [name_of(kernel, k) for k, kernel in enumerate(given)], dtype=object
        )
        betas = np.vstack([fit.betas for fit in fits])
        kept = np.flatnonzero(betas.any(axis=0))
        self.dual_coef_ = np.ascontiguousarray(betas[:, kept])
        self.intercept_ = np.concatenate([fit.intercepts for fit in fits])
        self._rows = rows.picked(kept, np.flatnonzero(thetas.any(axis=0)))

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
        check_is_fitted(self)
        rows = take_blocks(self, X, reset=False)
        matrix = rows.scipy() if isinstance(rows, Csr) else rows
        outputs = len(self.intercept_)
        scores = np.tile(self.intercept_, (matrix.shape[0], 1))
        thetas = np.atleast_2d(self.kernel_weights_)
        filled = (
            matrix.shape[1] if sp.issparse(matrix) else 1
        )  # sparse rows may have to be made dense
        step = max(1, (1 << 21) // max(1, self.dual_coef_.shape[1], filled))
        for first in range(0, matrix.shape[0], step):
            block = slice(first, first + step)
            for k, theta in enumerate(thetas):
                own = slice(0, outputs) if len(thetas) == 1 else slice(k, k + 1)
                scores[block, own] += (
                    self._rows.mixture(matrix[block], theta * self._scales) @ self.dual_coef_[own].T
                )
        return scores

    _contents: ClassVar[dict] = {
        "exact_": early(flag()),
        "_rows": part(KernelRows, "columns", "rows", "kernels"),
        "kernel_names_": names("kernels"),
        "kernel_weights_": one_of(
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

    def __sklearn_is_fitted__(self):
        return hasattr(self, "_rows")

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

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        return tags
