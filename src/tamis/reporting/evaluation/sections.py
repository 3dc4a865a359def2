"""Sections of a page about predicted rows: the verdict, checks, charts, and rows explained."""

import warnings

import numpy as np

from tamis.evaluation.checks import FOUND, PASSED, SERIOUS, Check
from tamis.evaluation.evaluation import EvaluationData
from tamis.evaluation.summary import Evaluation, discoveries_sentence, selection_sentence
from tamis.reporting.evaluation.figures import evaluation_figures
from tamis.reporting.page.formatting import (
    escape,
    format_count,
    format_fixed,
    format_percent,
    name_element,
)
from tamis.reporting.page.held_out_error import held_out_error
from tamis.reporting.page.page_body import PageBody
from tamis.reporting.page.plot_data import output_names


def evaluation_sentences(evidence: EvaluationData, evaluation: Evaluation) -> list[str]:
    """Return sentences: error and baseline, better or not, what was kept, the cost of fewer."""
    held_out = held_out_error(evidence.model)
    headline, sentences = evaluation.error_sentence(), []
    if held_out is not None and evaluation.rows is None:
        measure = _capitalize(held_out.measure)
        headline = f"{measure} on rows held out inside the method: {held_out.describe()}."
    if held_out is not None and held_out.is_empty():
        sentences.append(f"{_capitalize(held_out.describe_empty())}.")
    sentences += [headline, evaluation.gain_sentence()]
    sentences += [selection_sentence(evidence), discoveries_sentence(evidence)]
    if held_out is not None and (sizes := held_out.describe_other_sizes()):
        sentences.append(f"{_capitalize(sizes)}, by the method's own held-out rows.")
    return [sentence for sentence in sentences if sentence]


def add_evaluation_section(
    body: PageBody, evidence: EvaluationData, evaluation: Evaluation, checks: list[Check]
):
    """Add the first section: the sentences and the checks."""
    body.add_section("verdict", "The verdict")
    body.add_html(evaluation_html(evidence, evaluation))
    add_checks_table(body, checks)


def evaluation_html(evidence: EvaluationData, evaluation: Evaluation) -> str:
    """Return the sentences in HTML, the first one large."""
    first, *others = evaluation_sentences(evidence, evaluation)
    css_class = {True: "good", False: "poor", None: "open"}[evaluation.better]
    lines = "".join(f"<p>{escape(sentence)}</p>" for sentence in others)
    return f'<div class="verdict {css_class}"><p class="first">{escape(first)}</p>{lines}</div>'


def add_checks_table(body: PageBody, checks: list[Check]) -> None:
    """Add a table of checks: first those that found something, the most serious of them on top."""
    order, marks = {FOUND: 0, PASSED: 1}, {PASSED: "✓", FOUND: "!"}
    ranked = sorted(
        checks,
        key=lambda check: (order.get(check.state, 2), check.severity != SERIOUS, check.code),
    )
    n_found = sum(check.state == FOUND for check in checks)
    lines = [
        [
            f'<span class="check {check.state.replace(" ", "-")} {check.severity}">'
            f"{marks.get(check.state, '–')} {check.code}</span>",
            escape(check.title),
            escape(_capitalize(check.said) or _capitalize(check.state)) + _advice_html(check),
        ]
        for check in ranked
    ]
    result = "nothing was found" if not n_found else f"{n_found} found something"
    caption = f"Checks for usual pitfalls: {result}; the others passed or lacked data."
    header = ["check", "about", "what was found"]
    body.add_table(header, lines, caption, css_class="checks")


def _advice_html(check: Check) -> str:
    return f' <span class="advice">{escape(check.advice)}</span>' if check.advice else ""


def _capitalize(text: str) -> str:
    return text[:1].upper() + text[1:]


def add_figures_section(body: PageBody, evidence: EvaluationData) -> None:
    """Add charts of the predictions, and for multilabel targets a table of the labels."""
    figures = evaluation_figures(evidence)
    is_multilabel = evidence.classes and np.ndim(evidence.y) > 1
    if not figures and not is_multilabel:
        return
    body.add_section("judged", "How the rows were predicted")
    for charts, caption in figures:
        body.add_figure(charts, caption)
    if is_multilabel:
        add_label_table(body, evidence)


def add_label_table(body: PageBody, evidence: EvaluationData, limit: int = 50) -> None:
    """Add a table of the `limit` most frequent labels, since a mean hides the rare ones."""
    is_true, is_predicted = evidence.y != 0, evidence.predictions != 0
    n_true, n_predicted, n_both = (
        mask.sum(axis=0) for mask in (is_true, is_predicted, is_true & is_predicted)
    )
    names = output_names(evidence.model, len(n_true))
    order = np.argsort(-n_true, kind="stable")
    lines = [
        [
            name_element(names[k], 40),
            format_count(int(n_true[k])),
            format_count(int(n_predicted[k])),
            format_percent(n_both[k] / n_predicted[k], 1) if n_predicted[k] else "–",
            format_percent(n_both[k] / n_true[k], 1) if n_true[k] else "–",
            format_percent(float((is_true[:, k] != is_predicted[:, k]).mean()), 1),
        ]
        for k in order[:limit].tolist()
    ]
    n_labels = len(n_true)
    more = f" The {limit} most frequent of {format_count(n_labels)}." if n_labels > limit else ""
    body.add_table(
        ["label", "rows", "predicted", "precision", "recall", "error"],
        lines,
        "Labels one by one: rows that have the label, rows predicted to have it, the share of the "
        "predicted rows that have it (precision), the share of its rows that were predicted "
        f"(recall), and the share of wrong predictions (error).{more}",
        {1, 2, 3, 4, 5},
    )


# --------------------------------------------------------------------------- rows explained
def example_rows(evidence: EvaluationData) -> list[tuple[str, int]]:
    """Return the most certain right row, the most certain wrong one and the least certain one.

    Each comes with a name, as its index among the rows that were drawn.
    """
    if evidence.score is None or evidence.rows is None:
        return []
    certainty = np.abs(evidence.score[evidence.sample_indices])
    is_right = (evidence.predictions == evidence.y)[evidence.sample_indices]
    examples = []
    for name, rows in (("right", np.flatnonzero(is_right)), ("wrong", np.flatnonzero(~is_right))):
        if len(rows):
            examples.append((name, int(rows[np.argmax(certainty[rows])])))
    unsure = int(np.argmin(certainty))
    if unsure in {row for _, row in examples}:
        return examples
    return [*examples, ("unsure", unsure)]


def add_examples_section(body: PageBody, evidence: EvaluationData, max_terms: int = 6) -> None:
    """Add the largest contributions of features to the scores of a few rows."""
    examples = example_rows(evidence)
    if not examples or not hasattr(evidence.model, "explain"):
        return
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # about names that these rows lack
            explanations = evidence.model.explain(evidence.rows[[row for _, row in examples]])
    except TypeError:  # the score is not a sum over features
        return
    if hasattr(evidence.model, "coef_"):  # the names of the page, not those of the model
        explanations.names = [evidence.name(column) for column in explanations.columns]
    lines: list[list[str]] = []
    for (name, row), explanation in zip(examples, explanations, strict=True):
        contributions = ", ".join(
            f"{name_element(feature, 60)} {_format_signed(value)}"
            for feature, value in explanation.contributions[:max_terms]
        )
        row_number = int(evidence.sample_indices[row])
        lines.append(
            [
                f"{name}, row {row_number + 1}",
                name_element(evidence.y[row_number], 40),
                name_element(evidence.predictions[row_number], 40),
                _format_signed(evidence.score[row_number]),
                contributions or "none of its features has a weight",
            ]
        )
    body.add_section("examples", "A few rows explained")
    intercept = explanations[0].intercept
    body.add_table(
        ["row", "truth", "predicted", "score", "largest contributions"],
        lines,
        "Contributions to the score (value times weight); the intercept adds "
        f"{_format_signed(intercept)}. The most certain right row, the most certain wrong one, and "
        "the least certain. Rows are counted from 1, as by tamis explain --row; in Python the "
        "first is row 0.",
        {3},
        css_class="stacked examples",
    )


def _format_signed(value: float) -> str:
    text = format_fixed(float(value), 3)
    return text if text.startswith("−") else f"+{text}"
