"""What the machines of few labels are made of: checks, problems of two classes, what a fit keeps,
and predictions.
"""

from itertools import combinations
from typing import Any, ClassVar

import numpy as np
from sklearn.base import ClassifierMixin
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils import check_array
from sklearn.utils.class_weight import compute_class_weight
from sklearn.utils.multiclass import _ovr_decision_function
from sklearn.utils.validation import check_is_fitted

from tamis.base.border import take_blocks, take_matrix, warn_user
from tamis.base.contents import (
    array,
    by,
    count,
    early,
    figure,
    indices,
    labels,
    number,
    one_of,
    plain,
    records,
    rows,
)
from tamis.base.estimator import Estimator
from tamis.base.rows import NOTHING, Csr
from tamis.methods.few_labels.labels import UNLABELLED
from tamis.methods.few_labels.solver import KernelRows, Solved, SparseRows, Task, descend
from tamis.solvers.mercer import kernel_matrix
from tamis.solvers.sigmoid import Calibrated, fit_sigmoid, held_out_scores

STOPPED = (
    "stopped before it converged. Raise max_iter={self.max_iter} or tol={self.tol:g}, lower "
    "C, or scale the columns."
)
MOST_ROWS = 3000  # of a linear kernel matrix; beyond it rows are swept as they are


KEPT = array("i8", "kept", least=0, increasing=True)
VECTORS = one_of(
    array(("f8", "f4"), "kept", "columns", order=None), rows("kept", "columns", dtypes=("f8", "f4"))
)


def _machines_of(count: int, held) -> int:
    """Machines for so many classes, as a file says them."""
    return (
        count * (count - 1) // 2 if held.state.get("multi_class") == "ovo" or count == 2 else count
    )


class TriMachines(Calibrated, ClassifierMixin, Estimator):
    """Machines for two classes each, put together; the parameters are those of `TriClassSVC`."""

    # ------------------------------------------------------------------ check, prepare
    def _check_choices(self) -> None:
        """Refuse parameters that do not go together."""
        if self.solver == "coordinate" and self.kernel != "linear":
            raise ValueError(
                f"solver='coordinate' sweeps the rows of a linear kernel; kernel={self.kernel!r} "
                "needs solver='smo' or 'auto'."
            )
        if self.mode == "svm" and self.balance not in (None, False):
            raise ValueError(
                f"balance={self.balance!r} holds the mean score of unlabelled rows, which "
                "mode='svm' ignores; leave balance=None."
            )
        if self.balance is True:
            raise ValueError("balance=True says no mean; pass 'labels' or a number.")

    def _take(self, X, *, reset: bool):
        """Rows as NumPy or SciPy have them."""
        rows = take_blocks(self, X, reset=reset)
        if (
            reset
            and self.kernel == "precomputed"
            and (isinstance(rows, Csr) or rows.shape[0] != rows.shape[1])
        ):
            held = (
                f"{rows.n_rows} x {rows.n_features}, sparse"
                if isinstance(rows, Csr)
                else f"{rows.shape[0]} x {rows.shape[1]}"
            )
            raise ValueError(
                "kernel='precomputed' needs X to be a square, dense matrix of rows by rows, but "
                f"it is {held}."
            )
        return rows.scipy() if isinstance(rows, Csr) else rows

    def _solvable(self, X, rows) -> KernelRows | SparseRows:
        """Rows as the solver takes them."""
        if self.solver == "coordinate" or (
            self.solver == "auto" and self.kernel == "linear" and rows.shape[0] > MOST_ROWS
        ):
            return SparseRows(take_matrix(self, X, reset=False))
        return KernelRows(self._kernel(rows, rows))

    def _kernel(self, X, Y):
        return kernel_matrix(X, Y, self.kernel, self._width, self.degree, self.coef0)

    def _start(self, n_rows: int):
        """The start of the majorise-minimise steps."""
        if not isinstance(self.init, str):
            scores = check_array(self.init, ensure_2d=False, input_name="init")
            if len(self.classes_) > 2 or scores.ndim != 1:
                raise ValueError(
                    "init as scores needs two classes and one score a row; name a start instead."
                )
            if len(scores) != n_rows:
                raise ValueError(
                    f"init holds {len(scores)} scores for {n_rows} rows; it must hold one a row."
                )
            return scores
        return self.init if self.init != "best" else "svm" if self.mode == "s3vm" else "usvm"

    def _tasks(self, codes, weights) -> list[Task]:
        """The problems of two classes: one for two classes, else one a pair of classes or one a
        class.
        """
        number, many = len(self.classes_), np.arange(len(self.classes_))
        if number == 2 or self.multi_class == "ovo":
            return [
                self._task(codes, weights, [low], [high]) for low, high in combinations(many, 2)
            ]
        return [self._task(codes, weights, np.delete(many, own), [own]) for own in many]

    def _task(self, codes, weights, low, high) -> Task:
        """One problem: rows of classes on neither side are irrelevant to it, which the modes with a
        tube make use of.
        """
        sides = np.where(np.isin(codes, high), 1.0, np.where(np.isin(codes, low), -1.0, 0.0))
        labels = np.where(codes == UNLABELLED, np.nan, sides)
        beside = self.C_unlabeled if self.C_irrelevant is None else self.C_irrelevant
        prices = (
            np.where(codes == UNLABELLED, self.C_unlabeled, np.where(sides == 0.0, beside, self.C))
            * weights
        )
        if self.mode in ("svm", "s3vm"):
            prices[(sides == 0.0) & (codes >= 0)] = 0.0
        prices[codes >= 0] *= self._class_weights(codes, weights)[codes[codes >= 0]]
        shares = np.where(codes == UNLABELLED, weights, 0.0)
        mean = self._mean(labels, weights) if shares.any() else None
        return Task(
            labels,
            prices,
            float(self.eps),
            self.mode,
            float(self.kappa),
            mean,
            shares / shares.sum() if mean is not None else NOTHING,
        )

    def _class_weights(self, codes, weights):
        """Factor of each class."""
        if isinstance(self.class_weight, dict):
            unknown = [c for c in self.class_weight if c not in self.classes_]
            if unknown:
                raise ValueError(
                    f"class_weight names {unknown!r}, not among the classes "
                    f"{self.classes_[:10].tolist()}."
                )
            return compute_class_weight(self.class_weight, classes=self.classes_, y=self.classes_)
        if self.class_weight is None:
            return np.ones(len(self.classes_))
        present = np.bincount(codes[(codes >= 0) & (weights > 0.0)], minlength=len(self.classes_))
        return present.sum() / (len(present) * present)

    def _mean(self, labels, weights):
        """Mean score of the unlabelled rows that is to be held, or None."""
        if self.balance is None and self.mode == "s3vm":
            warn_user(
                "mode='s3vm' holds the mean score of unlabelled rows at the mean label "
                "(balance='labels'), for they may all fall on one side else. "
                "That harms where most of them are irrelevant. Pass balance='labels' to accept it, "
                "or balance=False.",
                UserWarning,
            )
        elif self.balance is None or self.balance is False:
            return None
        elif self.balance != "labels":
            return float(self.balance)
        sided = np.abs(labels) == 1.0
        return float(np.average(labels[sided], weights=weights[sided]))

    _contents: ClassVar[dict] = {
        "classes_": early(
            labels(
                "classes",
                least=2,
                binds={
                    "machines": _machines_of,
                    "sigmoids": lambda count, _: 1 if count == 2 else count,
                },
            )
        ),
        "irrelevant_label_": early(plain()),
        "_width": early(number(float, above=0.0)),
        "intercept_": array("f8", "machines"),
        "coef_": by("kernel", {"linear": array("f8", "machines", "columns")}),
        "_columns": by(
            "kernel",
            {"linear": None, "precomputed": indices("kept", below="columns", increasing=True)},
            KEPT,
        ),
        "dual_coef_": by("kernel", {"linear": None}, array("f8", "machines", "kept")),
        "support_vectors_": by("kernel", {"linear": None, "precomputed": None}, VECTORS),
        "_lines": one_of(None, array("f8", "sigmoids", 2)),
        "transduction_": labels("unlabelled", distinct=False, least=0),
        "objective_": figure(),
        "gap_": figure(),
        "history_": records(),
        "n_iter_": count(),
    }

    # ------------------------------------------------------------------ learn
    def _machines(self, rows, tasks: list[Task]) -> list[Solved]:
        """One machine a problem."""
        return [
            descend(rows, task, self._start(len(task.labels)), float(self.tol), int(self.max_iter))
            for task in tasks
        ]

    def _calibrate(self, rows, tasks: list[Task], codes, weights) -> None:
        """Sigmoids on scores of labelled rows by machines that had all but them, one a class, or
        one for two classes.
        """
        self._lines = None
        if not self.probability:
            return
        known = np.flatnonzero((codes >= 0) & (weights > 0.0))
        shares, stopped = weights[known] * self._class_weights(codes, weights)[codes[known]], []

        def score(_, test):
            sits = np.isin(np.arange(len(codes)), known[test])
            machines = self._machines(
                rows, [task._replace(prices=np.where(sits, 0.0, task.prices)) for task in tasks]
            )
            stopped.extend(machine for machine in machines if not machine.converged)
            return self._gathered(
                np.column_stack([machine.scores[known[test]] for machine in machines])
            )

        scores = held_out_scores(codes[known], score, 0).reshape(len(known), -1)
        own = [1] if len(self.classes_) == 2 else range(len(self.classes_))
        self._lines = np.array(
            [fit_sigmoid(scores[:, k], codes[known] == c, shares) for k, c in enumerate(own)]
        )
        if stopped:
            warn_user(
                f"{len(stopped)} machines behind the probabilities {STOPPED.format(self=self)}",
                ConvergenceWarning,
            )

    def _store(self, rows, machines, open_) -> None:
        """Keep what prediction needs, and what happened."""
        beta = np.array([machine.beta for machine in machines])
        found: dict[str, Any] = {
            "intercept_": np.array([machine.intercept for machine in machines])
        }
        if self.kernel == "linear":
            found["coef_"] = np.ascontiguousarray(beta @ rows.astype(np.float64, copy=False))
        else:
            kept = found["_columns"] = np.flatnonzero(beta.any(axis=0))
            found["dual_coef_"] = np.ascontiguousarray(beta[:, kept])
            if self.kernel != "precomputed":
                found["support_vectors_"] = rows[kept]
        self.__dict__.update(found)  # in a single step: another thread may be predicting
        for name in {"coef_", "dual_coef_", "support_vectors_", "_columns"} - found.keys():
            self.__dict__.pop(name, None)
        self.objective_ = float(sum(machine.objective for machine in machines))
        self.gap_ = float(sum(machine.gap for machine in machines))
        self.n_iter_ = max(machine.n_iter for machine in machines)
        self.history_ = [
            {"machine": k, **record}
            for k, machine in enumerate(machines)
            for record in machine.history
        ]
        self.transduction_ = self._tri(
            np.column_stack([machine.scores[open_] for machine in machines])
        )
        if not all(machine.converged for machine in machines):
            warn_user(
                f"{type(self).__name__} {STOPPED.format(self=self)} The duality gap of its convex "
                f"problems is {self.gap_:.2g}.",
                ConvergenceWarning,
            )

    # ------------------------------------------------------------------ predict
    def _scores(self, X):
        """Scores of all machines."""
        check_is_fitted(self)
        rows = self._take(X, reset=False)
        if self.kernel == "linear":
            return rows @ self.coef_.T + self.intercept_
        values = (
            rows[:, self._columns]
            if self.kernel == "precomputed"
            else self._kernel(rows, self.support_vectors_)
        )
        return values @ self.dual_coef_.T + self.intercept_

    def _gathered(self, scores):
        """Scores of the classes from those of the machines."""
        if len(self.classes_) > 2 and self.multi_class == "ovo":
            return _ovr_decision_function(scores > 0.0, scores, len(self.classes_))
        return scores if len(self.classes_) > 2 else scores[:, 0]

    def _named(self, scores):
        """Classes from the scores of the machines."""
        gathered = self._gathered(scores)
        return self.classes_[
            gathered.argmax(axis=1) if gathered.ndim == 2 else (gathered > 0.0).astype(int)
        ]

    def _tri(self, scores):
        """Classes from the scores of the machines, or the mark of irrelevant rows where every
        machine is nearer to 0 than to a class.
        """
        far = (np.abs(scores) >= 0.5 * (1.0 + self.eps)).any(axis=1)
        named = self._named(scores)
        return np.where(
            far,
            named,
            np.array(self.irrelevant_label_, dtype=object if named.dtype == object else None),
        )

    def _sigmoid_scores(self, X):
        scores = self.decision_function(X)
        return scores.reshape(len(scores), -1)

    def decision_function(self, X):
        """Scores of the rows.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Rows; with ``kernel="precomputed"`` their kernel values with the rows of `fit`.

        Returns
        -------
        scores : ndarray of shape (n_samples,) or (n_samples, n_classes)
            One column for two classes; positive speaks for ``classes_[1]``, and what is nearer to 0
            than to 1 and -1 for neither.
        """
        return self._gathered(self._scores(X))

    def predict(self, X):
        """Classes of the rows: ``classes_[1]`` iff the score is above 0; of several the highest,
        ties to the lowest class.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Rows; with ``kernel="precomputed"`` their kernel values with the rows of `fit`.

        Returns
        -------
        y : ndarray of shape (n_samples,)
        """
        return self._named(self._scores(X))

    def predict_tri(self, X):
        """Classes of the rows, or `irrelevant_label_` where the score is below ``(1 + eps) / 2`` in
        size: nearer to 0 than to a class.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Rows; with ``kernel="precomputed"`` their kernel values with the rows of `fit`.

        Returns
        -------
        y : ndarray of shape (n_samples,)
        """
        return self._tri(self._scores(X))

    # ------------------------------------------------------------------ manners
    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = self.kernel != "precomputed"
        tags.input_tags.pairwise = self.kernel == "precomputed"
        return tags
