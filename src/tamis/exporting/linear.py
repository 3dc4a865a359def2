"""A fitted linear model as numbers and names: what every form of export starts from."""

import math
import sys
from collections import Counter
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from tamis.base.estimators.column_names import names_of
from tamis.base.estimators.explaining import weights_of
from tamis.exporting.inputs.fields import Fields, fields_of
from tamis.exporting.inputs.pipelines import fields_before, folded, names_before, steps_of
from tamis.terms.losses import Logistic, Poisson

IDENTITY, LOGISTIC, RATIOS, SOFTMAX = "identity", "logistic", "one-vs-rest", "softmax"
LOG = "log"
LINKS = {
    IDENTITY: "there are no probabilities",
    LOGISTIC: "the probability of an output is 1 / (1 + exp(-score))",
    RATIOS: "1 / (1 + exp(-score)) of each class, divided by their sum",
    SOFTMAX: "exp(score) of each class, divided by their sum",
    LOG: "the predicted mean is exp(score), where a larger score counts as largest_score",
}
LARGEST_EXPONENT = math.log(sys.float_info.max)  # beyond it exp overflows


class Linear(NamedTuple):
    """A linear model: scores are the intercepts and the weighted sum of the kept columns."""

    model: str
    columns: np.ndarray  # (kept,)
    names: list[str]
    weights: np.ndarray  # (kept, outputs)
    intercepts: np.ndarray  # (outputs,)
    n_features: int
    classes: list | None  # of classes and of labels; None where the targets are numbers
    labels: bool  # whether a row has any number of them
    link: str
    lines: np.ndarray | None  # slope and offset of each score in its probability; None: 1 and 0
    spread: np.ndarray | None  # of the kept columns, where the model knows it
    reading: dict | None
    fields: Fields
    table: Sequence[str] = ()  # names of all columns of the table that it reads, as far as known
    largest_score: float = LARGEST_EXPONENT  # of the link "log": means do not grow beyond it

    @property
    def outputs(self) -> int:
        """Number of scores of a row."""
        return len(self.intercepts)

    @property
    def title(self) -> str:
        """What it is, in a line."""
        kept = f"{len(self.columns):,} of {self.n_features:,} columns"
        return f"{self.model}, {kept}"


def linear_of(model: Any, task: Any = None, names: Any = None) -> Linear:
    """A fitted model and what its columns mean, as the kept columns alone.

    `model` may be the last step of a scikit-learn Pipeline. `task` names one of several tasks;
    `names` are those of all columns, where neither X nor a file had any.
    """
    steps, model = steps_of(model)
    columns, weights, intercepts = _weights(model)
    columns, targets = np.asarray(columns, dtype=np.int64), model._targets
    weights, intercepts = _of_task(model, weights, intercepts, task)
    kept = np.flatnonzero(weights.any(axis=1))
    columns, weights = columns[kept], np.ascontiguousarray(weights[kept], dtype=float)
    width, reading = int(model.n_features_in_), vars(model).get("reading_")
    spread = _spread(model, columns, weights)
    intercepts = np.asarray(intercepts, dtype=float)
    if steps is not None:
        given = weights
        columns, weights, intercepts, width = folded(steps, columns, weights, intercepts, width)
        if len(columns):  # what scalers divide by is a spread too
            divided = np.abs(given).max(axis=1) / np.abs(weights).max(axis=1)
            if spread is not None or (divided != 1.0).any():
                spread = divided if spread is None else spread * divided
    if names is not None and len(names) != width:
        raise ValueError(f"names has {len(names)} entries, but the model has {width:,} columns.")
    known = names_before(steps, width) if steps is not None and names is None else names
    called = names_of(model, columns) if known is None else [str(known[c]) for c in columns]
    if steps is None:
        fields = fields_of(reading if names is None else None, columns, called)
    else:
        fields = fields_before(steps, columns, called)
    classes = getattr(targets, "classes", None)
    if classes is not None and len(classes) < 2:
        raise ValueError(f"the {type(model).__name__} has met one class alone: nothing to export.")
    link, lines, largest_score = _link(model, targets)
    return Linear(
        type(model).__name__,
        columns,
        called,
        weights,
        intercepts,
        width,
        None if classes is None else classes.tolist(),
        bool(getattr(targets, "labels", False)),
        link,
        lines,
        spread,
        reading,
        fields,
        _table(model if steps is None else steps.raw, reading, names, fields),
        largest_score,
    )


def _table(reader: Any, reading: dict | None, names: Any, fields: Fields) -> list[str]:
    """Names of all columns of the table that is read, as far as they are known."""
    if names is None or fields.records:
        names = getattr(reader, "feature_names_in_", ())
        if reading is not None and "layout" in reading:
            names = [column[0] for column in reading["layout"]["columns"]]
    listed, own = [str(name) for name in names], [field.name for field in fields.listed]
    found = dict.fromkeys([*listed, *own])
    times = Counter(listed or own)
    if several := next((name for name in own if times[name] > 1), None):
        raise ValueError(
            f"{times[several]} columns are called {several!r:.80}, and an export goes by names. "
            "Pass names= that differ."
        )
    return list(found)


def _weights(model) -> Any:
    """The weights of a model, or a sentence that says what can be exported."""
    name = type(model).__name__
    if isinstance(model, type) or not hasattr(model, "predict") or not hasattr(model, "_scored"):
        raise TypeError(
            f"export takes a fitted model of tamis, or a Pipeline that ends in one. Got "
            f"{model!r:.80}."
        )
    try:
        return weights_of(model)
    except TypeError as error:
        raise TypeError(
            f"{error} Linear models can be exported: those of the sieve, the online, stabilized, "
            f"confidence, group, multi-task, low-rank and robust families. A {name} is kept by "
            "tamis.save."
        ) from None


def _spread(model, columns, weights) -> np.ndarray | None:
    """Spread of the kept columns: an importance is a weight's size times it."""
    if not hasattr(model, "importance_"):
        return None
    importance = np.atleast_2d(model.importance_)[:, columns].T
    most = np.abs(weights).argmax(axis=1)[:, None]
    found = np.take_along_axis(importance, most, 1) / np.abs(np.take_along_axis(weights, most, 1))
    return found[:, 0]


def _of_task(model, weights, intercepts, task) -> tuple[np.ndarray, np.ndarray]:
    """Weights and intercepts of one task, where there are several."""
    targets = model._targets
    if not hasattr(targets, "tasks"):
        if task is not None:
            raise ValueError(f"task={task!r}: a {type(model).__name__} knows no tasks.")
        return weights, intercepts
    if task is None and len(targets.tasks) > 1:
        listed = targets.tasks[:10].tolist()
        raise ValueError(f"the model knows {len(targets.tasks)} tasks; pass task, one of {listed}.")
    code = 0 if task is None else int(targets.asked([task], 1, type(model).__name__)[0])
    own = slice(code * targets.outputs, (code + 1) * targets.outputs)
    return weights[:, own], intercepts[own]


def _link(model, targets) -> tuple[str, np.ndarray | None, float]:
    """How probabilities or means come from scores, as `predict_proba` and `predict` make them: the
    name of the link, the lines of scores in probabilities, and the largest score of means.
    """
    loss = model._loss() if hasattr(model, "_loss") else None
    if vars(model).get("_has_offset"):
        raise ValueError(
            f"the {type(model).__name__} was fitted with an offset and needs one for every row "
            "that it predicts, which no form of export takes. Keep the model by tamis.save."
        )
    if type(loss) is Poisson:  # a subclass may have another link
        return LOG, None, min(float(loss.largest_score), LARGEST_EXPONENT)
    if hasattr(loss, "inverse_link") and not isinstance(loss, Logistic):
        raise ValueError(
            f"the {type(model).__name__} has loss={model.loss!r}, whose inverse link no form of "
            "export can write; it can write those of 'logistic' and 'poisson'. Keep the model by "
            "tamis.save."
        )
    if not hasattr(model, "predict_proba"):
        return IDENTITY, None, LARGEST_EXPONENT
    lines = vars(model).get("_lines")
    if not targets.excluding:
        return LOGISTIC, lines, LARGEST_EXPONENT
    joint = lines is None and getattr(model, "_joint", False)
    return (SOFTMAX if joint else RATIOS), lines, LARGEST_EXPONENT
