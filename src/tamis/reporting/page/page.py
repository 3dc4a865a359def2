"""One self-contained page about data, a model, and how far to trust it."""

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
from tamis.evaluation.evaluation import Evidence
from tamis.evaluation.summary import noted_errors
from tamis.reporting.evaluation.report import Report
from tamis.reporting.evaluation.sections import (
    evaluation_section,
    examples_section,
    figures_section,
)
from tamis.reporting.page import sections
from tamis.reporting.page.formatting import counted, percent, safe, whole
from tamis.reporting.page.held_out_error import held_out_error
from tamis.reporting.page.page_body import Sheet
from tamis.selection.supports import kept_by
from tamis.system.files import refuse_inputs, replacing, sources_of


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
    """Write one HTML page that shows what was found: the verdict, kept features, training, data,
    comparison, stability.

    The page needs no network and no other file, follows the reader's light or dark theme, prints,
    and fits a phone. A section appears only if there is something to show in it. The same arguments
    give the same bytes. The file is written whole or not at all.

    Parameters
    ----------
    path : str or path-like
        Where to write it; a file that is there is replaced, but no file of `audit`, and none that
        the model was loaded or trained from.
    title : str
        Title of the page.
    audit : dict or None, default=None
        What was found in the data: ``files``, ``format``, ``rows``, ``features``, ``nonzeros``,
        ``density``, ``labels`` (rows of each), ``bad`` (``count`` and ``first`` lines refused),
        ``memory_bytes`` (as a sparse matrix), ``file_bytes``, ``suggested``.
    model : estimator or None, default=None
        A fitted model that says what it kept (`coef_`, `support_` or `get_support`); its
        `selection_probability_`, `importance_`, `error_`, `sizes_` and `history_` are shown where
        it has them.
    names : sequence of str or None, default=None
        Names of all features. None takes `feature_names_in_` of the model, if it has them.
    density : array-like of shape (n_features,) or None, default=None
        Share of the rows in which each feature is present.
    record : Record or None, default=None
        A comparison. The stability matrix needs ``compare(..., keep_supports=True)``.
    history : list of dict or None, default=None
        What happened along training: ``rows``, ``loss`` or ``error``, ``validation_error``,
        ``nonzeros``. None takes `train_history_` or `history_` of the model.
    facts : dict of {str: str} or None, default=None
        What else to tell: command, seed, versions, what was skipped or refused.
    X : array-like or sparse matrix of shape (n_samples, n_features) or None, default=None
        Rows that the model has not seen, to judge it by: the page then begins with the verdict and
        the checks of `tamis.report`.
    y : array-like or None, default=None
        Their targets.
    silence : collection of str, default=()
        Codes of checks that shall not run.

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
    names = _take_names(names, model)
    judged = None
    known = model is not None and (held_out_error(model) is not None or noted_errors(model))
    if X is not None or known:
        judged = Report(Evidence(model, X, y, names), silence, str(title))
    write_whole(
        path,
        title=title,
        audit=audit,
        model=model,
        names=names,
        density=density,
        record=record,
        history=history,
        facts=facts,
        judged=judged,
    )


def write_whole(
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
    judged: Report | None = None,
) -> None:
    """Write the page, of a model that may have been judged."""
    _refuse_inputs(path, audit, model)
    names, density = _take_names(names, model), _take_density(density, model)
    sheet = Sheet()
    if judged is not None:
        _judged_sections(sheet, judged)
    evidence = None if judged is None else judged._evidence
    sections.features_section(sheet, model, names, density, evidence)
    sections.selection_section(sheet, model, names, density)
    if evidence is not None:
        examples_section(sheet, evidence)
    sections.training_section(sheet, model, history)
    sections.data_section(sheet, audit)
    sections.methods_section(sheet, record)
    sections.stability_section(sheet, record)
    sections.making_section(sheet, model, record, facts)
    _put(path, str(title), _abstract(audit, model if judged is None else None, record), sheet)


def _refuse_inputs(path: str | PathLike, audit: dict | None, model: Any) -> None:
    refuse_inputs(path, [*(audit or {}).get("files", ()), *sources_of(model)])


def _judged_sections(sheet: Sheet, judged: Report) -> None:
    evaluation_section(sheet, judged._evidence, judged._evaluation, judged.checks)
    figures_section(sheet, judged._evidence)


def _put(path, title: str, abstract: str, sheet: Sheet) -> None:
    """Write the whole page, or nothing."""
    sheet.close()
    text = whole_page(title, abstract, sheet)
    with replacing(path, "write") as file:
        # A lone surrogate, which no UTF-8 holds, becomes a question mark.
        file.write(text.encode("utf-8", "replace"))


# --------------------------------------------------------------------------- what was given
def _take_names(names, model):
    """Names of all features as a sequence, or None."""
    if names is None:
        return getattr(model, "feature_names_in_", None)
    names = list(names)
    _check_length("names", len(names), model)
    return names


def _take_density(density, model):
    if density is None:
        return None
    density = np.asarray(density, dtype=float).ravel()
    _check_length("density", len(density), model)
    if len(density) and not (density.min() >= 0.0 and density.max() <= 1.0):
        raise ValueError(
            "density holds shares of rows, between 0 and 1; divide counts by the number of rows."
        )
    return density


def _check_length(what: str, found: int, model) -> None:
    wanted = getattr(model, "n_features_in_", found)
    if found != wanted:
        raise ValueError(
            f"{what} has {found} entries, but {type(model).__name__} has {wanted} features. Give "
            "one entry a feature."
        )


# --------------------------------------------------------------------------- the page
def _abstract(audit, model, record) -> str:
    """What was found, in a few sentences of HTML."""
    said = []
    if audit and audit.get("rows") is not None and audit.get("features") is not None:
        said.append(
            f"The data hold {counted(int(audit['rows']), 'row')} over "
            f"{counted(int(audit['features']), 'feature')}."
        )
    if model is not None:
        try:
            kept, width = len(kept_by(model)[0]), getattr(model, "n_features_in_", 0)
        except TypeError:
            kept, width = 0, 0
        if width:
            said.append(
                f"{safe(type(model).__name__)} kept {whole(kept)} of {whole(width)} features "
                f"({percent(kept / width)})."
            )
    if record is not None and record.rows:
        best = min(
            record.rows, key=lambda row: row["error"] if math.isfinite(row["error"]) else math.inf
        )
        error = (
            percent(best["error"])
            if record.settings.get("task", "classification") == "classification"
            else f"{best['error']:.4g}"
        )
        said.append(
            f"Of {counted(len({row['model'] for row in record.rows}), 'method')} compared, "
            f"{safe(best['model'], 80)} had the least error "
            f"on test rows, {error}, with {percent(best['kept'])} of the features."
        )
    return " ".join(said)


def _hashed(text: str) -> str:
    """What a content security policy asks of an inline script or style."""
    return "'sha256-" + base64.b64encode(hashlib.sha256(text.encode()).digest()).decode() + "'"


def whole_page(
    title: str, abstract: str, sheet: Sheet, more_style: str = "", more_script: str = ""
) -> str:
    """The document.

    Its policy lets a browser run this script and this style alone, and load nothing.
    """
    style, script = (
        (files("tamis.reporting.page") / name).read_text(encoding="utf-8")
        for name in ("page.css", "page.js")
    )
    style, script = style + more_style, script + more_script
    policy = (
        f"default-src 'none'; style-src {_hashed(style)}; script-src {_hashed(script)}; "
        "img-src data:; base-uri 'none'; form-action 'none'"
    )
    links = "".join(
        f'<li><a href="#{key}">{number}. {safe(name)}</a></li>'
        for number, (key, name) in enumerate(sheet.sections, 1)
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
            f'href="data:,"><title>{safe(title)}</title>',
            f"<style>{style}</style></head><body>",
            f'<header><div class="top"><h1>{safe(title)}</h1><button type="button" id="theme" '
            f"hidden>Dark</button></div>{summary}{contents}</header>",
            f"<main>{''.join(sheet.parts)}</main>",
            f'<footer>Made with tamis {safe(tamis.__version__)}.</footer><div id="tip" '
            'role="tooltip" hidden></div>',
            f"<script>{script}</script></body></html>",
            "",
        ]
    )
