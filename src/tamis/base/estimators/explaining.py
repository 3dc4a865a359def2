"""Explanations of scores: the contribution of each feature to the score of a row."""

import contextlib
import html
import importlib
from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp
from sklearn.utils.validation import check_is_fitted

from tamis.base.estimators.column_names import get_column_names
from tamis.base.estimators.estimator import Estimator
from tamis.base.validation import validate_matrix
from tamis.system.terminal import for_output, for_terminal

MAX_PRINTED_ROWS, MAX_PRINTED_FEATURES = 5, 6  # of `repr` and the notebook display


class Explanation(NamedTuple):
    """The explanation of a score.

    The score is the intercept plus the sum of the contributions, up to rounding.
    """

    label: Any
    score: float
    intercept: float
    contributions: list[tuple[Any, float]]


def make_explanation(
    label, score, intercept, names: Sequence, contributions: np.ndarray
) -> Explanation:
    """Return the explanation of one score, with the largest contributions first."""
    order = np.argsort(-np.abs(contributions), kind="stable").tolist()
    named = [(names[k], float(contributions[k])) for k in order]
    return Explanation(label, float(score), float(intercept), named)


def select_output(targets, scores: np.ndarray, label: Any) -> tuple[int, float, Any]:
    """Return the index, sign and label of the output that is explained.

    By default it is the predicted one of several outputs; for two classes it is the second, with
    the sign of the score. The first class has the opposite sign.
    """
    classes = getattr(targets, "classes", np.arange(len(scores))).tolist()
    if label is not None and label not in classes:
        raise ValueError(f"label={label!r} is none of {classes[:10]}. Pass one of them.")
    if len(scores) == 1:
        is_first = label is not None and len(classes) == 2 and label == classes[0]
        return (0, -1.0, classes[0]) if is_first else (0, 1.0, classes[-1])
    output = int(scores.argmax()) if label is None else classes.index(label)
    return output, 1.0, classes[output]


class Explanations:
    """Explanations of the scores of some rows, made by ``model.explain(X)``.

    ``row(i)``, or ``explanations[i]``, is the `Explanation` of row i, ``top(i, n)`` its largest
    contributions, and ``table(i)`` both as text.

    Attributes
    ----------
    names : list of str
        Features with nonzero weights (for a metric its terms, for a kernel model its kernels).
    columns : ndarray of int
        Their columns in X (indices of the terms or kernels).
    contributions : list of csr_array of shape (n_samples, len(names))
        The contribution of each feature to the score of each row, one matrix per output; zeros
        are not stored.
    intercept : ndarray of shape (n_samples, n_outputs)
        The intercept of each score.
    score : ndarray of shape (n_samples,) or (n_samples, n_outputs)
        The scores, as from `decision_function` (for a regressor `predict`).
    """

    def __init__(self, targets, names, columns, contributions, intercept, scores):
        self._targets, self._scores = targets, scores
        self.names, self.columns, self.contributions = names, columns, contributions
        self.intercept = np.broadcast_to(intercept, scores.shape)
        self.score = targets.shape_scores(scores)

    def __len__(self) -> int:
        return len(self._scores)

    def __iter__(self) -> Iterator[Explanation]:
        return (self[row] for row in range(len(self)))

    def __getitem__(self, row: int) -> Explanation:
        return self.row(row)

    def row(self, row: int, label: Any = None) -> Explanation:
        """The explanation of one row.

        Parameters
        ----------
        row : int
            Number of the row.
        label : object, default=None
            Class, or index of the output. None is the predicted one of several outputs, and of two
            classes the second; the first has the same numbers with the opposite sign.

        Returns
        -------
        explanation : Explanation
            With `label`, `score`, `intercept`, and `contributions`: pairs of a name and its
            contribution, the largest magnitude first.
        """
        if not -len(self) <= row < len(self):
            raise IndexError(f"row {row} is outside 0..{len(self) - 1}: so many were explained.")
        scores = self._scores[row]
        output, sign, label = select_output(self._targets, scores, label)
        row_contributions = self.contributions[output][[row]]
        names, signed_intercept = (
            [self.names[k] for k in row_contributions.indices],
            sign * self.intercept[row, output],
        )
        return make_explanation(
            label, sign * scores[output], signed_intercept, names, sign * row_contributions.data
        )

    def top(self, row: int = 0, n: int = 10, label: Any = None) -> list[tuple[str, float]]:
        """The largest contributions to the score of a row.

        Parameters
        ----------
        row : int, default=0
            Number of the row.
        n : int, default=10
            Number of contributions.
        label : object, default=None
            Class, or index of the output. None is the predicted one of several.

        Returns
        -------
        pairs : list of (str, float)
            Names and contributions, the largest magnitude first.
        """
        return self.row(row, label).contributions[:n]

    def table(self, row: int = 0, n: int = 10, label: Any = None) -> str:
        """The score of a row as a small table.

        Parameters
        ----------
        row : int, default=0
            Number of the row.
        n : int, default=10
            Number of contributions.
        label : object, default=None
            Class, or index of the output. None is the predicted one of several.

        Returns
        -------
        text : str
            One line per contribution, then the sum of the others, the intercept and the score.
        """
        lines = [
            (for_terminal(name), contribution) for name, contribution in self._table(row, n, label)
        ]
        width = max(len(name) for name, _ in lines)
        return "\n".join(
            f"{name.ljust(width)}  {contribution:+.6g}" for name, contribution in lines
        )

    def __repr__(self) -> str:
        remainder = f" and {len(self) - MAX_PRINTED_ROWS:,} rows more" * (
            len(self) > MAX_PRINTED_ROWS
        )
        lines = [self._row_text(row) for row in range(min(len(self), MAX_PRINTED_ROWS))]
        return for_output("\n".join([*lines, remainder.strip()]).strip())

    def _row_text(self, row: int) -> str:
        """Return the score of a row as a sum."""
        explanation = self[row]
        first = [
            f"{contribution:+.3g} {name}"
            for name, contribution in explanation.contributions[:MAX_PRINTED_FEATURES]
        ]
        n_others = len(explanation.contributions) - len(first)
        remainder = [f"and {n_others} more"] if n_others > 0 else []
        terms = " ".join([f"{explanation.intercept:+.3g}", *first, *remainder])
        return for_terminal(
            f"row {row}: {explanation.score:+.3g}{self._output_suffix(explanation)} = {terms}"
        )

    def _output_suffix(self, explanation: Explanation) -> str:
        """Return the label of the score as text, empty if there is only one number."""
        single = len(self.contributions) == 1 and not hasattr(self._targets, "classes")
        return "" if single else f" for {explanation.label}"

    def _table(self, row: int, n: int, label=None) -> list[tuple[str, float]]:
        """Return the lines of a table.

        These are the largest contributions, the sum of the others, intercept and score.
        """
        explanation = self.row(row, label)
        first, others = explanation.contributions[:n], explanation.contributions[n:]
        lines = [(str(name), contribution) for name, contribution in first]
        if others:
            lines.append((f"({len(others)} more)", sum(contribution for _, contribution in others)))
        return [
            *lines,
            ("(intercept)", explanation.intercept),
            (f"score{self._output_suffix(explanation)}", explanation.score),
        ]

    def _repr_html_(self) -> str:
        tables = []
        for row in range(min(len(self), MAX_PRINTED_ROWS)):
            cells = "".join(
                f"<tr><td>{html.escape(for_terminal(name))}</td><td>{contribution:+.4g}</td></tr>"
                for name, contribution in self._table(row, MAX_PRINTED_FEATURES)
            )
            tables.append(f"<table><caption>row {row}</caption>{cells}</table>")
        n_others = len(self) - len(tables)
        return "".join(tables) + f"<p>{n_others:,} rows more</p>" * (n_others > 0)


# --------------------------------------------------------------------------- linear models
class SparseWeights(NamedTuple):
    """A linear model restricted to its nonzero columns.

    Shapes are (n_selected,), (n_selected, outputs) and (outputs,).
    """

    columns: np.ndarray
    weights: np.ndarray
    intercepts: np.ndarray


def get_sparse_weights(model: Any) -> SparseWeights:
    """Return the weights of a fitted linear model, for tasks those of all tasks one after the
    other.

    A model that has them without a pass over all columns has `_sparse_weights`.
    """
    check_is_fitted(model)
    name = type(model).__name__
    if hasattr(model, "_sparse_weights"):
        return model._sparse_weights()
    if not hasattr(model, "coef_") or not hasattr(model, "intercept_"):
        raise TypeError(
            f"a {name} is not linear: its score is no sum over columns. Use a model with `coef_`."
        )
    coef = model.coef_
    coef = np.reshape(coef, (-1, np.shape(coef)[-1]))
    columns = np.flatnonzero(coef.any(axis=0))
    return SparseWeights(
        columns, np.ascontiguousarray(coef[:, columns].T), np.ravel(model.intercept_)
    )


def explain(model: Any, X: Any) -> Explanations:
    """Explain the scores of some rows by the contributions of the selected features.

    Parameters
    ----------
    model : estimator
        A fitted model of tamis with a score that is a sum, or a Pipeline that ends in one; its
        columns then have the names that the preceding steps give them.
    X : array-like or sparse matrix of shape (n_samples, n_features)
        The rows, as `predict` takes them.

    Returns
    -------
    explanations : Explanations
        The same as ``model.explain(X)``.

    Examples
    --------
    >>> import tamis
    >>> from tamis.datasets import make_text
    >>> X, y, planted = make_text(n_samples=600, n_features=1000, random_state=0)
    >>> model = tamis.SieveClassifier(random_state=0).fit(X, y)
    >>> found = tamis.explain(model, X[:2])
    >>> bool(abs(found[0].score - model.decision_function(X[:1])[0]) < 1e-9)
    True
    """
    names = None
    if len(getattr(model, "steps", ())) > 1:
        preceding_steps, model = model[:-1], model[-1]
        X = preceding_steps.transform(X)
        with contextlib.suppress(AttributeError):  # a step without names of its columns
            names = preceding_steps.get_feature_names_out()
    if not hasattr(model, "explain"):
        raise TypeError(
            f"a {type(model).__name__} does not say where its scores come from: it has no method "
            "explain. Use a model of tamis that predicts."
        )
    explanations = model.explain(X)
    # The explanations of a metric or a kernel model have names of terms, not of columns.
    if names is not None and explanations.names == get_column_names(model, explanations.columns):
        explanations.names = [str(names[column]) for column in explanations.columns]
    return explanations


class Predictor(Estimator):
    """Base of classifiers and regressors: it explains scores and reports on the model.

    A model that is not linear has ``_shares(X) -> (names, columns, contributions, intercepts)``.
    """

    def _encode_targets(self, y, n_rows: int, **known) -> tuple[Any, Any]:
        """Return encoded targets and their columns."""
        raise NotImplementedError

    def _weight_rows(self, targets, columns, weights, **stream):
        """Return the targets and the row weights unchanged."""
        return targets, weights

    def _means(self, scores: np.ndarray) -> np.ndarray:
        """Return the means of the targets at some scores, by the inverse link of the loss."""
        return scores

    def _min_loss(self, columns: np.ndarray, weights: np.ndarray) -> float:
        """Return the lowest mean loss that these targets allow."""
        return 0.0

    def _targets_and_scores(self, X, *task) -> tuple[Any, np.ndarray]:
        """Return targets, and scores of the rows."""
        raise NotImplementedError

    def explain(self, X):
        """Explain the scores of the rows by the intercept and the contributions of the features.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Rows.

        Returns
        -------
        explanations : Explanations
            ``contributions`` by `names`, a sparse matrix an output, `intercept` and `score`;
            ``explanations[i]``, ``top(i, n)`` and ``table(i)`` describe row i.
        """
        return self._explain_rows(X)

    def report(self, X=None, y=None, **options):
        """Evaluate the model on rows that it has not seen, and check for common mistakes.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features), default=None
            Rows that the model has not seen; without them a sieve reports its held-out error.
        y : array-like, default=None
            Their targets.
        **more : dict
            Further arguments of `tamis.report`: path, names, X_train, y_train, silence, title.

        Returns
        -------
        report : Report
            To print, to show in a notebook, to save as a page.
        """
        # A late import by name, since `tamis.reporting` imports this folder.
        module: Any = importlib.import_module("tamis.reporting.evaluation.report")
        return module.report(self, X, y, **options)

    def _explain_rows(self, X, *task) -> Explanations:
        """Return the explanations of rows; `task` has their tasks, if there are any."""
        targets, scores = self._targets_and_scores(X, *task)
        contributions_of_model = getattr(self, "_contributions", None)
        if contributions_of_model is not None:
            names, numbers, values, intercepts_of_rows = contributions_of_model(X)
            return Explanations(targets, names, numbers, values, intercepts_of_rows, scores)
        columns, weights, intercepts = get_sparse_weights(self)
        state_and_rows = getattr(self, "_state_and_rows", None)
        rows = (
            validate_matrix(self, X, reset=False)
            if state_and_rows is None
            else state_and_rows(X)[1]
        )
        support = sp.csr_array(rows.to_scipy())[:, columns].astype(np.float64)
        outputs = scores.shape[1]
        # Index of the first output of each row's task.
        first_output = np.zeros(len(scores), np.int64)
        if task:
            codes = targets.prediction_codes(*task, len(scores), type(self).__name__)
            first_output = outputs * codes.astype(np.int64)
        output_of_entry = np.repeat(first_output, np.diff(support.indptr))
        contributions = []
        for output in range(outputs):
            values = support.data * weights[support.indices, output_of_entry + output]
            matrix = sp.csr_array(
                (values, support.indices, support.indptr), shape=support.shape, copy=True
            )
            matrix.eliminate_zeros()
            contributions.append(matrix)
        intercepts_of_rows = intercepts[first_output[:, None] + np.arange(outputs)]
        return Explanations(
            targets,
            get_column_names(self, columns),
            columns,
            contributions,
            intercepts_of_rows,
            scores,
        )
