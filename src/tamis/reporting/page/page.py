"""One self-contained page about data, a model, and its error."""

import base64
import hashlib
import math
from collections.abc import Collection, Sequence
from importlib.resources import files
from os import PathLike
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

import tamis
from tamis.evaluation.comparison import Record
from tamis.evaluation.evaluation import EvaluationData
from tamis.evaluation.summary import recorded_errors
from tamis.reporting.evaluation.report import Report
from tamis.reporting.evaluation.sections import (
    add_evaluation_section,
    add_examples_section,
    add_figures_section,
)
from tamis.reporting.page import sections
from tamis.reporting.page.formatting import count_noun, escape, format_count, format_percent
from tamis.reporting.page.held_out_error import held_out_error
from tamis.reporting.page.page_body import PageBody
from tamis.selection.supports import selected_features
from tamis.system.files import atomic_writer, get_sources, refuse_overwriting


def write_page(
    path: str | PathLike,
    *,
    title: str,
    audit: dict | None = None,
    model: Any = None,
    names: Sequence[str] | None = None,
    density: ArrayLike | None = None,
    record: Record | None = None,
    history: list[dict] | None = None,
    facts: dict[str, str] | None = None,
    X: Any = None,
    y: ArrayLike | None = None,
    silence: Collection[str] = (),
) -> None:
    """Write one HTML page about a model and its data: the verdict, kept features, training, data,
    comparison, stability.

    The page needs no network and no other file, follows the reader's light or dark theme, prints,
    and fits a phone. A section appears only if there is something to show in it. The same arguments
    give the same bytes. An error while writing leaves an earlier file as it was.

    Parameters
    ----------
    path : str or path-like
        Where to write it. An existing file is replaced, unless it is a file of `audit` or one that
        the model was loaded or trained from.
    title : str
        Title of the page.
    audit : dict or None, default=None
        Summary of the data: ``files``, ``format``, ``rows``, ``features``, ``nonzeros``,
        ``density``, ``labels`` (rows of each), ``bad`` (``count`` and ``first`` lines refused),
        ``memory_bytes`` (as a sparse matrix), ``file_bytes``, ``suggested``.
    model : estimator or None, default=None
        A fitted model with `coef_`, `support_` or `get_support`. Its `selection_probability_`,
        `importance_`, `error_`, `sizes_` and `history_` are shown where it has them.
    names : sequence of str or None, default=None
        Names of all features. None takes `feature_names_in_` of the model, if it has them.
    density : array-like of shape (n_features,) or None, default=None
        Share of the rows in which each feature is present.
    record : Record or None, default=None
        A comparison. The stability matrix needs ``compare(..., keep_supports=True)``.
    history : list of dict or None, default=None
        Steps of the training: ``rows``, ``loss`` or ``error``, ``validation_error``,
        ``nonzeros``. None takes `train_history_` or `history_` of the model.
    facts : dict of {str: str} or None, default=None
        Further facts to show: command, seed, versions, what was skipped or refused.
    X : array-like or sparse matrix of shape (n_samples, n_features) or None, default=None
        Rows that the model has not seen: the page then begins with the verdict and the checks of
        `tamis.report`.
    y : array-like or None, default=None
        Their targets.
    silence : collection of str, default=()
        Codes of checks to leave out.

    See Also
    --------
    report : The verdict and the checks alone.
    compare : Makes a record.
    SelectionPathDisplay : One of the figures, drawn with matplotlib.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> from tamis import RDAClassifier, write_page
    >>> from tamis.datasets import make_text
    >>> X, y, planted = make_text(n_samples=600, n_features=1000, random_state=0)
    >>> model = RDAClassifier(alpha=1e-3, max_iter=5, tol=None, random_state=0).fit(X, y)
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     page = Path(folder) / "words.html"
    ...     write_page(page, title="Words that tell", model=model, facts={"Seed": "0"})
    ...     "<h1>Words that tell</h1>" in page.read_text(encoding="utf-8")
    True
    """
    _refuse_inputs(path, audit, model)
    names = _check_names(names, model)
    report = None
    has_errors = model is not None and (held_out_error(model) is not None or recorded_errors(model))
    if X is not None or has_errors:
        report = Report(EvaluationData(model, X, y, names), silence, str(title))
    write_report_page(
        path,
        title=title,
        audit=audit,
        model=model,
        names=names,
        density=density,
        record=record,
        history=history,
        facts=facts,
        report=report,
    )


def write_report_page(
    path: str | PathLike,
    *,
    title: str,
    audit: dict | None = None,
    model: Any = None,
    names: Sequence[str] | None = None,
    density: ArrayLike | None = None,
    record: Record | None = None,
    history: list[dict] | None = None,
    facts: dict[str, str] | None = None,
    report: Report | None = None,
) -> None:
    """Write the page of `write_page`, with a report that was made before."""
    _refuse_inputs(path, audit, model)
    names, density = _check_names(names, model), _check_density(density, model)
    body, evidence = PageBody(), None
    if report is not None:
        evidence = report._evidence
        add_evaluation_section(body, evidence, report._evaluation, report.checks)
        add_figures_section(body, evidence)
    sections.add_features_section(body, model, names, density, evidence)
    sections.add_selection_section(body, model, names, density)
    if evidence is not None:
        add_examples_section(body, evidence)
    sections.add_training_section(body, model, history)
    sections.add_data_section(body, audit)
    sections.add_methods_section(body, record)
    sections.add_stability_section(body, record)
    sections.add_making_section(body, model, record, facts)
    body.close()
    text = render_page(
        str(title), _abstract(audit, model if report is None else None, record), body
    )
    with atomic_writer(path, "write") as file:
        # A lone surrogate, which UTF-8 cannot encode, becomes a question mark.
        file.write(text.encode("utf-8", "replace"))


def _refuse_inputs(path: str | PathLike, audit: dict | None, model: Any) -> None:
    """Refuse to replace a file that the data or the model came from."""
    refuse_overwriting(path, [*(audit or {}).get("files", ()), *get_sources(model)])


# --------------------------------------------------------------------------- arguments
def _check_names(names, model):
    """Return names of all features as a sequence, or None."""
    if names is None:
        return getattr(model, "feature_names_in_", None)
    names = list(names)
    _check_length("names", len(names), model)
    return names


def _check_density(density, model):
    """Return the densities as an array, or None."""
    if density is None:
        return None
    density = np.asarray(density, dtype=float).ravel()
    _check_length("density", len(density), model)
    if len(density) and not (density.min() >= 0.0 and density.max() <= 1.0):
        raise ValueError(
            "density holds shares of rows, between 0 and 1; divide counts by the number of rows."
        )
    return density


def _check_length(name: str, length: int, model) -> None:
    """Refuse an argument that has not one entry a feature."""
    n_features = getattr(model, "n_features_in_", length)
    if length != n_features:
        raise ValueError(
            f"{name} has {length} entries, but {type(model).__name__} has {n_features} features. "
            "Give one entry a feature."
        )


# --------------------------------------------------------------------------- the page
def _abstract(audit, model, record) -> str:
    """Return a summary of data, model and comparison as sentences in HTML."""
    sentences = []
    if audit and audit.get("rows") is not None and audit.get("features") is not None:
        sentences.append(
            f"The data hold {count_noun(int(audit['rows']), 'row')} over "
            f"{count_noun(int(audit['features']), 'feature')}."
        )
    if model is not None:
        try:
            n_kept, n_features = (
                len(selected_features(model)[0]),
                getattr(model, "n_features_in_", 0),
            )
        except TypeError:
            n_kept, n_features = 0, 0
        if n_features:
            sentences.append(
                f"{escape(type(model).__name__)} kept {format_count(n_kept)} of "
                f"{format_count(n_features)} features ({format_percent(n_kept / n_features)})."
            )
    if record is not None and record.rows:
        best = min(
            record.rows, key=lambda row: row["error"] if math.isfinite(row["error"]) else math.inf
        )
        is_classification = record.settings.get("task", "classification") == "classification"
        error = format_percent(best["error"]) if is_classification else f"{best['error']:.4g}"
        n_methods = len({row["model"] for row in record.rows})
        sentences.append(
            f"Of {count_noun(n_methods, 'method')} compared, {escape(best['model'], 80)} had the "
            f"smallest error on test rows, {error}, with {format_percent(best['kept'])} of the "
            "features."
        )
    return " ".join(sentences)


def _policy_hash(text: str) -> str:
    """Return the hash by which a content security policy allows an inline script or style."""
    return "'sha256-" + base64.b64encode(hashlib.sha256(text.encode()).digest()).decode() + "'"


def render_page(
    title: str, abstract: str, body: PageBody, extra_style: str = "", extra_script: str = ""
) -> str:
    """Return the HTML of a page.

    Its content security policy lets a browser run only this script and this style, and load
    nothing.
    """
    style, script = (
        (files("tamis.reporting.page") / name).read_text(encoding="utf-8")
        for name in ("page.css", "page.js")
    )
    style, script = style + extra_style, script + extra_script
    policy = (
        f"default-src 'none'; style-src {_policy_hash(style)}; script-src {_policy_hash(script)}; "
        "img-src data:; base-uri 'none'; form-action 'none'"
    )
    links = "".join(
        f'<li><a href="#{key}">{number}. {escape(name)}</a></li>'
        for number, (key, name) in enumerate(body.sections, 1)
    )
    contents = f'<nav aria-label="Contents"><ol>{links}</ol></nav>' if links else ""
    summary = f'<p class="abstract">{abstract}</p>' if abstract else ""
    return "\n".join(
        [
            '<!DOCTYPE html><html lang="en"><head><meta charset="utf-8">',
            f'<meta http-equiv="Content-Security-Policy" content="{policy}">',
            '<meta name="viewport" content="width=device-width, initial-scale=1"><meta '
            'name="color-scheme" content="light dark">',
            '<meta name="referrer" content="no-referrer"><link rel="icon" '
            f'href="data:,"><title>{escape(title)}</title>',
            f"<style>{style}</style></head><body>",
            f'<header><div class="top"><h1>{escape(title)}</h1><button type="button" id="theme" '
            f"hidden>Dark</button></div>{summary}{contents}</header>",
            f"<main>{''.join(body.fragments)}</main>",
            f'<footer>Made with tamis {escape(tamis.__version__)}.</footer><div id="tip" '
            'role="tooltip" hidden></div>',
            f"<script>{script}</script></body></html>",
            "",
        ]
    )
