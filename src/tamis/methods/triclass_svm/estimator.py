"""Base of TriClassSVC: parameters of the kernel and the solver, machines of two classes, their
scores and fitted attributes.
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
from tamis.base.estimators.explaining import SparseWeights
from tamis.base.parameters import (
    NON_NEGATIVE,
    POSITIVE,
    POSITIVE_INTEGER,
    estimator,
    one_of_strings,
    parameter,
)
from tamis.base.splits import calibration_scores
from tamis.base.validation import validate_array, warn_user
from tamis.methods.triclass_svm.labels import FewLabels
from tamis.methods.triclass_svm.problems import BinaryProblem
from tamis.methods.triclass_svm.solver import (
    KernelMatrixRows,
    MachineSolution,
    SparseRows,
    majorise_minimise,
)
from tamis.numerics.csr import Csr, csr_from_scipy
from tamis.solvers.calibration import fit_sigmoid
from tamis.solvers.kernels import KERNEL_NAMES, kernel_matrix
from tamis.system.schema import array, count, indices, number, records, rows, selected_by, statistic
from tamis.system.schema import one_of as any_of

MAX_KERNEL_ROWS = 3000  # of a linear kernel matrix; beyond it the solver sweeps the rows
SUPPORT_INDICES = array("i8", "kept", minimum=0, increasing=True)
SUPPORT_VECTORS = any_of(
    array(("f8", "f4"), "kept", "columns", order=None), rows("kept", "columns", dtypes=("f8", "f4"))
)
NOT_CONVERGED = (
    "stopped before it converged. Raise max_iter={self.max_iter} or tol={self.tol:g}, lower C, or "
    "scale the columns."
)
# Attributes that only some kernels have.
KERNEL_ATTRIBUTES = ("coef_", "dual_coef_", "support_vectors_", "_columns")


@estimator(kw_only=True)
class KernelMachines(CalibratedClassifier):
    """Base of support vector machines over one kernel."""

    kernel: str | Callable = parameter(
        "linear",
        [one_of_strings(*KERNEL_NAMES), callable],
        '"linear", "rbf", "poly", "sigmoid", "cosine", "precomputed" (X is the matrix of rows by '
        "rows; in predictions, of rows by the rows of `fit`), or a function of two arrays of rows "
        "that returns such a matrix.",
        "str or callable",
    )
    gamma: str | float = parameter(
        "scale",
        [one_of_strings("scale", "auto"), POSITIVE],
        'Width of "rbf", "poly" and "sigmoid", as in :class:`sklearn.svm.SVC`; "scale" counts all '
        "rows, each by its weight.",
    )
    degree: float = parameter(3, [NON_NEGATIVE], 'Degree of "poly".')
    coef0: float = parameter(
        0.0,
        [Interval(Real, None, None, closed="neither")],
        'Constant of "poly" and "sigmoid".',
    )
    multi_class: str = parameter(
        "ovo",
        [one_of_strings("ovo", "ovr")],
        'With several classes, "ovo" fits one machine for each pair of classes, "ovr" one for each '
        'class. In "ovo", rows of all other classes count as irrelevant in the modes "3c" and '
        '"usvm".',
    )
    solver: str = parameter(
        "auto",
        [one_of_strings("auto", "smo", "coordinate")],
        '"smo" uses the kernel matrix; "coordinate" sweeps the rows of a linear kernel, dense or '
        'sparse, without that matrix. "auto" is "coordinate" for a linear kernel and more than '
        '3,000 rows, else "smo".',
    )
    tol: float = parameter(
        1e-3,
        [POSITIVE],
        "Largest violation of the optimality conditions of a convex problem, in units of the "
        "score.",
    )
    max_iter: int = parameter(
        50, [POSITIVE_INTEGER], "Maximum of convex problems to solve from a start."
    )
    _contents: ClassVar[dict] = {
        "_width": number(float, above=0.0),
        "intercept_": array("f8", "machines"),
        "coef_": selected_by("kernel", {"linear": array("f8", "machines", "columns")}),
        "_columns": selected_by(
            "kernel",
            {"linear": None, "precomputed": indices("kept", below="columns", increasing=True)},
            SUPPORT_INDICES,
        ),
        "dual_coef_": selected_by("kernel", {"linear": None}, array("f8", "machines", "kept")),
        "support_vectors_": selected_by(
            "kernel", {"linear": None, "precomputed": None}, SUPPORT_VECTORS
        ),
        "objective_": statistic(),
        "gap_": statistic(),
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
            Weights of the support vectors, for other kernels.
        support_vectors_ : {ndarray, sparse array} of shape (n_support_vectors, n_features)
            Rows of a weight other than 0, for other kernels.
        intercept_ : ndarray of shape (n_machines,)
            Intercepts.
        objective_ : float
            Value of the objective, summed over machines.
        gap_ : float
            Duality gap of the last convex problem, summed over machines.
        n_iter_ : int
            Number of convex problems solved, the maximum over machines and stages.
        history_ : list of dict
            For each machine and step: objective, duality gap, and how many unlabelled rows count as
            rows of a class.
        n_features_in_ : int
            Number of columns.
        feature_names_in_ : ndarray of str
            Names of the columns, where X had them."""

    # ------------------------------------------------------------------ rows
    def _validate_rows(self, X, *, reset: bool):
        """Return X as a validated NumPy array or SciPy matrix."""
        rows = validate_array(self, X, reset=reset)
        sparse = isinstance(rows, Csr)
        rows = rows.to_scipy() if isinstance(rows, Csr) else rows
        if reset and self.kernel == "precomputed" and (sparse or rows.shape[0] != rows.shape[1]):
            raise ValueError(
                "kernel='precomputed' needs X to be a square, dense matrix of rows by rows, but "
                f"it is {rows.shape[0]} x {rows.shape[1]}{', sparse' if sparse else ''}."
            )
        return rows

    def _solver_rows(self, rows, width: float) -> KernelMatrixRows | SparseRows:
        """Return the rows in the form of the solver."""
        large = self.kernel == "linear" and rows.shape[0] > MAX_KERNEL_ROWS
        if self.solver == "coordinate" or (self.solver == "auto" and large):
            return SparseRows(csr_from_scipy(sp.csr_array(rows)))
        return KernelMatrixRows(self._kernel(rows, rows, width))

    def _kernel(self, X, Y, width: float) -> np.ndarray:
        return kernel_matrix(X, Y, self.kernel, width, self.degree, self.coef0)

    # ------------------------------------------------------------------ learn
    def _fit_machines(self, rows, problems: list[BinaryProblem], init) -> list[MachineSolution]:
        """Return one machine for each problem."""
        tol, max_iter = float(self.tol), int(self.max_iter)
        return [majorise_minimise(rows, problem, init, tol, max_iter) for problem in problems]

    def _held_out_scores(
        self, rows, problems: list[BinaryProblem], init, labels: FewLabels, seed: int = 0
    ):
        """Return the scores of the labelled rows, one column for each output, by machines trained
        without them, and the number of those machines that did not converge.
        """
        labelled, n_classes = labels.labelled_rows, len(labels.targets.classes)
        not_converged: list[MachineSolution] = []

        def score(_, test):
            held_out = np.isin(np.arange(len(labels.codes)), labelled[test])
            reduced = [
                problem._replace(costs=np.where(held_out, 0.0, problem.costs))
                for problem in problems
            ]
            machines = self._fit_machines(rows, reduced, init)
            not_converged.extend(machine for machine in machines if not machine.converged)
            scores = np.column_stack([machine.scores[labelled[test]] for machine in machines])
            return self._output_scores(scores, n_classes)

        return calibration_scores(labels.codes[labelled], score, seed), len(not_converged)

    def _fit_sigmoids(self, rows, problems: list[BinaryProblem], init, labels: FewLabels, weights):
        """Return one sigmoid for each output, fitted on held-out scores of the labelled rows with
        these weights, or None without `probability`.
        """
        if not self.probability:
            return None
        scores, n_not_converged = self._held_out_scores(rows, problems, init, labels)
        is_positive = labels.targets.signs(labels.target_columns) > 0.0
        if n_not_converged:
            warn_user(
                f"{n_not_converged} machines behind the probabilities "
                f"{NOT_CONVERGED.format(self=self)}",
                ConvergenceWarning,
            )
        outputs = zip(scores.T, is_positive.T, strict=True)
        return np.array(
            [fit_sigmoid(column, positive, weights)[:2] for column, positive in outputs]
        )

    # ------------------------------------------------------------------ fitted attributes
    def _fitted_attributes(self, rows, machines: list[MachineSolution]) -> dict[str, Any]:
        """Return the attributes of the machines: weights, bounds and history."""
        beta = np.array([machine.beta for machine in machines])
        attributes: dict[str, Any] = {
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
            attributes["coef_"] = np.ascontiguousarray(beta @ rows.astype(np.float64, copy=False))
            return attributes
        support = attributes["_columns"] = np.flatnonzero(beta.any(axis=0))
        attributes["dual_coef_"] = np.ascontiguousarray(beta[:, support])
        if self.kernel != "precomputed":
            attributes["support_vectors_"] = rows[support]
        return attributes

    def _store(self, attributes: dict[str, Any]) -> None:
        """Set all attributes of a fit in one step, since another thread may be predicting."""
        self.__dict__.update(attributes)
        for name in KERNEL_ATTRIBUTES:
            if name not in attributes:
                self.__dict__.pop(name, None)

    def _after_load(self) -> None:
        """Raise for a file whose number of machines does not match its classes."""
        if not self.__sklearn_is_fitted__():
            return
        n_classes = len(self._targets.classes)
        n_machines = n_classes
        if n_classes == 2 or self.multi_class == "ovo":
            n_machines = n_classes * (n_classes - 1) // 2
        if n_classes < 2 or self._targets.labels or len(self.intercept_) != n_machines:
            raise ValueError(f"{len(self.intercept_)} machines do not fit {n_classes} classes")

    def __sklearn_is_fitted__(self):
        return "intercept_" in vars(self)

    # ------------------------------------------------------------------ scores
    def _machine_scores(self, X) -> np.ndarray:
        """Return the scores of all machines."""
        check_is_fitted(self)
        rows = self._validate_rows(X, reset=False)
        if self.kernel == "linear":
            return rows @ self.coef_.T + self.intercept_
        values = (
            rows[:, self._columns]
            if self.kernel == "precomputed"
            else self._kernel(rows, self.support_vectors_, self._width)
        )
        return values @ self.dual_coef_.T + self.intercept_

    def _scores(self, X) -> np.ndarray:
        """Return the scores of the outputs."""
        scores = self._machine_scores(X)
        return self._output_scores(scores, len(self._targets.classes))

    def _output_scores(self, machine_scores: np.ndarray, n_classes: int) -> np.ndarray:
        """Return the scores of the outputs from those of the machines."""
        if n_classes > 2 and self.multi_class == "ovo":
            return _ovr_decision_function(machine_scores > 0.0, machine_scores, n_classes)
        return machine_scores

    def _sparse_weights(self) -> SparseWeights:
        """Return the nonzero weights of the columns, for a linear kernel."""
        n_classes = len(self._targets.classes)
        if self.kernel != "linear" or (n_classes > 2 and self.multi_class == "ovo"):
            raise TypeError(
                f"the scores of this {type(self).__name__} (kernel={self.kernel!r}, multi_class="
                f"{self.multi_class!r}) are no sums over columns. Take kernel='linear', and "
                "multi_class='ovr' for several classes."
            )
        columns = np.flatnonzero(self.coef_.any(axis=0))
        return SparseWeights(columns, self.coef_[:, columns].T.copy(), self.intercept_)

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.classifier_tags.multi_label = False
        tags.input_tags.sparse = self.kernel != "precomputed"
        tags.input_tags.pairwise = self.kernel == "precomputed"
        return tags
