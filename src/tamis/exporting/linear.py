"""A fitted linear model as numbers and names: the input of every export format."""

import math
import sys
from collections import Counter
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from tamis.base.estimators.column_names import get_column_names
from tamis.base.estimators.explaining import get_sparse_weights
from tamis.exporting.inputs.fields import Fields, reading_fields
from tamis.exporting.inputs.pipelines import (
    fold_transformers,
    pipeline_fields,
    pipeline_names,
    split_pipeline,
)
from tamis.terms.losses import Logistic, Poisson

IDENTITY, LOGISTIC, ONE_VS_REST, SOFTMAX = "identity", "logistic", "one-vs-rest", "softmax"
LOG = "log"
LINKS = {
    IDENTITY: "there are no probabilities",
    LOGISTIC: "the probability of an output is 1 / (1 + exp(-score))",
    ONE_VS_REST: "1 / (1 + exp(-score)) of each class, divided by their sum",
    SOFTMAX: "exp(score) of each class, divided by their sum",
    LOG: "the predicted mean is exp(score), where a larger score counts as largest_score",
}
MAX_EXPONENT = math.log(sys.float_info.max)  # beyond it exp overflows


class LinearModel(NamedTuple):
    """A linear model: scores are the intercepts plus the weighted sum of the selected columns."""

    model: str
    columns: np.ndarray  # (kept,)
    names: list[str]
    weights: np.ndarray  # (kept, outputs)
    intercepts: np.ndarray  # (outputs,)
    n_features: int
    classes: list | None  # or labels; None for numeric targets
    labels: bool  # whether a row may have several of them
    link: str
    calibration: np.ndarray | None  # slope and offset of each score; None: 1, 0
    deviations: np.ndarray | None  # of the selected columns, if the model knows them
    reading: dict | None
    fields: Fields
    table: Sequence[str] = ()  # names of all columns of the input table, if known
    largest_score: float = MAX_EXPONENT  # for the link "log": a larger score counts as this

    @property
    def outputs(self) -> int:
        """Number of scores of a row."""
        return len(self.intercepts)

    @property
    def title(self) -> str:
        """Description of the model in one line."""
        selected = f"{len(self.columns):,} of {self.n_features:,} columns"
        return f"{self.model}, {selected}"


def extract_linear(model: Any, task: Any = None, names: Any = None) -> LinearModel:
    """Return a fitted model with its selected columns and the fields that they come from.

    `model` may be a scikit-learn Pipeline. `task` names one of several tasks; `names` are those of
    all columns, if neither X nor a file had any.
    """
    steps, model = split_pipeline(model)
    columns, weights, intercepts = _model_weights(model)
    columns, targets = np.asarray(columns, dtype=np.int64), model._targets
    weights, intercepts = _select_task(model, weights, intercepts, task)
    nonzero = np.flatnonzero(weights.any(axis=1))
    columns, weights = columns[nonzero], np.ascontiguousarray(weights[nonzero], dtype=float)
    n_features, reading = int(model.n_features_in_), vars(model).get("reading_")
    deviations = _deviations(model, columns, weights)
    intercepts = np.asarray(intercepts, dtype=float)
    if steps is not None:
        model_weights = weights
        columns, weights, intercepts, n_features = fold_transformers(
            steps, columns, weights, intercepts, n_features
        )
        if len(columns):  # the divisor of a scaler is a deviation too
            divisors = np.abs(model_weights).max(axis=1) / np.abs(weights).max(axis=1)
            if deviations is not None or (divisors != 1.0).any():
                deviations = divisors if deviations is None else deviations * divisors
    if names is not None and len(names) != n_features:
        raise ValueError(
            f"names has {len(names)} entries, but the model has {n_features:,} columns."
        )
    all_names = pipeline_names(steps, n_features) if steps is not None and names is None else names
    column_names = (
        get_column_names(model, columns)
        if all_names is None
        else [str(all_names[c]) for c in columns]
    )
    if steps is None:
        fields = reading_fields(reading if names is None else None, columns, column_names)
    else:
        fields = pipeline_fields(steps, columns, column_names)
    classes = getattr(targets, "classes", None)
    if classes is not None and len(classes) < 2:
        raise ValueError(
            f"the {type(model).__name__} has seen only one class: there is nothing to export."
        )
    link, calibration, largest_score = _link(model, targets)
    return LinearModel(
        type(model).__name__,
        columns,
        column_names,
        weights,
        intercepts,
        n_features,
        None if classes is None else classes.tolist(),
        bool(getattr(targets, "labels", False)),
        link,
        calibration,
        deviations,
        reading,
        fields,
        _table_columns(model if steps is None else steps.input_step, reading, names, fields),
        largest_score,
    )


def _table_columns(reader: Any, reading: dict | None, names: Any, fields: Fields) -> list[str]:
    """Return the names of all columns of the input table, as far as known."""
    if names is None or fields.records:
        names = getattr(reader, "feature_names_in_", ())
        if reading is not None and "layout" in reading:
            names = [column[0] for column in reading["layout"]["columns"]]
    table_names, field_names = (
        [str(name) for name in names],
        [field.name for field in fields.listed],
    )
    unique = dict.fromkeys([*table_names, *field_names])
    counts = Counter(table_names or field_names)
    if repeated := next((name for name in field_names if counts[name] > 1), None):
        raise ValueError(
            f"{counts[repeated]} columns are called {repeated!r:.80}, and an export goes by names. "
            "Pass names= that differ."
        )
    return list(unique)


def _model_weights(model) -> Any:
    """Return columns, weights and intercepts; raise an error that says what can be exported."""
    name = type(model).__name__
    if (
        isinstance(model, type)
        or not hasattr(model, "predict")
        or not hasattr(model, "_targets_and_scores")
    ):
        raise TypeError(
            f"export takes a fitted model of tamis, or a Pipeline that ends in one. Got "
            f"{model!r:.80}."
        )
    try:
        return get_sparse_weights(model)
    except TypeError as error:
        raise TypeError(
            f"{error} Linear models can be exported: those of the sieve, the online, stabilized, "
            f"confidence, group, multi-task, low-rank and robust families. A {name} is kept by "
            "tamis.save."
        ) from None


def _deviations(model, columns, weights) -> np.ndarray | None:
    """Return the deviations of the columns: an importance is |weight| times deviation."""
    if not hasattr(model, "importance_"):
        return None
    importance = np.atleast_2d(model.importance_)[:, columns].T
    largest = np.abs(weights).argmax(axis=1)[:, None]
    ratios = np.take_along_axis(importance, largest, 1) / np.abs(
        np.take_along_axis(weights, largest, 1)
    )
    return ratios[:, 0]


def _select_task(model, weights, intercepts, task) -> tuple[np.ndarray, np.ndarray]:
    """Return the weights and intercepts of one task; of all outputs without tasks."""
    targets = model._targets
    if not hasattr(targets, "tasks"):
        if task is not None:
            raise ValueError(f"task={task!r}: a {type(model).__name__} knows no tasks.")
        return weights, intercepts
    if task is None and len(targets.tasks) > 1:
        known_tasks = targets.tasks[:10].tolist()
        raise ValueError(
            f"the model knows {len(targets.tasks)} tasks; pass task, one of {known_tasks}."
        )
    code = 0 if task is None else int(targets.prediction_codes([task], 1, type(model).__name__)[0])
    outputs_of_task = slice(code * targets.outputs, (code + 1) * targets.outputs)
    return weights[:, outputs_of_task], intercepts[outputs_of_task]


def _link(model, targets) -> tuple[str, np.ndarray | None, float]:
    """Return the name of the inverse link, the calibration of the scores, and the largest score.

    They give the same probabilities and means as `predict_proba` and `predict`.
    """
    loss = model._loss() if hasattr(model, "_loss") else None
    if vars(model).get("_has_offset"):
        raise ValueError(
            f"the {type(model).__name__} was fitted with an offset and needs one for every row "
            "that it predicts, which no form of export takes. Keep the model by tamis.save."
        )
    if type(loss) is Poisson:  # a subclass may have another link
        return LOG, None, min(float(loss.largest_score), MAX_EXPONENT)
    if hasattr(loss, "inverse_link") and not isinstance(loss, Logistic):
        raise ValueError(
            f"the {type(model).__name__} has loss={model.loss!r}, whose inverse link no form of "
            "export can write; it can write those of 'logistic' and 'poisson'. Keep the model by "
            "tamis.save."
        )
    if not hasattr(model, "predict_proba"):
        return IDENTITY, None, MAX_EXPONENT
    calibration = vars(model).get("_sigmoid_params")
    if not targets.is_multiclass:
        return LOGISTIC, calibration, MAX_EXPONENT
    joint = calibration is None and getattr(model, "_is_multinomial", False)
    return (SOFTMAX if joint else ONE_VS_REST), calibration, MAX_EXPONENT
