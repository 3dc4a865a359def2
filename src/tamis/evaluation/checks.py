"""Checks for common pitfalls, each with a fixed code, a severity, a message and advice.

A check is a function of the evidence. It returns an `Issue`, a message why there is none, or
`NotChecked` with the reason.
"""

import math
from collections.abc import Callable, Collection
from typing import NamedTuple

import numpy as np

from tamis.evaluation.columns import (
    MAX_LISTED,
    column_moments,
    count_equal_rows,
    mean_shifts,
    residual_z_scores,
    single_column_score,
)
from tamis.evaluation.evaluation import EvaluationData
from tamis.evaluation.summary import evaluate

SERIOUS, WARNING, NOTE = "serious", "warning", "note"
PASSED, FOUND, UNKNOWN, SILENCED = "passed", "found", "not checked", "silenced"
MIN_CLASS_FRACTION = 0.05  # of the rows; a class below it is rare
MIN_CLASS_ROWS = 20  # a class with fewer rows can hardly be learnt
MIN_SELECTION_FREQUENCY = 0.5  # of the runs; a selected feature below it is doubtful
MAX_DUPLICATE_FRACTION = 0.01  # fraction of duplicate rows above which folds are not independent
MAX_DEVIATION_RATIO = 1e3  # largest standard deviation of a column, over the median
MIN_DENSITY_RATIO = 1.5  # of selected over all columns; below it ranks by density mean nothing
MAX_DENSITY_RANK = 0.97  # mean density rank of selected features at which a bias is suspected
MAX_MISSED_RATIO = 0.25  # informative rare columns per selected one, above which it is a bias
MAX_SINGLE_COLUMN_SCORE = 0.995  # AUC or correlation of one column at which it looks like a leak
MAX_LEAK_COLUMNS = 30  # selected columns that are checked for a leak
MIN_SHIFT, MIN_SHIFT_Z = 0.25, 5.0  # of a mean, in deviations and in standard errors


class Check(NamedTuple):
    """Result of a check: state is "passed", "found", "not checked" or "silenced"."""

    code: str
    title: str
    severity: str
    state: str
    said: str
    advice: str

    @property
    def page(self) -> str:
        """Page that explains the pitfall."""
        return f"checks.html#{self.code.lower()}"


class Issue(NamedTuple):
    """A pitfall that was found, with advice."""

    said: str
    advice: str


class NotChecked(NamedTuple):
    """Reason why a check does not apply."""

    said: str


Finding = Issue | NotChecked | str


# --------------------------------------------------------------------------- the model
def better_than_baseline(evidence: EvaluationData) -> Finding:
    """Check whether the model is better than the baseline."""
    evaluation = evaluate(evidence)
    if evaluation.better is None:
        return NotChecked("no rows were given, and the model does not know its error.")
    if evaluation.better:
        return evaluation.gain_sentence()
    return Issue(
        evaluation.gain_sentence(),
        "Do not read meaning into the kept features. Look for more rows, other columns, or a leak "
        "that was closed on purpose.",
    )


def rare_class(evidence: EvaluationData) -> Finding:
    """Check for a class so rare that the error says little about it."""
    counts = _class_counts(evidence)
    if isinstance(counts, NotChecked):
        return counts
    y = evidence.y if evidence.y is not None else evidence.y_train
    is_multilabel = np.ndim(y) > 1  # a row may have several labels, or none
    fraction = min(counts.values()) / (len(y) if is_multilabel else sum(counts.values()))
    rarest = min(counts, key=lambda key: counts[key])
    kind = "label" if is_multilabel else "class"
    if fraction >= MIN_CLASS_FRACTION:
        return f"the rarest {kind}, {rarest!r}, has {fraction:.0%} of the rows."
    return Issue(
        f"{kind} {rarest!r} has {fraction:.1%} of the rows, so a small error says little about it.",
        "Look at precision and recall label by label; choose a threshold for it on held-out rows."
        if is_multilabel
        else "Look at the confusion matrix and the precision-recall curve; try "
        "class_weight='balanced'.",
    )


def few_rows(evidence: EvaluationData) -> Finding:
    """Check whether every class has enough rows."""
    counts = _class_counts(evidence, from_training=True)
    if isinstance(counts, NotChecked):
        return counts
    rare = {key: count for key, count in counts.items() if count < MIN_CLASS_ROWS}
    if not rare:
        kind = "label" if np.ndim(evidence.y) > 1 else "class"
        return f"every {kind} has at least {min(counts.values()):,} rows."
    listed = _join_names([f"{key!r} ({count})" for key, count in rare.items()])
    return Issue(
        f"too few rows to learn or judge by: {listed}.",
        f"Gather at least {MIN_CLASS_ROWS} rows a class, merge classes, or leave them out.",
    )


def size_at_limit(evidence: EvaluationData) -> Finding:
    """Check whether the chosen model size is the largest that was tried."""
    model = evidence.model
    size_paths, params = getattr(model, "sizes_", None), getattr(model, "resolved_params_", None)
    if not isinstance(size_paths, dict | list) or params is None:
        return NotChecked("the method does not choose among sizes.")
    pairs = (
        [(size_paths, params)]
        if isinstance(size_paths, dict)
        else list(zip(size_paths, params, strict=True))
    )
    if not any(int(chosen["n_features"]) for _, chosen in pairs):
        return NotChecked("no size was chosen.")
    at_edge = [
        int(chosen["n_features"])
        for size_path, chosen in pairs
        if math.isfinite(float(chosen["threshold"]))
        and len(size_path["size"]) > 1
        and 0 < int(chosen["n_features"]) == int(np.max(size_path["size"])) < evidence.width
    ]
    if not at_edge:
        return "the chosen size lies inside the sizes that were tried."
    return Issue(
        f"the chosen size, {at_edge[0]:,}, is the largest that was tried: more features might do "
        "better.",
        "Ask for more with n_features_to_select, or look at the curve of errors by size.",
    )


def rarely_selected(evidence: EvaluationData) -> Finding:
    """Check for selected features that few runs inside the method select."""
    frequencies = getattr(evidence.model, "selection_probability_", None)
    if frequencies is None or not np.any(frequencies) or evidence.kept is None:
        return NotChecked("the method does not say how often a feature was selected.")
    frequencies = np.atleast_2d(frequencies).max(axis=0)
    rare = [j for j in evidence.ranked if frequencies[j] < MIN_SELECTION_FREQUENCY]
    if not rare:
        return (
            f"every kept feature was selected in at least {MIN_SELECTION_FREQUENCY:.0%} of the "
            "runs."
        )
    listed = _join_names([f"{evidence.name(j)} ({frequencies[j]:.2f})" for j in rare])
    return Issue(
        f"{len(rare):,} of {len(evidence.kept):,} kept features were selected in less than "
        f"half of the runs: {listed}.",
        "They may serve prediction; do not report them as found. More rows, or fewer features, "
        "make the selection surer.",
    )


# --------------------------------------------------------------------------- columns
def correlated_columns(evidence: EvaluationData) -> Finding:
    """Check for columns that are highly correlated with selected ones."""
    if not evidence.has_groups and (evidence.rows is None or evidence.moments is None):
        return NotChecked("no rows were given, or they have too many columns.")
    if evidence.kept is None:
        return NotChecked("the model does not say what it kept.")
    substitutes = evidence.substitutes
    if not substitutes:
        return "no kept feature has a near copy among the columns."
    listed = _join_names(
        [
            f"{evidence.name(column)} ({_join_names([evidence.name(j) for j, _ in others])})"
            for column, others in substitutes.items()
        ]
    )
    return Issue(
        f"{len(substitutes):,} kept features have columns that could stand for them (correlation "
        f".95 or more): {listed}.",
        "Which of the twins is kept is chance: report them together, or leave one out before "
        "fitting.",
    )


def density_bias(evidence: EvaluationData) -> Finding:
    """Check for a bias to dense columns: no rarer column that explains residuals is selected."""
    if evidence.moments is None or evidence.kept is None or evidence.y is None:
        return NotChecked("no rows to judge by, or the model does not say what it kept.")
    _, deviations, densities = evidence.moments
    nonempty = np.flatnonzero(densities > 0.0)
    selected = np.intersect1d(evidence.kept, nonempty)
    if len(selected) < 5 or len(nonempty) < 4 * len(selected) or np.ptp(densities[nonempty]) == 0.0:
        return NotChecked("too few features to tell.")
    if densities[selected].mean() < MIN_DENSITY_RATIO * np.median(densities[nonempty]):
        return "kept features are filled about as often as the others."
    ranks = np.searchsorted(np.sort(densities[nonempty]), densities[selected], side="right") / len(
        nonempty
    )
    position = f"at {ranks.mean():.0%} of the columns by density, on average"
    if ranks.mean() < MAX_DENSITY_RANK:
        return f"kept features lie {position}."
    # Dense columns may be the informative ones: only correlations with the residuals show a bias.
    nonzero_counts = densities * evidence.rows.shape[0]
    z_scores = residual_z_scores(evidence.rows, deviations, nonzero_counts, evidence.residuals)
    is_rare = densities < np.quantile(densities[selected], 0.1)
    is_rare[evidence.kept] = False
    missed = np.flatnonzero(
        is_rare & (z_scores > math.sqrt(2.0 * math.log(2.0 * len(nonempty))) + 2.0)
    )
    if len(missed) <= MAX_MISSED_RATIO * len(selected):
        n_missed = f"{len(missed):,}" if len(missed) else "no"
        return f"kept features lie {position}, and {n_missed} rarer ones tell what they leave open."
    missed = missed[np.argsort(-z_scores[missed], kind="stable")]
    return Issue(
        f"kept features are among the most often filled columns ({position}), while "
        f"{len(missed):,} rarer ones tell what they leave open: "
        f"{_join_names([evidence.name(j) for j in missed])}.",
        "A rare column needs more rows to be found; a stabilized method or scaled columns lessen "
        "the preference.",
    )


def column_scales(evidence: EvaluationData) -> Finding:
    """Check for columns on a much larger scale than the others."""
    if evidence.moments is None:
        return NotChecked("no rows were given, or they have too many columns.")
    if type(evidence.model).__name__.startswith("Sieve"):
        return "the method measures columns in units of their own."
    deviations = evidence.moments[1]
    varying = np.flatnonzero(deviations > 0.0)
    if not len(varying):
        return NotChecked("no column varies.")
    typical = float(np.median(deviations[varying]))
    large = varying[deviations[varying] > MAX_DEVIATION_RATIO * typical]
    if not len(large):
        return "the spreads of the columns are of one order."
    large = large[np.argsort(-deviations[large], kind="stable")]
    listed = _join_names([f"{evidence.name(j)} ({deviations[j]:.3g})" for j in large])
    return Issue(
        f"{len(large):,} columns have a spread over {MAX_DEVIATION_RATIO:,.0f} times the usual "
        f"{typical:.3g}: {listed}. This method depends on units.",
        "Scale the columns (tamis.Table does, or sklearn.preprocessing.MaxAbsScaler), or use the "
        "sieve, which measures them in units of their own.",
    )


def identifiers(evidence: EvaluationData) -> Finding:
    """Check for selected columns that only number the rows."""
    if evidence.rows is None or evidence.kept is None or evidence.rows.shape[0] < MIN_CLASS_ROWS:
        return NotChecked("too few rows were given, or the model does not say what it kept.")
    columns, identifier_names = evidence.rows.tocsc(), []
    for j in evidence.ranked[:1000]:
        values = columns[:, [j]].toarray().ravel()
        is_integer = bool((values == np.floor(values)).all())
        if is_integer and len(np.unique(values)) == len(values):
            identifier_names.append(evidence.name(j))
    if not identifier_names:
        return "no kept feature has another whole number in every row."
    return Issue(
        f"kept features that look like identifiers: {_join_names(identifier_names)}.",
        "A number that is different in every row cannot help with new rows. Leave the column out.",
    )


def leak(evidence: EvaluationData) -> Finding:
    """Check for a single column that predicts the target almost perfectly."""
    if evidence.rows is None or evidence.kept is None or not len(evidence.kept):
        return NotChecked("no rows were given, or nothing was kept.")
    y = evidence.sampled_targets
    if y is None or y.ndim > 1 or len(np.unique(y)) < 2 or len(y) < MIN_CLASS_ROWS:
        return NotChecked("too few rows, or several targets a row.")
    columns, leaks = evidence.rows.tocsc(), []
    for j in evidence.ranked[:MAX_LEAK_COLUMNS]:
        score = single_column_score(columns[:, [j]].toarray().ravel(), y, evidence.classes)
        if score >= MAX_SINGLE_COLUMN_SCORE:
            leaks.append(f"{evidence.name(j)} ({score:.3f})")
    if not leaks:
        return "no single feature tells the target almost perfectly."
    return Issue(
        f"one feature alone tells the target almost perfectly: {_join_names(leaks)}.",
        "Ask whether it is known at the time of prediction. If it is made from the target, leave "
        "it out.",
    )


# --------------------------------------------------------------------------- rows
def duplicate_rows(evidence: EvaluationData) -> Finding:
    """Check for duplicate rows."""
    rows = evidence.rows if evidence.train_rows is None else evidence.train_rows
    if rows is None:
        return NotChecked("no rows were given, or they have too many columns.")
    count = count_equal_rows(rows)
    fraction = count / max(rows.shape[0], 1)
    if fraction <= MAX_DUPLICATE_FRACTION:
        return f"{count:,} of {rows.shape[0]:,} rows are equal to an earlier one."
    return Issue(
        f"{count:,} of {rows.shape[0]:,} rows ({fraction:.0%}) are equal to an earlier one: folds "
        "hold copies of each other, and errors look smaller than they are.",
        "Remove copies, or keep those of one origin in one fold (GroupKFold).",
    )


def shifted_columns(evidence: EvaluationData) -> Finding:
    """Check for selected columns with another mean in training than in test rows."""
    if evidence.y is None:
        return NotChecked("no rows were given but those learnt from.")
    if evidence.train_rows is None or evidence.rows is None or evidence.moments is None:
        return NotChecked("the rows learnt from were not given (X_train).")
    train_moments = column_moments(evidence.train_rows)
    row_counts = evidence.rows.shape[0], evidence.train_rows.shape[0]
    shifts, z_scores = mean_shifts(evidence.moments[:2], train_moments[:2], row_counts)
    selected = evidence.ranked if evidence.kept is not None else np.arange(evidence.width)
    shifted = [j for j in selected if shifts[j] > MIN_SHIFT and z_scores[j] > MIN_SHIFT_Z]
    if not shifted:
        return "kept columns have the same means where the model learnt and where it is judged."
    listed = _join_names([f"{evidence.name(j)} ({shifts[j]:.2f} spreads)" for j in shifted])
    return Issue(
        f"{len(shifted):,} kept columns have other means than where the model learnt: {listed}.",
        "The rows are not of one population: learn on newer rows, or leave these columns out.",
    )


# --------------------------------------------------------------------------- run checks
CHECKS: dict[str, tuple[str, str, Callable[[EvaluationData], Finding]]] = {
    "TAM001": ("Better than guessing", SERIOUS, better_than_baseline),
    "TAM002": ("Rare class", WARNING, rare_class),
    "TAM003": ("Size at the edge", NOTE, size_at_limit),
    "TAM004": ("Seldom selected", WARNING, rarely_selected),
    "TAM005": ("Twins among the kept", WARNING, correlated_columns),
    "TAM006": ("Density bias", NOTE, density_bias),
    "TAM007": ("Units of columns", WARNING, column_scales),
    "TAM008": ("Identifiers", WARNING, identifiers),
    "TAM009": ("Equal rows", WARNING, duplicate_rows),
    "TAM010": ("Leak", SERIOUS, leak),
    "TAM011": ("Shift of columns", WARNING, shifted_columns),
    "TAM012": ("Too few rows", WARNING, few_rows),
}


def run_checks(evidence: EvaluationData, silence: Collection[str] = ()) -> list[Check]:
    """Run all checks and return them in the order of their codes."""
    validate_codes(silence)
    return [
        run_check(code, check_function, evidence, silence)
        for code, (_, _, check_function) in CHECKS.items()
    ]


def validate_codes(silence: Collection[str]) -> None:
    """Raise an error for codes that no check has."""
    unknown = sorted(set(silence) - set(CHECKS))
    if unknown:
        raise ValueError(
            f"silence: no check has the code {unknown[0]!r}; the codes are {', '.join(CHECKS)}."
        )


def run_check(
    code: str,
    check_function: Callable[[EvaluationData], Finding],
    evidence: EvaluationData,
    silence: Collection[str],
) -> Check:
    """Run the check of a code by its function; a silenced check does not run."""
    title, severity, _ = CHECKS[code]
    if code in silence:
        return Check(code, title, severity, SILENCED, "", "")
    finding = check_function(evidence)
    if isinstance(finding, Issue):
        return Check(code, title, severity, FOUND, *finding)
    state = UNKNOWN if isinstance(finding, NotChecked) else PASSED
    said = finding.said if isinstance(finding, NotChecked) else finding
    return Check(code, title, severity, state, said, "")


def _class_counts(evidence: EvaluationData, from_training: bool = False) -> dict | NotChecked:
    """Return the number of rows of each class or label."""
    y = evidence.y_train if from_training and evidence.y_train is not None else evidence.y
    y = evidence.y_train if y is None else y
    if y is None or not evidence.classes:
        return NotChecked("the targets are not classes, or no rows were given.")
    y = np.asarray(y)
    if y.ndim > 1:
        return {k: int(count) for k, count in enumerate((y != 0).sum(axis=0))}
    values, counts = np.unique(y, return_counts=True)
    return dict(zip(values.tolist(), counts.tolist(), strict=True))


def _join_names(names: list[str]) -> str:
    """Join the first names, with the number of the others."""
    more = len(names) - MAX_LISTED
    return ", ".join(names[:MAX_LISTED]) + (f" and {more:,} more" if more > 0 else "")
