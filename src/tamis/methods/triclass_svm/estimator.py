"""Kernel machines for two classes each, put together: rows as solvers take them, what a fit keeps,
scores.
"""

from collections.abc import Callable
from numbers import Real
from typing import Any, ClassVar

import numpy as np
import scipy.sparse as sp
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils._param_validation import Interval
from sklearn.utils.multiclass import _ovr_decision_function
from sklearn.utils.validation import check_is_fitted

from tamis.base.estimators.calibrated import CalibratedClassifier
from tamis.base.estimators.explaining import Weights
from tamis.base.parameters import ABOVE, COUNT, NUMBER, estimator, one_of, parameter
from tamis.base.splits import calibration_scores
from tamis.base.validation import take_blocks, warn_user
from tamis.methods.triclass_svm.labels import FewLabels
from tamis.methods.triclass_svm.solver import KernelRows, Solved, SparseRows, descend
from tamis.methods.triclass_svm.tasks import Task
from tamis.numerics.csr import Csr, trusted
from tamis.solvers.calibration import fit_sigmoid
from tamis.solvers.kernels import KERNELS, kernel_matrix
from tamis.system.schema import array, by, count, figure, indices, number, records, rows
from tamis.system.schema import one_of as any_of

MOST_ROWS = 3000  # of a linear kernel matrix; beyond it rows are swept as they are
KEPT = array("i8", "kept", least=0, increasing=True)
VECTORS = any_of(
    array(("f8", "f4"), "kept", "columns", order=None), rows("kept", "columns", dtypes=("f8", "f4"))
)
STOPPED = (
    "stopped before it converged. Raise max_iter={self.max_iter} or tol={self.tol:g}, lower C, or "
    "scale the columns."
)
OF_KERNELS = ("coef_", "dual_coef_", "support_vectors_", "_columns")  # which depends on the kernel


@estimator(kw_only=True)
class KernelMachines(CalibratedClassifier):
    """Base of machines over one kernel."""

    kernel: str | Callable = parameter(
        "linear",
        [one_of(*KERNELS), callable],
        '"linear", "rbf", "poly", "sigmoid", "cosine", "precomputed" (X is the matrix of rows by '
        "rows; in predictions, of rows by the rows of `fit`), or a function of two arrays of rows "
        "that returns such a matrix.",
        "str or callable",
    )
    gamma: str | float = parameter(
        "scale",
        [one_of("scale", "auto"), ABOVE],
        'Width of "rbf", "poly" and "sigmoid", as in :class:`sklearn.svm.SVC`; "scale" counts all '
        "rows, each by its weight.",
    )
    degree: float = parameter(3, [NUMBER], 'Degree of "poly".')
    coef0: float = parameter(
        0.0,
        [Interval(Real, None, None, closed="neither")],
        'Constant of "poly" and "sigmoid".',
    )
    multi_class: str = parameter(
        "ovo",
        [one_of("ovo", "ovr")],
        "With several classes, one machine a pair of classes, or one a class. In the former, rows "
        'of all other classes serve as irrelevant ones in the modes "3c" and "usvm".',
    )
    solver: str = parameter(
        "auto",
        [one_of("auto", "smo", "coordinate")],
        '"smo" works on the kernel matrix; "coordinate" sweeps the rows of a linear kernel, dense '
        'or sparse, and makes no such matrix. "auto" takes the latter for a linear kernel and more '
        "than 3,000 rows.",
    )
    tol: float = parameter(
        1e-3,
        [ABOVE],
        "Largest violation of the optimality conditions of a convex problem, in units of the "
        "score.",
    )
    max_iter: int = parameter(50, [COUNT], "Most convex problems to solve from a start.")
    _contents: ClassVar[dict] = {
        "_width": number(float, above=0.0),
        "intercept_": array("f8", "machines"),
        "coef_": by("kernel", {"linear": array("f8", "machines", "columns")}),
        "_columns": by(
            "kernel",
            {"linear": None, "precomputed": indices("kept", below="columns", increasing=True)},
            KEPT,
        ),
        "dual_coef_": by("kernel", {"linear": None}, array("f8", "machines", "kept")),
        "support_vectors_": by("kernel", {"linear": None, "precomputed": None}, VECTORS),
        "objective_": figure(),
        "gap_": figure(),
        "history_": records(),
        "n_iter_": count(),
    }
    _attributes: ClassVar[str] = """\
        classes_ : ndarray
            Class labels.
        multilabel_ : bool
            False: a row has one class.
        coef_ : ndarray of shape (n_machines, n_features)
            Weights, for a linear kernel only. The machines are the pairs of classes in the order of
            `itertools.combinations`, or the classes.
        dual_coef_ : ndarray of shape (n_machines, n_support_vectors)
            Weights of the rows kept, for other kernels.
        support_vectors_ : {ndarray, sparse array} of shape (n_support_vectors, n_features)
            Rows of a weight other than 0, for other kernels.
        intercept_ : ndarray of shape (n_machines,)
            Intercepts.
        objective_ : float
            Value of the objective, summed over machines.
        gap_ : float
            Duality gap of the last convex problem, summed over machines.
        n_iter_ : int
            Convex problems solved; of several machines or stages the most.
        history_ : list of dict
            Per machine and step: objective, duality gap, and how many unlabelled rows are taken for
            rows of a class.
        n_features_in_ : int
            Number of columns.
        feature_names_in_ : ndarray of str
            Names of the columns, where X had them."""

    # ------------------------------------------------------------------ rows
    def _take(self, X, *, reset: bool):
        """Rows as NumPy or SciPy have them."""
        rows = take_blocks(self, X, reset=reset)
        sparse = isinstance(rows, Csr)
        rows = rows.scipy() if isinstance(rows, Csr) else rows
        if reset and self.kernel == "precomputed" and (sparse or rows.shape[0] != rows.shape[1]):
            raise ValueError(
                "kernel='precomputed' needs X to be a square, dense matrix of rows by rows, but "
                f"it is {rows.shape[0]} x {rows.shape[1]}{', sparse' if sparse else ''}."
            )
        return rows

    def _solvable(self, rows, width: float) -> KernelRows | SparseRows:
        """Rows as a solver takes them."""
        large = self.kernel == "linear" and rows.shape[0] > MOST_ROWS
        if self.solver == "coordinate" or (self.solver == "auto" and large):
            return SparseRows(trusted(sp.csr_array(rows)))
        return KernelRows(self._kernel(rows, rows, width))

    def _kernel(self, X, Y, width: float) -> np.ndarray:
        return kernel_matrix(X, Y, self.kernel, width, self.degree, self.coef0)

    # ------------------------------------------------------------------ learn
    def _machines(self, rows, tasks: list[Task], start) -> list[Solved]:
        """One machine a problem."""
        tol, most = float(self.tol), int(self.max_iter)
        return [descend(rows, task, start, tol, most) for task in tasks]

    def _held_out(self, rows, tasks: list[Task], start, labels: FewLabels, seed: int = 0):
        """Scores of the labelled rows by machines that had all but them, one an output, and how
        many of those machines stopped early.
        """
        known, many = labels.known, len(labels.targets.classes)
        stopped: list[Solved] = []

        def score(_, test):
            sits = np.isin(np.arange(len(labels.codes)), known[test])
            without = [task._replace(prices=np.where(sits, 0.0, task.prices)) for task in tasks]
            machines = self._machines(rows, without, start)
            stopped.extend(machine for machine in machines if not machine.converged)
            scores = np.column_stack([machine.scores[known[test]] for machine in machines])
            return self._gathered(scores, many)

        return calibration_scores(labels.codes[known], score, seed), len(stopped)

    def _sigmoids(self, rows, tasks: list[Task], start, labels: FewLabels, shares):
        """Sigmoids on held-out scores of labelled rows of these weights, one an output."""
        if not self.probability:
            return None
        scores, stopped = self._held_out(rows, tasks, start, labels)
        sides = labels.targets.signs(labels.columns) > 0.0
        if stopped:
            warn_user(
                f"{stopped} machines behind the probabilities {STOPPED.format(self=self)}",
                ConvergenceWarning,
            )
        columns = zip(scores.T, sides.T, strict=True)
        return np.array([fit_sigmoid(column, side, shares)[:2] for column, side in columns])

    # ------------------------------------------------------------------ what a fit keeps
    def _kept(self, rows, machines: list[Solved]) -> dict[str, Any]:
        """What predictions need, and what happened."""
        beta = np.array([machine.beta for machine in machines])
        found: dict[str, Any] = {
            "intercept_": np.array([machine.intercept for machine in machines]),
            "objective_": float(sum(machine.objective for machine in machines)),
            "gap_": float(sum(machine.gap for machine in machines)),
            "n_iter_": max(machine.n_iter for machine in machines),
            "history_": [
                {"machine": k, **record}
                for k, machine in enumerate(machines)
                for record in machine.history
            ],
        }
        if self.kernel == "linear":
            found["coef_"] = np.ascontiguousarray(beta @ rows.astype(np.float64, copy=False))
            return found
        kept = found["_columns"] = np.flatnonzero(beta.any(axis=0))
        found["dual_coef_"] = np.ascontiguousarray(beta[:, kept])
        if self.kernel != "precomputed":
            found["support_vectors_"] = rows[kept]
        return found

    def _keep(self, found: dict[str, Any]) -> None:
        """Show a fit, in a single step: another thread may be predicting."""
        self.__dict__.update(found)
        for name in OF_KERNELS:
            if name not in found:
                self.__dict__.pop(name, None)

    def _restored(self) -> None:
        """Refuse a file with another number of machines than its classes need."""
        if not self.__sklearn_is_fitted__():
            return
        many = len(self._targets.classes)
        needed = many * (many - 1) // 2 if many == 2 or self.multi_class == "ovo" else many
        if many < 2 or self._targets.labels or len(self.intercept_) != needed:
            raise ValueError(f"{len(self.intercept_)} machines do not fit {many} classes")

    def __sklearn_is_fitted__(self):
        return "intercept_" in vars(self)

    # ------------------------------------------------------------------ scores
    def _machine_scores(self, X) -> np.ndarray:
        """Scores of all machines."""
        check_is_fitted(self)
        rows = self._take(X, reset=False)
        if self.kernel == "linear":
            return rows @ self.coef_.T + self.intercept_
        values = (
            rows[:, self._columns]
            if self.kernel == "precomputed"
            else self._kernel(rows, self.support_vectors_, self._width)
        )
        return values @ self.dual_coef_.T + self.intercept_

    def _scores(self, X) -> np.ndarray:
        """Scores of the outputs."""
        scores = self._machine_scores(X)
        return self._gathered(scores, len(self._targets.classes))

    def _gathered(self, scores: np.ndarray, many: int) -> np.ndarray:
        """Scores of the outputs from those of the machines."""
        if many > 2 and self.multi_class == "ovo":
            return _ovr_decision_function(scores > 0.0, scores, many)
        return scores

    def _kept_weights(self) -> Weights:
        """The weights of a linear kernel's columns."""
        many = len(self._targets.classes)
        if self.kernel != "linear" or (many > 2 and self.multi_class == "ovo"):
            raise TypeError(
                f"the scores of this {type(self).__name__} (kernel={self.kernel!r}, multi_class="
                f"{self.multi_class!r}) are no sums over columns. Take kernel='linear', and "
                "multi_class='ovr' for several classes."
            )
        columns = np.flatnonzero(self.coef_.any(axis=0))
        return Weights(columns, self.coef_[:, columns].T.copy(), self.intercept_)

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.classifier_tags.multi_label = False
        tags.input_tags.sparse = self.kernel != "precomputed"
        tags.input_tags.pairwise = self.kernel == "precomputed"
        return tags
