"""One self-contained page about data, a model, and how far to trust it."""

import base64
import hashlib
import math
from collections.abc import Sequence
from importlib.resources import files
from os import PathLike
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

import tamis
from tamis.base.machine.disk import replacing
from tamis.judge.record import Record
from tamis.judge.supports import kept_by
from tamis.report.page import sections
from tamis.report.page.sheet import Sheet
from tamis.report.page.sizes import verdict_of
from tamis.report.page.words import counted, percent, safe, whole


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
) -> None:
    """Write one HTML page that shows what was found: data, training, kept features, comparison,
    stability.

    The page needs no network and no other file, follows the reader's light or dark theme, prints,
    and fits a phone. A section appears only if there is something to show in it. The same arguments
    give the same bytes. The file is written whole or not at all.

    Parameters
    ----------
    path : str or path-like
        Where to write it; a file that is there is replaced.
    title : str
        Title of the page.
    audit : dict or None, default=None
        What was found in the data: ``files``, ``format``, ``rows``, ``features``, ``nonzeros``,
        ``density``, ``labels`` (rows of each), ``bad`` (``count`` and ``first`` lines refused),
        ``memory_bytes``, ``suggested``.
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

    See Also
    --------
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
    names, density = _take_names(names, model), _take_density(density, model)
    sheet = Sheet()
    sections.data_section(sheet, audit)
    sections.training_section(sheet, model, history)
    sections.selection_section(sheet, model, names, density)
    sections.features_section(sheet, model, names, density)
    sections.methods_section(sheet, record)
    sections.stability_section(sheet, record)
    sections.making_section(sheet, model, record, facts)
    sheet.close()
    text = whole_page(str(title), _abstract(audit, model, record), sheet)
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
        said += _verdict(model)
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


def _verdict(model) -> list[str]:
    """What a sieve says of its own error and of other sizes."""
    verdict = verdict_of(model)
    if verdict is None:
        return []
    said = [verdict.nothing()] if verdict.is_empty() else []
    said.append(f"its {verdict.measure} on rows that it has not seen: {verdict.stated()}")
    said.append(verdict.other_sizes())
    return [safe(f"{one[0].upper()}{one[1:]}.") for one in said if one]


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
        (files("tamis.report.page") / name).read_text(encoding="utf-8")
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
