"""Checks of a comparison that depend on data and protocol alone, once for all models."""

from collections.abc import Collection
from typing import Any

import numpy as np
from sklearn.dummy import DummyClassifier, DummyRegressor

from tamis.base.scores import paired_difference
from tamis.evaluation.checks import (
    MAX_LEAK_COLUMNS,
    Check,
    Finding,
    Issue,
    column_scales,
    duplicate_rows,
    few_rows,
    leak,
    rare_class,
    run_check,
    validate_codes,
)
from tamis.evaluation.columns import residual_z_scores
from tamis.evaluation.evaluation import EvaluationData
from tamis.evaluation.summary import MIN_GAIN_Z, Evaluation, evaluate


def run_comparison_checks(
    split: Any,
    models: dict[str, Any],
    rows: list[dict],
    losses: list[np.ndarray],
    classes: bool,
    names: Any = None,
    silence: Collection[str] = (),
) -> list[Check]:
    """Run the checks of a comparison.

    `rows` are those of the record, `losses` the mean losses of each of them on every test row.
    """
    validate_codes(silence)
    baseline = DummyClassifier() if classes else DummyRegressor()
    baseline.fit(np.zeros((len(split.y), 1)), split.y).n_features_in_ = split.X.shape[1]
    evidence = EvaluationData(baseline, split.X_test, split.y_test, names, split.X, split.y)
    evidence.ranked = evidence.kept = _most_correlated(evidence)
    scale_dependent = [name for name, model in models.items() if _depends_on_scale(model)]
    checks = {
        "TAM001": lambda evidence: _best_model(evaluate(evidence), evidence.losses, rows, losses),
        "TAM002": rare_class,
        "TAM007": lambda evidence: _column_scales(evidence, scale_dependent),
        "TAM009": duplicate_rows,
        "TAM010": leak,
        "TAM012": few_rows,
    }
    return [
        run_check(code, check_function, evidence, silence)
        for code, check_function in checks.items()
    ]


def _most_correlated(evidence: EvaluationData) -> np.ndarray:
    """Return the columns with the largest correlation with the targets, strongest first."""
    if evidence.rows is None or evidence.moments is None:
        return np.zeros(0, int)
    _, deviations, densities = evidence.moments
    z_scores = residual_z_scores(
        evidence.rows, deviations, densities * evidence.rows.shape[0], evidence.baseline_residuals
    )
    strongest = np.argsort(-z_scores, kind="stable")[:MAX_LEAK_COLUMNS]
    return strongest[z_scores[strongest] > 0.0]


def _depends_on_scale(model: Any) -> bool:
    """Return whether a model depends on the scale of columns; a pipeline may scale them."""
    return not hasattr(model, "steps") and not type(model).__name__.startswith("Sieve")


def _column_scales(evidence: EvaluationData, names: list[str]) -> Finding:
    if not names:
        return "the methods measure columns in units of their own."
    issue = column_scales(evidence)
    if not isinstance(issue, Issue):
        return issue
    replacement = f"This comparison has methods that depend on units: {', '.join(names)}"
    return Issue(issue.said.replace("This method depends on units", replacement), issue.advice)


def _best_model(
    baseline_evaluation: Evaluation,
    baseline_losses: np.ndarray,
    rows: list[dict],
    losses: list[np.ndarray],
) -> Finding:
    """Check whether the best model is better than the baseline, by paired losses of test rows."""
    best = int(np.argmin([row["error"] for row in rows]))
    error, baseline = rows[best]["error"], baseline_evaluation.error
    gain, gain_error = paired_difference(baseline_losses, losses[best])
    summary = (
        f"the best error, {baseline_evaluation.format_error(error)} ({rows[best]['model']}), "
        f"beside {baseline_evaluation.format_error(baseline)} ({baseline_evaluation.baseline})"
    )
    if gain > MIN_GAIN_Z * gain_error and gain > 0.0:
        not_better = sorted({row["model"] for row in rows if row["error"] >= baseline})
        return f"{summary}{'; not better: ' + ', '.join(not_better) if not_better else ''}."
    return Issue(
        f"{summary}: no method is better than guessing by more than chance.",
        "Do not read meaning into which method is best, or into what was kept.",
    )
