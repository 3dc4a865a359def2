"""Sections of a page about judged rows: the verdict, checks, figures, and rows explained."""

import warnings

import numpy as np

from tamis.evaluation.checks import FOUND, PASSED, SERIOUS, Check
from tamis.evaluation.evaluation import Evidence
from tamis.evaluation.summary import Evaluation, claimed_sentence, kept_sentence
from tamis.reporting.evaluation.figures import figures_of
from tamis.reporting.page.formatting import fixed, name_span, percent, safe, whole
from tamis.reporting.page.held_out_error import held_out_error
from tamis.reporting.page.page_body import Sheet
from tamis.reporting.page.plot_data import output_names

MARKS = {PASSED: "✓", FOUND: "!"}
TERMS = 6  # contributions of a row that are told
LABELS = 50  # that a page tells apart


def sentences_of(evidence: Evidence, evaluation: Evaluation) -> list[str]:
    """The verdict: error and baseline, better or not, what was kept, what fewer would cost."""
    stated = held_out_error(evidence.model)
    headline, said = evaluation.headline(), []
    if stated is not None and evaluation.rows is None:
        headline = (
            f"{_capital(stated.measure)} on rows held out inside the method: {stated.stated()}."
        )
    if stated is not None and stated.is_empty():
        nothing = stated.nothing()
        said.append(f"{nothing[0].upper()}{nothing[1:]}.")
    said += [headline, evaluation.judgement(), kept_sentence(evidence), claimed_sentence(evidence)]
    if stated is not None and stated.other_sizes():
        sizes = stated.other_sizes()
        said.append(f"{sizes[0].upper()}{sizes[1:]}, by the method's own held-out rows.")
    return [one for one in said if one]


def evaluation_section(
    sheet: Sheet, evidence: Evidence, evaluation: Evaluation, checks: list[Check]
):
    """The block that stands first."""
    sheet.section("verdict", "The verdict")
    sheet.raw(evaluation_block(evidence, evaluation))
    checks_table(sheet, checks)


def evaluation_block(evidence: Evidence, evaluation: Evaluation) -> str:
    """The sentences, the first one large."""
    first, *rest = sentences_of(evidence, evaluation)
    state = {True: "good", False: "poor", None: "open"}[evaluation.better]
    lines = "".join(f"<p>{safe(one)}</p>" for one in rest)
    return f'<div class="verdict {state}"><p class="first">{safe(first)}</p>{lines}</div>'


def checks_table(sheet: Sheet, checks: list[Check]) -> None:
    """Checks: those that found something first, the most serious of them on top."""
    order = {FOUND: 0, PASSED: 1}
    ranked = sorted(
        checks, key=lambda one: (order.get(one.state, 2), one.severity != SERIOUS, one.code)
    )
    found = sum(one.state == FOUND for one in checks)
    lines = [
        [
            f'<span class="check {one.state.replace(" ", "-")} {one.severity}">'
            f"{MARKS.get(one.state, '–')} {one.code}</span>",
            safe(one.title),
            safe(_capital(one.said) or _capital(one.state)) + _advised(one),
        ]
        for one in ranked
    ]
    said = "nothing was found" if not found else f"{found} found something"
    caption = f"Checks for usual pitfalls: {said}; the others passed or could not look."
    sheet.table(["check", "about", "what was found"], lines, caption, kind="checks")


def _advised(check: Check) -> str:
    return f' <span class="advice">{safe(check.advice)}</span>' if check.advice else ""


def _capital(words: str) -> str:
    return words[:1].upper() + words[1:]


def figures_section(sheet: Sheet, evidence: Evidence) -> None:
    """How the rows were predicted, in pictures."""
    drawn, labels = figures_of(evidence), evidence.classes and np.ndim(evidence.y) > 1
    if not drawn and not labels:
        return
    sheet.section("judged", "How the rows were predicted")
    for charts, caption in drawn:
        sheet.figure(charts, caption)
    if labels:
        labels_table(sheet, evidence)


def labels_table(sheet: Sheet, evidence: Evidence) -> None:
    """Labels one by one, the most frequent first: a mean over them hides the rare ones."""
    true, given = evidence.y != 0, evidence.guess != 0
    rows, told, right = (part.sum(axis=0) for part in (true, given, true & given))
    names = output_names(evidence.model, len(rows))
    order = np.argsort(-rows, kind="stable")
    lines = [
        [
            name_span(names[k], 40),
            whole(int(rows[k])),
            whole(int(told[k])),
            percent(right[k] / told[k], 1) if told[k] else "–",
            percent(right[k] / rows[k], 1) if rows[k] else "–",
            percent(float((true[:, k] != given[:, k]).mean()), 1),
        ]
        for k in order[:LABELS].tolist()
    ]
    more = f" The {LABELS} most frequent of {whole(len(rows))}." if len(rows) > LABELS else ""
    sheet.table(
        ["label", "rows", "given", "right", "found", "error"],
        lines,
        "Labels one by one: rows that have the label, rows that were given it, the share of the "
        "given ones that have it (right: precision), the share of its rows that were given it "
        f"(found: recall).{more}",
        {1, 2, 3, 4, 5},
    )


# --------------------------------------------------------------------------- rows explained
def example_rows(evidence: Evidence) -> list[tuple[str, int]]:
    """A row that is surely right, one that is surely wrong, and one that is unsure: their places
    among the rows that were looked at.
    """
    if evidence.score is None or evidence.rows is None:
        return []
    sure = np.abs(evidence.score[evidence.drawn])
    right = (evidence.guess == evidence.y)[evidence.drawn]
    found = []
    for words, rows in (("right", np.flatnonzero(right)), ("wrong", np.flatnonzero(~right))):
        if len(rows):
            found.append((words, int(rows[np.argmax(sure[rows])])))
    unsure = int(np.argmin(sure))
    return [*found, ("unsure", unsure)] if unsure not in {row for _, row in found} else found


def examples_section(sheet: Sheet, evidence: Evidence) -> None:
    """Contributions of the features of a few rows."""
    rows = example_rows(evidence)
    if not rows or not hasattr(evidence.model, "explain"):
        return
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # of names that these rows lack
            found = evidence.model.explain(evidence.rows[[row for _, row in rows]])
    except TypeError:  # its score is no sum
        return
    if hasattr(evidence.model, "coef_"):  # names that the page was given, not the model
        found.names = [evidence.name(column) for column in found.columns]
    lines: list[list[str]] = []
    for (words, row), one in zip(rows, found, strict=True):
        told = ", ".join(
            f"{name_span(name, 60)} {_signed(share)}" for name, share in one.contributions[:TERMS]
        )
        own = int(evidence.drawn[row])
        lines.append(
            [
                f"{words}, row {own + 1}",
                name_span(evidence.y[own], 40),
                name_span(evidence.guess[own], 40),
                _signed(evidence.score[own]),
                told or "none of its features has a weight",
            ]
        )
    sheet.section("examples", "A few rows explained")
    intercept = found[0].intercept
    sheet.table(
        ["row", "truth", "predicted", "score", "largest contributions"],
        lines,
        "Contributions to the score (value times weight); the intercept adds "
        f"{_signed(intercept)}. The surest right row, the surest wrong one, and the least sure. "
        "Rows are counted from 1, as by tamis explain --row; in Python the first is row 0.",
        {3},
        kind="stacked examples",
    )


def _signed(value: float) -> str:
    text = fixed(float(value), 3)
    return text if text.startswith("−") else f"+{text}"
