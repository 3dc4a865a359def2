"""`live`: a service that learns, scores and explains one row at a time."""

from collections.abc import Mapping
from threading import Lock
from typing import Any

import numpy as np
from sklearn.base import is_classifier

from tamis.base.estimators.explaining import Explanation, make_explanation, select_output
from tamis.model_files import save
from tamis.serving.served_model import ServedModel
from tamis.system.files import StrPath
from tamis.system.threads import locked

_INDICES_ONLY = "a row is indices and values, or a mapping. Got indices alone."


class Live:
    """A model that learns and scores single rows. Make one by `live`."""

    def __init__(self, model, classes, n_features: int | None, hash_bits: int | None):
        self._lock, self._served_model = Lock(), ServedModel(model, classes, n_features, hash_bits)

    @property
    def model(self) -> Any:
        """The served model, with all rows learnt so far."""
        return self._served_model.model

    def __repr__(self) -> str:
        return f"live({self.model!r})"

    # ------------------------------------------------------------------ public calls
    def learn(self, row, values=None, y=None, weight: float = 1.0) -> None:
        """Learn from one row: ``learn(indices, values, y, weight=1.0)`` or ``learn(mapping, y,
        weight=1.0)``.

        The result is that of `partial_fit` of the model with that row, to the bit. A row that
        raises an error changes nothing.

        Parameters
        ----------
        row : array-like of int, or mapping
            Columns of the row, each once, from 0; or names and their values.
        values : array-like of float
            Values of the columns. Omit them after a mapping: its next argument is `y`.
        y : object
            Target of the row: a class or a number.
        weight : float, default=1.0
            Weight of the row.
        """
        if _is_mapping(row):
            if values is not None:
                y, weight = values, weight if y is None else y
            values = None
        elif values is None:
            raise TypeError(_INDICES_ONLY)
        if y is None:
            raise TypeError("learn needs a target: learn(indices, values, y) or learn(mapping, y).")
        with self._lock:
            _learn(self._served_model.model, self._served_model, row, values, y, weight)

    def score(self, row, values=None) -> Any:
        """Return the score of one row, as `decision_function` does (for a regressor `predict`,
        before the inverse link of its loss).

        Parameters
        ----------
        row : array-like of int, or mapping
            Columns of the row, or names and their values.
        values : array-like of float
            Values of the columns; omitted with a mapping.

        Returns
        -------
        score : float, or ndarray of shape (n_outputs,)
            An array where the model has several outputs.
        """
        with self._lock:
            scores = self._scores(row, values)
            return float(scores[0, 0]) if scores.shape[1] == 1 else scores[0].copy()

    def predict(self, row, values=None) -> Any:
        """Predict the class or the number of one row.

        Parameters
        ----------
        row : array-like of int, or mapping
            Columns of the row, or names and their values.
        values : array-like of float
            Values of the columns; omitted with a mapping.

        Returns
        -------
        y : object
            A Python object: int, float, str, or a list where a row has several targets.
        """
        with self._lock:
            model, scores = self.model, self._scores(row, values)
            scores = scores if self._served_model.is_classifier else model._means(scores)
            return model._targets.predict(scores).tolist()[0]

    def predict_proba(self, row, values=None) -> np.ndarray:
        """Return the probabilities of the classes, for models with `predict_proba`.

        Parameters
        ----------
        row : array-like of int, or mapping
            Columns of the row, or names and their values.
        values : array-like of float
            Values of the columns; omitted with a mapping.

        Returns
        -------
        probabilities : ndarray of shape (n_classes,)
            In the order of `classes_`.
        """
        _ = self.model.predict_proba  # raises an error with the reason where a model has none
        with self._lock:
            scores = self._scores(row, values)
            return self.model._probabilities(self.model._targets, scores)[0]

    def explain(self, row, values=None, *, label=None) -> Explanation:
        """Split the score of one row into the contributions of its columns.

        Parameters
        ----------
        row : array-like of int, or mapping
            Columns of the row, or names and their values.
        values : array-like of float
            Values of the columns; omitted with a mapping.
        label : object, default=None
            Class, or index of the output, to explain. None is the predicted one of several
            classes, and the second of two classes, which a score above 0 predicts; for the first
            class all numbers have the other sign.

        Returns
        -------
        explanation : Explanation
            With `label`, `score`, `intercept`, and `contributions`: pairs of a name and the
            product of weight and value, the largest absolute value first. Names are those of the
            columns, or their numbers; hashed columns have the names of the mapping.
        """
        with self._lock:
            scores = self._scores(row, values)[0].copy()
            names, contributions = self._served_model.contributions(row, values)
            output, sign, label = select_output(self.model._targets, scores, label)
            intercept = self._served_model.engine.intercepts()[output]
        contributions = sign * contributions[:, output]
        return make_explanation(
            label, sign * scores[output], sign * intercept, names, contributions
        )

    def save(self, path: StrPath) -> None:
        """Save the model between two rows, as `tamis.save` does.

        Parameters
        ----------
        path : str or os.PathLike
            File to write.
        """
        with self._lock:
            save(self.model, path)

    def _scores(self, row, values) -> np.ndarray:
        """Return the scores of a row, (1, outputs)."""
        if values is None and not _is_mapping(row):
            raise TypeError(_INDICES_ONLY)
        return self._served_model.scores(row, values)


def _is_mapping(row) -> bool:
    """Return whether a row is a mapping from names to values."""
    row_type = type(row)
    return row_type is dict or (
        row_type is not np.ndarray and row_type is not list and isinstance(row, Mapping)
    )


@locked
def _learn(model, served_model: ServedModel, *args) -> None:
    """Learn a row while no other thread trains or saves the model."""
    served_model.learn(*args)


def live(
    model: Any,
    *,
    classes: Any = None,
    n_features: int | None = None,
    hash_bits: int | None = None,
) -> Live:
    """Serve an online model: it learns and scores one row in microseconds.

    `partial_fit` validates all its arguments, which takes longer than to learn a row. A service
    validates the model once, when it is made; a row then costs a few cheap checks and the step. Use
    it in services and for events; for files and tables `fit`, `partial_fit` and `train` are
    faster.

    A row is two arrays (or lists), the indices of its columns and their values, or a mapping from
    names to values. All calls are thread-safe: a lock lets one through at a time. Changes of the
    parameters of the model take effect at the next `live`.

    Parameters
    ----------
    model : estimator
        An online model of tamis, fitted or fresh. It learns in place.
    classes : array-like, default=None
        All classes, for a fresh classifier. One with ``grow=True`` adds classes as they occur.
    n_features : int, default=None
        Number of columns of a fresh model. One with ``grow=True`` adds columns as they occur.
    hash_bits : int, default=None
        Hash names into ``2**hash_bits`` columns, as `open_rows` does with Vowpal Wabbit's text
        (``"space^name"`` is a name in a namespace). None uses the names of the model: those of the
        table or text that it was trained from (`reading_`), or ``feature_names_in_``. A fresh model
        with ``grow=True`` keeps a growing list of names.

    Returns
    -------
    service : Live
        With ``learn(indices, values, y, weight=1.0)`` or ``learn(mapping, y, weight=1.0)``;
        `score`, `predict`, `predict_proba` and `explain`, which accept ``(indices, values)`` or a
        mapping; ``save(path)``; and `model`.

    See Also
    --------
    save : Save a model.
    open_rows : Read rows from files.

    Examples
    --------
    >>> import tamis
    >>> service = tamis.live(tamis.FTRLClassifier(), classes=["no", "yes"], n_features=1000)
    >>> for _ in range(100):
    ...     service.learn([3, 70], [1.0, 0.5], "yes")
    ...     service.learn([5, 70], [1.0, 0.5], "no", weight=2.0)
    >>> service.predict([3, 70], [1.0, 0.5])
    'yes'

    Names, in a model that grows:

    >>> service = tamis.live(tamis.FTRLClassifier(grow=True))
    >>> for _ in range(100):
    ...     service.learn({"good": 1.0, "film": 1.0}, "yes")
    ...     service.learn({"bad": 1.0, "film": 1.0}, "no")
    >>> service.predict({"good": 1.0, "unheard": 1.0})
    'yes'
    >>> explanation = service.explain({"good": 1.0, "film": 1.0})
    >>> explanation.label, [name for name, contribution in explanation.contributions]
    ('yes', ['good', 'film'])
    >>> service.model.feature_names_in_.tolist()
    ['good', 'film', 'bad']
    """
    supports_live = getattr(model, "_supports_live", False) and hasattr(model, "partial_fit")
    if not supports_live or isinstance(model, type):
        raise TypeError(
            "live serves the online models of tamis, fitted or fresh, that learn single rows of "
            f"numbers with a target. Got {_format_model(model)}; gather rows and call its "
            "partial_fit, or fit, if it has one."
        )
    if getattr(model, "_has_offset", False):
        raise TypeError(
            f"live serves rows without an offset, and this {type(model).__name__} was fitted with "
            "one. Call its partial_fit and predict with offset=."
        )
    if hash_bits is not None:
        n_features = _hashed_n_features(model, n_features, hash_bits)
    fitted = "_solver_state" in vars(model)
    if fitted and n_features not in (None, model.n_features_in_):
        raise ValueError(
            f"the model has {model.n_features_in_} columns, and "
            f"{'hash_bits' if hash_bits is not None else 'n_features'} asks for {n_features}. "
            "Leave it out, or serve a fresh model."
        )
    if not fitted:
        _check_fresh(model, classes, n_features)
    return Live(model, classes, n_features, hash_bits)


def _format_model(model) -> str:
    """Return a model as error messages show it."""
    return f"the class {model.__name__}" if isinstance(model, type) else f"{model!r:.80}"


def _hashed_n_features(model, n_features, hash_bits) -> int:
    """Return the number of columns of hashed names."""
    if not isinstance(hash_bits, int) or not 1 <= hash_bits <= 40:
        raise ValueError(
            "The 'hash_bits' parameter of live must be a whole number from 1 to 40. Got "
            f"{hash_bits!r} instead."
        )
    if n_features not in (None, 2**hash_bits):
        raise ValueError(
            f"hash_bits={hash_bits} makes {2**hash_bits} columns, and n_features={n_features!r}. "
            "Pass one of the two."
        )
    return 2**hash_bits


def _check_fresh(model, classes, n_features) -> None:
    """Raise where a fresh model lacks its number of columns or its classes."""
    name = type(model).__name__
    if not model.grow and n_features is None:
        raise ValueError(
            f"this {name} is not fitted, and its number of columns is unknown. Pass n_features (or "
            "hash_bits, for names), or make it with grow=True."
        )
    missing = is_classifier(model) and classes is None
    if missing and (not model.grow or n_features is not None):
        raise ValueError(
            f"this {name} is not fitted, and its classes are unknown. Pass classes=[...]."
        )
