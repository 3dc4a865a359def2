"""Checks for the usual pitfalls, each with a code that does not change, a severity, a sentence and
advice; those that passed are told too.

A check is a function of the evidence that returns a finding, words about why all is well, or
`Unknown` with the reason why it could not look.
"""

import math
from collections.abc import Callable, Collection
from typing import NamedTuple

import numpy as np

from tamis.evaluation.columns import SHOWN, equal_rows, left_over, moments_of, shifts, told_alone
from tamis.evaluation.evaluation import Evidence
from tamis.evaluation.summary import evaluate

SERIOUS, WARNING, NOTE = "serious", "warning", "note"
PASSED, FOUND, UNKNOWN, SILENCED = "passed", "found", "not checked", "silenced"
RARE, FEW = 0.05, 20  # share and rows of a class below which it is rare, or hardly learnable
SELDOM = 0.5  # of the runs, below which a kept feature is doubtful
COPIES = 0.01  # share of equal rows that folds no longer separate
UNITS = 1e3  # how much larger than the usual spread one may be
DENSER = 1.5  # times the usual density, below which ranks by density mean nothing
DENSE = 0.97  # mean rank of the kept features by density, from which on it looks like a preference
MISSED = 0.25  # rarer columns that tell more, a kept one, from which on it is a preference
TELLS_ALL = 0.995  # area or correlation of one column that looks like the answer itself
LEAKS_LOOKED_AT = 30
MOVED, SURE = 0.25, 5.0  # spreads, and standard errors, by which a mean has moved


class Check(NamedTuple):
    """What a check found: state is "passed", "found", "not checked" or "silenced"."""

    code: str
    title: str
    severity: str
    state: str
    said: str
    advice: str

    @property
    def page(self) -> str:
        """Where the pitfall is explained."""
        return f"checks.html#{self.code.lower()}"


class Found(NamedTuple):
    """Something to say and what to do about it."""

    said: str
    advice: str


class Unknown(NamedTuple):
    """Why a check could not look."""

    said: str


Finding = Found | Unknown | str


# --------------------------------------------------------------------------- the model's worth
def no_better(evidence: Evidence) -> Finding:
    """Whether the model beats guessing."""
    evaluation = evaluate(evidence)
    if evaluation.better is None:
        return Unknown("no rows were given, and the model does not know its error.")
    if evaluation.better:
        return evaluation.judgement()
    return Found(
        evaluation.judgement(),
        "Do not read meaning into the kept features. Look for more rows, other columns, or a leak "
        "that was closed on purpose.",
    )


def rare_class(evidence: Evidence) -> Finding:
    """Whether a class is so rare that the error hides it."""
    counts = _counts(evidence)
    if isinstance(counts, Unknown):
        return counts
    y = evidence.y if evidence.y is not None else evidence.y_train
    labels = np.ndim(y) > 1  # a row may have several of them, or none
    share = min(counts.values()) / (len(y) if labels else sum(counts.values()))
    rarest = min(counts, key=lambda one: counts[one])
    kind = "label" if labels else "class"
    if share >= RARE:
        return f"the rarest {kind}, {rarest!r}, has {share:.0%} of the rows."
    return Found(
        f"{kind} {rarest!r} has {share:.1%} of the rows, so a small error says little about it.",
        "Look at precision and recall label by label; choose a threshold for it on held-out rows."
        if labels
        else "Look at the confusion matrix and the precision-recall curve; try "
        "class_weight='balanced'.",
    )


def few_rows(evidence: Evidence) -> Finding:
    """Whether every class has rows enough to learn from."""
    counts = _counts(evidence, learnt=True)
    if isinstance(counts, Unknown):
        return counts
    few = {one: count for one, count in counts.items() if count < FEW}
    if not few:
        kind = "label" if np.ndim(evidence.y) > 1 else "class"
        return f"every {kind} has at least {min(counts.values()):,} rows."
    listed = _listed([f"{one!r} ({count})" for one, count in few.items()])
    return Found(
        f"too few rows to learn or judge by: {listed}.",
        f"Gather at least {FEW} rows a class, merge classes, or leave them out.",
    )


def ladder_edge(evidence: Evidence) -> Finding:
    """Whether the chosen size is the largest that was tried."""
    model = evidence.model
    ladders, chosen = getattr(model, "sizes_", None), getattr(model, "resolved_params_", None)
    if not isinstance(ladders, dict | list) or chosen is None:
        return Unknown("the method does not choose among sizes.")
    pairs = (
        [(ladders, chosen)]
        if isinstance(ladders, dict)
        else list(zip(ladders, chosen, strict=True))
    )
    if not any(int(params["n_features"]) for _, params in pairs):
        return Unknown("no size was chosen.")
    at_edge = [
        int(params["n_features"])
        for ladder, params in pairs
        if math.isfinite(float(params["threshold"]))
        and len(ladder["size"]) > 1
        and 0 < int(params["n_features"]) == int(np.max(ladder["size"])) < evidence.width
    ]
    if not at_edge:
        return "the chosen size lies inside the sizes that were tried."
    return Found(
        f"the chosen size, {at_edge[0]:,}, is the largest that was tried: more features might do "
        "better.",
        "Ask for more with n_features_to_select, or look at the curve of errors by size.",
    )


def seldom_selected(evidence: Evidence) -> Finding:
    """Whether kept features were selected in most runs inside the method."""
    chances = getattr(evidence.model, "selection_probability_", None)
    if chances is None or not np.any(chances) or evidence.kept is None:
        return Unknown("the method does not say how often a feature was selected.")
    chances = np.atleast_2d(chances).max(axis=0)
    doubtful = [j for j in evidence.ranked if chances[j] < SELDOM]
    if not doubtful:
        return f"every kept feature was selected in at least {SELDOM:.0%} of the runs."
    listed = _listed([f"{evidence.name(j)} ({chances[j]:.2f})" for j in doubtful])
    return Found(
        f"{len(doubtful):,} of {len(evidence.kept):,} kept features were selected in less than "
        f"half of the runs: {listed}.",
        "They may serve prediction; do not report them as found. More rows, or fewer features, "
        "make the selection surer.",
    )


# --------------------------------------------------------------------------- columns
def twins(evidence: Evidence) -> Finding:
    """Whether other columns could stand for kept ones."""
    if not evidence.grouped and (evidence.rows is None or evidence.moments is None):
        return Unknown("no rows were given, or they have too many columns.")
    if evidence.kept is None:
        return Unknown("the model does not say what it kept.")
    found = evidence.substitutes
    if not found:
        return "no kept feature has a near copy among the columns."
    listed = _listed(
        [
            f"{evidence.name(column)} ({_listed([evidence.name(j) for j, _ in others])})"
            for column, others in found.items()
        ]
    )
    return Found(
        f"{len(found):,} kept features have columns that could stand for them (correlation .95 or "
        f"more): {listed}.",
        "Which of the twins is kept is chance: report them together, or leave one out before "
        "fitting.",
    )


def density_bias(evidence: Evidence) -> Finding:
    """Whether only the most often filled columns were kept, and rarer ones passed over that tell
    more about the target.
    """
    if evidence.moments is None or evidence.kept is None or evidence.y is None:
        return Unknown("no rows to judge by, or the model does not say what it kept.")
    _, spreads, shares = evidence.moments
    met = np.flatnonzero(shares > 0.0)
    kept = np.intersect1d(evidence.kept, met)
    if len(kept) < 5 or len(met) < 4 * len(kept) or np.ptp(shares[met]) == 0.0:
        return Unknown("too few features to tell.")
    if shares[kept].mean() < DENSER * np.median(shares[met]):
        return "kept features are filled about as often as the others."
    ranks = np.searchsorted(np.sort(shares[met]), shares[kept], side="right") / len(met)
    said = f"at {ranks.mean():.0%} of the columns by density, on average"
    if ranks.mean() < DENSE:
        return f"kept features lie {said}."
    # Common words may be the telling ones: only what is left unexplained shows a preference.
    counts = shares * evidence.rows.shape[0]
    apart = left_over(evidence.rows, spreads, counts, evidence.rests)
    rare = shares < np.quantile(shares[kept], 0.1)
    rare[evidence.kept] = False
    missed = np.flatnonzero(rare & (apart > math.sqrt(2.0 * math.log(2.0 * len(met))) + 2.0))
    if len(missed) <= MISSED * len(kept):
        few = f"{len(missed):,}" if len(missed) else "no"
        return f"kept features lie {said}, and {few} rarer ones tell what they leave open."
    missed = missed[np.argsort(-apart[missed], kind="stable")]
    return Found(
        f"kept features are among the most often filled columns ({said}), while "
        f"{len(missed):,} rarer ones tell what they leave open: "
        f"{_listed([evidence.name(j) for j in missed])}.",
        "A rare column needs more rows to be found; a stabilized method or scaled columns lessen "
        "the preference.",
    )


def units(evidence: Evidence) -> Finding:
    """Whether columns are measured in units of one order."""
    if evidence.moments is None:
        return Unknown("no rows were given, or they have too many columns.")
    if type(evidence.model).__name__.startswith("Sieve"):
        return "the method measures columns in units of their own."
    spreads = evidence.moments[1]
    vary = np.flatnonzero(spreads > 0.0)
    if not len(vary):
        return Unknown("no column varies.")
    usual = float(np.median(spreads[vary]))
    wide = vary[spreads[vary] > UNITS * usual]
    if not len(wide):
        return "the spreads of the columns are of one order."
    wide = wide[np.argsort(-spreads[wide], kind="stable")]
    listed = _listed([f"{evidence.name(j)} ({spreads[j]:.3g})" for j in wide])
    return Found(
        f"{len(wide):,} columns have a spread over {UNITS:,.0f} times the usual {usual:.3g}: "
        f"{listed}. This method depends on units.",
        "Scale the columns (tamis.Table does, or sklearn.preprocessing.MaxAbsScaler), or use the "
        "sieve, which measures them in units of their own.",
    )


def identifiers(evidence: Evidence) -> Finding:
    """Whether a kept column only numbers the rows."""
    if evidence.rows is None or evidence.kept is None or evidence.rows.shape[0] < FEW:
        return Unknown("too few rows were given, or the model does not say what it kept.")
    columns, found = evidence.rows.tocsc(), []
    for j in evidence.ranked[:1000]:
        values = columns[:, [j]].toarray().ravel()
        whole = bool((values == np.floor(values)).all())
        if whole and len(np.unique(values)) == len(values):
            found.append(evidence.name(j))
    if not found:
        return "no kept feature has another whole number in every row."
    return Found(
        f"kept features that look like identifiers: {_listed(found)}.",
        "A number that is different in every row cannot help with new rows. Leave the column out.",
    )


def leak(evidence: Evidence) -> Finding:
    """Whether one column alone tells the target."""
    if evidence.rows is None or evidence.kept is None or not len(evidence.kept):
        return Unknown("no rows were given, or nothing was kept.")
    y = evidence.drawn_targets
    if y is None or y.ndim > 1 or len(np.unique(y)) < 2 or len(y) < FEW:
        return Unknown("too few rows, or several targets a row.")
    columns, found = evidence.rows.tocsc(), []
    for j in evidence.ranked[:LEAKS_LOOKED_AT]:
        share = told_alone(columns[:, [j]].toarray().ravel(), y, evidence.classes)
        if share >= TELLS_ALL:
            found.append(f"{evidence.name(j)} ({share:.3f})")
    if not found:
        return "no single feature tells the target almost perfectly."
    return Found(
        f"one feature alone tells the target almost perfectly: {_listed(found)}.",
        "Ask whether it is known at the time of prediction. If it is made from the target, leave "
        "it out.",
    )


# --------------------------------------------------------------------------- rows
def copies(evidence: Evidence) -> Finding:
    """Whether rows come more than once."""
    rows = evidence.rows if evidence.train_rows is None else evidence.train_rows
    if rows is None:
        return Unknown("no rows were given, or they have too many columns.")
    count = equal_rows(rows)
    share = count / max(rows.shape[0], 1)
    if share <= COPIES:
        return f"{count:,} of {rows.shape[0]:,} rows are equal to an earlier one."
    return Found(
        f"{count:,} of {rows.shape[0]:,} rows ({share:.0%}) are equal to an earlier one: folds "
        "hold copies of each other, and errors look smaller than they are.",
        "Remove copies, or keep those of one origin in one fold (GroupKFold).",
    )


def shifted(evidence: Evidence) -> Finding:
    """Whether kept columns moved between learning and judging."""
    if evidence.y is None:
        return Unknown("no rows were given but those learnt from.")
    if evidence.train_rows is None or evidence.rows is None or evidence.moments is None:
        return Unknown("the rows learnt from were not given (X_train).")
    there = moments_of(evidence.train_rows)
    rows = evidence.rows.shape[0], evidence.train_rows.shape[0]
    apart, sure = shifts(evidence.moments[:2], there[:2], rows)
    kept = evidence.ranked if evidence.kept is not None else np.arange(evidence.width)
    moved = [j for j in kept if apart[j] > MOVED and sure[j] > SURE]
    if not moved:
        return "kept columns have the same means where the model learnt and where it is judged."
    listed = _listed([f"{evidence.name(j)} ({apart[j]:.2f} spreads)" for j in moved])
    return Found(
        f"{len(moved):,} kept columns have other means than where the model learnt: {listed}.",
        "The rows are not of one population: learn on newer rows, or leave these columns out.",
    )


# --------------------------------------------------------------------------- all of them
CHECKS: dict[str, tuple[str, str, Callable[[Evidence], Finding]]] = {
    "TAM001": ("Better than guessing", SERIOUS, no_better),
    "TAM002": ("Rare class", WARNING, rare_class),
    "TAM003": ("Size at the edge", NOTE, ladder_edge),
    "TAM004": ("Seldom selected", WARNING, seldom_selected),
    "TAM005": ("Twins among the kept", WARNING, twins),
    "TAM006": ("Density bias", NOTE, density_bias),
    "TAM007": ("Units of columns", WARNING, units),
    "TAM008": ("Identifiers", WARNING, identifiers),
    "TAM009": ("Equal rows", WARNING, copies),
    "TAM010": ("Leak", SERIOUS, leak),
    "TAM011": ("Shift of columns", WARNING, shifted),
    "TAM012": ("Too few rows", WARNING, few_rows),
}


def run_checks(evidence: Evidence, silence: Collection[str] = ()) -> list[Check]:
    """All checks in the order of their codes."""
    refuse_unknown(silence)
    return [check_by(code, look, evidence, silence) for code, (_, _, look) in CHECKS.items()]


def refuse_unknown(silence: Collection[str]) -> None:
    """Refuse codes that no check has."""
    unknown = sorted(set(silence) - set(CHECKS))
    if unknown:
        raise ValueError(
            f"silence: no check has the code {unknown[0]!r}; the codes are {', '.join(CHECKS)}."
        )


def check_by(
    code: str, look: Callable[[Evidence], Finding], evidence: Evidence, silence: Collection[str]
) -> Check:
    """The check of a code, by a function that looks."""
    title, severity, _ = CHECKS[code]
    if code in silence:
        return Check(code, title, severity, SILENCED, "", "")
    finding = look(evidence)
    if isinstance(finding, Found):
        return Check(code, title, severity, FOUND, *finding)
    state = UNKNOWN if isinstance(finding, Unknown) else PASSED
    said = finding.said if isinstance(finding, Unknown) else finding
    return Check(code, title, severity, state, said, "")


def _counts(evidence: Evidence, learnt: bool = False) -> dict | Unknown:
    """Rows of each class."""
    y = evidence.y_train if learnt and evidence.y_train is not None else evidence.y
    y = evidence.y_train if y is None else y
    if y is None or not evidence.classes:
        return Unknown("the targets are not classes, or no rows were given.")
    y = np.asarray(y)
    if y.ndim > 1:
        return {k: int(count) for k, count in enumerate((y != 0).sum(axis=0))}
    values, counts = np.unique(y, return_counts=True)
    return dict(zip(values.tolist(), counts.tolist(), strict=True))


def _listed(names: list[str]) -> str:
    """The first few, and how many more."""
    more = len(names) - SHOWN
    return ", ".join(names[:SHOWN]) + (f" and {more:,} more" if more > 0 else "")
