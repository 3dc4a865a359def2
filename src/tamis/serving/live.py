"""A model in service: it learns, scores and explains one row at a time."""

from collections.abc import Mapping
from threading import Lock
from typing import Any

import numpy as np
from sklearn.base import is_classifier

from tamis.base.estimators.explaining import Explanation, explained, output_of
from tamis.model_files import save
from tamis.serving.served import Served
from tamis.system.files import StrPath
from tamis.system.threads import locked

_ALONE = "a row is indices and values, or a mapping. Got indices alone."


class Live:
    """A model in service, made by `live`."""

    def __init__(self, model, classes, n_features: int | None, hash_bits: int | None):
        self._lock, self._served = Lock(), Served(model, classes, n_features, hash_bits)

    @property
    def model(self) -> Any:
        """The model that is served, with all that it has learnt."""
        return self._served.model

    def __repr__(self) -> str:
        return f"live({self.model!r})"

    # ------------------------------------------------------------------ what a service calls
    def learn(self, row, values=None, y=None, weight: float = 1.0) -> None:
        """Learn from one row: ``learn(indices, values, y, weight=1.0)`` or ``learn(mapping, y,
        weight=1.0)``.

        The bits are those of `partial_fit` of the model with that row. A row that is refused
        changes nothing.

        Parameters
        ----------
        row : array-like of int, or mapping
            Columns of the row, each once, from 0; or names and their values.
        values : array-like of float
            Their values. A mapping has them inside, and is followed by `y` at once.
        y : object
            Class, number, or what else the model learns.
        weight : float, default=1.0
            Weight of the row.
        """
        if _is_named(row):
            if values is not None:
                y, weight = values, weight if y is None else y
            values = None
        elif values is None:
            raise TypeError(_ALONE)
        if y is None:
            raise TypeError("learn needs a target: learn(indices, values, y) or learn(mapping, y).")
        with self._lock:
            _learn(self._served.model, self._served, row, values, y, weight)

    def score(self, row, values=None) -> Any:
        """Score of one row, as `decision_function` gives it (of a regressor `predict`, before the
        inverse link of its loss).

        Parameters
        ----------
        row : array-like of int, or mapping
            Columns of the row, or names and their values.
        values : array-like of float
            Values of the columns; a mapping has them inside.

        Returns
        -------
        score : float, or ndarray of shape (n_outputs,)
            An array where the model has several outputs.
        """
        with self._lock:
            scores = self._scores(row, values)
            return float(scores[0, 0]) if scores.shape[1] == 1 else scores[0].copy()

    def predict(self, row, values=None) -> Any:
        """Class or number that the model predicts for one row.

        Parameters
        ----------
        row : array-like of int, or mapping
            Columns of the row, or names and their values.
        values : array-like of float
            Values of the columns; a mapping has them inside.

        Returns
        -------
        y : object
            As Python has it: int, float, str, or a list where a row has several targets.
        """
        with self._lock:
            model, scores = self.model, self._scores(row, values)
            scores = scores if self._served.classifies else model._means(scores)
            return model._targets.predict(scores).tolist()[0]

    def predict_proba(self, row, values=None) -> np.ndarray:
        """Probabilities of the classes, for models that have `predict_proba`.

        Parameters
        ----------
        row : array-like of int, or mapping
            Columns of the row, or names and their values.
        values : array-like of float
            Values of the columns; a mapping has them inside.

        Returns
        -------
        probabilities : ndarray of shape (n_classes,)
            In the order of `classes_`.
        """
        _ = self.model.predict_proba  # says why a model has none
        with self._lock:
            scores = self._scores(row, values)
            return self.model._probabilities(self.model._targets, scores)[0]

    def explain(self, row, values=None, *, label=None) -> Explanation:
        """Say where the score of one row comes from.

        Parameters
        ----------
        row : array-like of int, or mapping
            Columns of the row, or names and their values.
        values : array-like of float
            Values of the columns; a mapping has them inside.
        label : object, default=None
            Class, or number of the output, whose score is explained. None is the predicted one of
            several, and of two classes the second, whose side a score above 0 is on; the first has
            the same numbers with the other sign.

        Returns
        -------
        explanation : Explanation
            With `label`, `score`, `intercept`, and `contributions`: pairs of a name and the
            product of weight and value, the largest in size first. Names are those of the
            columns, or their numbers; hashed names are those of the mapping.
        """
        with self._lock:
            scores = self._scores(row, values)[0].copy()
            names, shares = self._served.shares(row, values)
            at, sign, label = output_of(self.model._targets, scores, label)
            intercept = self._served.engine.intercepts()[at]
        return explained(label, sign * scores[at], sign * intercept, names, sign * shares[:, at])

    def save(self, path: StrPath) -> None:
        """Save the model, as `tamis.save` does, between two rows.

        Parameters
        ----------
        path : str or os.PathLike
            Where to write.
        """
        with self._lock:
            save(self.model, path)

    def _scores(self, row, values) -> np.ndarray:
        """Scores of a row, (1, outputs)."""
        if values is None and not _is_named(row):
            raise TypeError(_ALONE)
        return self._served.scores(row, values)


def _is_named(row) -> bool:
    """Whether a row is a mapping from names to values."""
    kind = type(row)
    return kind is dict or (
        kind is not np.ndarray and kind is not list and isinstance(row, Mapping)
    )


@locked
def _learn(model, served: Served, *given) -> None:
    """Learn a row while no other thread trains or saves the model."""
    served.learn(*given)


def live(
    model: Any,
    *,
    classes: Any = None,
    n_features: int | None = None,
    hash_bits: int | None = None,
) -> Live:
    """Put a model of a stream into service: it learns and scores one row in microseconds.

    `partial_fit` looks at all that it is given, which takes longer than to learn a row. What this
    returns has looked once, when it is made; a row then costs a few cheap checks and the step. Use
    it in services and for events; for files and tables `fit`, `partial_fit` and `train` are
    faster.

    A row is two arrays (or lists), the indices of its columns and their values, or a mapping from
    names to values. All calls may come from many threads: a lock lets one through at a time.
    Parameters of the model that are changed afterwards count from the next `live` on.

    Parameters
    ----------
    model : estimator
        An online model of tamis, fitted or fresh. It learns in place.
    classes : array-like, default=None
        All classes, for a fresh classifier. One with ``grow=True`` meets them as they come.
    n_features : int, default=None
        Number of columns of a fresh model. One with ``grow=True`` meets them as they come.
    hash_bits : int, default=None
        Hash names into ``2**hash_bits`` columns, as `open_rows` does with Vowpal Wabbit's text
        (``"space^name"`` is a name in a namespace). None takes the names of the model: those of
        the table or text that it was trained from (`reading_`), or ``feature_names_in_``. A fresh
        model with ``grow=True`` makes a list of names, which grows.

    Returns
    -------
    service : Live
        With ``learn(indices, values, y, weight=1.0)`` or ``learn(mapping, y, weight=1.0)``;
        `score`, `predict`, `predict_proba` and `explain`, which take ``(indices, values)`` or a
        mapping; ``save(path)``; and `model`.

    See Also
    --------
    save : Save a model.
    open_rows : Read rows from files.

    Examples
    --------
    >>> import tamis
    >>> service = tamis.live(tamis.FTRLClassifier(), classes=["no", "yes"], n_features=1000)
    >>> for turn in range(100):
    ...     service.learn([3, 70], [1.0, 0.5], "yes")
    ...     service.learn([5, 70], [1.0, 0.5], "no", weight=2.0)
    >>> service.predict([3, 70], [1.0, 0.5])
    'yes'

    Names, in a model that grows:

    >>> service = tamis.live(tamis.FTRLClassifier(grow=True))
    >>> for turn in range(100):
    ...     service.learn({"good": 1.0, "film": 1.0}, "yes")
    ...     service.learn({"bad": 1.0, "film": 1.0}, "no")
    >>> service.predict({"good": 1.0, "unheard": 1.0})
    'yes'
    >>> found = service.explain({"good": 1.0, "film": 1.0})
    >>> found.label, [name for name, share in found.contributions]
    ('yes', ['good', 'film'])
    >>> service.model.feature_names_in_.tolist()
    ['good', 'film', 'bad']
    """
    lives = getattr(model, "_lives", False) and hasattr(model, "partial_fit")
    if not lives or isinstance(model, type):
        raise TypeError(
            f"live serves the online models of tamis, fitted or fresh, of which one row is known "
            f"by its numbers and its target. Got {_said(model)}; gather rows and call its "
            "partial_fit, or fit, if it has one."
        )
    if getattr(model, "_has_offset", False):
        raise TypeError(
            f"live serves rows without an offset, and this {type(model).__name__} was fitted with "
            "one. Call its partial_fit and predict with offset=."
        )
    if hash_bits is not None:
        n_features = _hashed_width(model, n_features, hash_bits)
    fitted = "_engine" in vars(model)
    if fitted and n_features not in (None, model.n_features_in_):
        raise ValueError(
            f"the model has {model.n_features_in_} columns, and "
            f"{'hash_bits' if hash_bits is not None else 'n_features'} asks for {n_features}. "
            "Leave it out, or serve a fresh model."
        )
    if not fitted:
        _check_fresh(model, classes, n_features)
    return Live(model, classes, n_features, hash_bits)


def _said(model) -> str:
    """A model in the words of an error."""
    return f"the class {model.__name__}" if isinstance(model, type) else f"{model!r:.80}"


def _hashed_width(model, n_features, hash_bits) -> int:
    """Number of columns of hashed names."""
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
    """Refuse to begin a model of which too little is known."""
    name = type(model).__name__
    if not model.grow and n_features is None:
        raise ValueError(
            f"this {name} is not fitted, and nobody said how many columns it has. Pass n_features "
            "(or hash_bits, for names), or make it with grow=True."
        )
    missing = is_classifier(model) and classes is None
    if missing and (not model.grow or n_features is not None):
        raise ValueError(
            f"this {name} is not fitted, and nobody named its classes. Pass classes=[...]."
        )
