"""Checks of a comparison: those that hang on data and protocol alone, told once for all models."""

from collections.abc import Collection
from typing import Any

import numpy as np
from sklearn.dummy import DummyClassifier, DummyRegressor

from tamis.base.scores import paired_difference
from tamis.evaluation.checks import (
    LEAKS_LOOKED_AT,
    Check,
    Finding,
    Found,
    check_by,
    copies,
    few_rows,
    leak,
    rare_class,
    refuse_unknown,
    units,
)
from tamis.evaluation.columns import left_over
from tamis.evaluation.evaluation import Evidence
from tamis.evaluation.summary import SURE, Evaluation, evaluate


def compared_checks(
    sides: Any,
    models: dict[str, Any],
    rows: list[dict],
    losses: list[np.ndarray],
    classes: bool,
    names: Any = None,
    silence: Collection[str] = (),
) -> list[Check]:
    """Checks of the rows that models were compared on; `rows` are those of the record, `losses`
    their mean losses of each test row.
    """
    refuse_unknown(silence)
    guess = DummyClassifier() if classes else DummyRegressor()
    guess.fit(np.zeros((len(sides.y), 1)), sides.y).n_features_in_ = sides.X.shape[1]
    evidence = Evidence(guess, sides.X_test, sides.y_test, names, sides.X, sides.y)
    evidence.ranked = evidence.kept = _strongest(evidence)
    by_units = [name for name, model in models.items() if _hangs_on_units(model)]
    looks = {
        "TAM001": lambda evidence: _best(evaluate(evidence), evidence.losses, rows, losses),
        "TAM002": rare_class,
        "TAM007": lambda evidence: _units(evidence, by_units),
        "TAM009": copies,
        "TAM010": leak,
        "TAM012": few_rows,
    }
    return [check_by(code, look, evidence, silence) for code, look in looks.items()]


def _strongest(evidence: Evidence) -> np.ndarray:
    """The columns that go with the targets most."""
    if evidence.rows is None or evidence.moments is None:
        return np.zeros(0, int)
    _, spreads, shares = evidence.moments
    apart = left_over(
        evidence.rows, spreads, shares * evidence.rows.shape[0], evidence.rests_of_guessing
    )
    strong = np.argsort(-apart, kind="stable")[:LEAKS_LOOKED_AT]
    return strong[apart[strong] > 0.0]


def _hangs_on_units(model: Any) -> bool:
    """Whether a model takes columns as they are; what stands before one in a pipeline may scale."""
    return not hasattr(model, "steps") and not type(model).__name__.startswith("Sieve")


def _units(evidence: Evidence, names: list[str]) -> Finding:
    if not names:
        return "the methods measure columns in units of their own."
    found = units(evidence)
    if not isinstance(found, Found):
        return found
    words = f"This comparison has methods that depend on units: {', '.join(names)}"
    return Found(found.said.replace("This method depends on units", words), found.advice)


def _best(
    guessing: Evaluation, baseline_losses: np.ndarray, rows: list[dict], losses: list[np.ndarray]
) -> Finding:
    """Whether the best of the models beats guessing, by the differences on each test row."""
    best = int(np.argmin([row["error"] for row in rows]))
    error, baseline = rows[best]["error"], guessing.error
    gain, gain_error = paired_difference(baseline_losses, losses[best])
    told = (
        f"the best error, {guessing.told(error)} ({rows[best]['model']}), beside "
        f"{guessing.told(baseline)} ({guessing.baseline})"
    )
    if gain > SURE * gain_error and gain > 0.0:
        worse = sorted({row["model"] for row in rows if row["error"] >= baseline})
        return f"{told}{'; not better: ' + ', '.join(worse) if worse else ''}."
    return Found(
        f"{told}: no method is better than guessing by more than chance.",
        "Do not read meaning into which method is best, or into what was kept.",
    )
