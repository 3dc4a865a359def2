"""`tamis.report`: what a fitted model is worth, for the terminal, a notebook, a page."""

import contextlib
from collections.abc import Collection, Sequence
from importlib.resources import files
from os import PathLike
from typing import Any

from numpy.typing import ArrayLike

from tamis.evaluation.checks import FOUND, PASSED, Check, run_checks
from tamis.evaluation.evaluation import Evidence
from tamis.evaluation.summary import evaluate
from tamis.reporting.evaluation import sections
from tamis.reporting.page.formatting import safe
from tamis.reporting.page.page_body import Sheet
from tamis.selection.false_discovery.estimator import FDRSelector
from tamis.system.files import refuse_inputs, sources_of
from tamis.system.terminal import for_markdown, for_output

SHOWN = 10  # features that a report lists


class Report:
    """What a fitted model is worth; made by `tamis.report` or a model's `report`.

    Print it, show it in a notebook, `save` it as a page or take it `to_markdown`.

    Attributes
    ----------
    sentences : list of str
        The verdict: error and baseline, better than guessing or not, what was kept.
    checks : list of Check
        Each with `code`, `title`, `severity`, `state` ("passed", "found", "not checked",
        "silenced"), `said`, `advice` and `page`.
    error, standard_error, baseline_error : float
        Of the rows given, or the model's own held-out error.
    better : bool or None
        Whether the model beats guessing; None where nobody can tell.
    """

    def __init__(self, evidence: Evidence, silence: Collection[str], title: str):
        self._evidence, self._evaluation, self.title = evidence, evaluate(evidence), title
        self.checks: list[Check] = run_checks(evidence, silence)
        self.sentences: list[str] = sections.sentences_of(evidence, self._evaluation)
        self.error, self.standard_error = self._evaluation.error, self._evaluation.standard_error
        self.baseline_error, self.better = self._evaluation.baseline_error, self._evaluation.better

    def __repr__(self) -> str:
        found = [one for one in self.checks if one.state == FOUND]
        passed = sum(one.state == PASSED for one in self.checks)
        lines = [self.title, *self.sentences]
        lines += [f"{one.code} {one.title.lower()}: {one.said} {one.advice}" for one in found]
        lines.append(f"{passed} checks passed, {len(found)} found something.")
        return for_output("\n".join(lines))

    def _repr_html_(self) -> str:
        sheet = Sheet()
        sheet.raw(sections.evaluation_block(self._evidence, self._evaluation))
        sections.checks_table(sheet, self.checks)
        for charts, caption in sections.figures_of(self._evidence):
            sheet.figure(charts, caption)
        style = (files("tamis.reporting.evaluation") / "notebook.css").read_text(encoding="utf-8")
        return (
            f'<div class="tamis-report"><style>{style}</style><h3>{safe(self.title)}</h3>'
            f"{''.join(sheet.parts)}</div>"
        )

    def to_markdown(self) -> str:
        """The report as Markdown: sentences, checks, the most important features."""
        lines = [
            f"# {for_markdown(self.title)}",
            "",
            *(f"{for_markdown(one)}  " for one in self.sentences),
            "",
        ]
        lines += ["| check | about | state | what was found |", "| --- | --- | --- | --- |"]
        lines += [
            f"| {one.code} | {one.title} | {one.state} | "
            f"{for_markdown(f'{one.said} {one.advice}'.strip())} |"
            for one in self.checks
        ]
        evidence = self._evidence
        ranked = evidence.ranked[:SHOWN]
        if len(ranked):
            lines += ["", "| feature | importance |", "| --- | ---: |"]
            sizes = dict(zip(evidence.kept.tolist(), evidence.importance.tolist(), strict=True))
            most = max(sizes.values()) or 1.0
            lines += [
                f"| {for_markdown(evidence.name(int(j)))} | {sizes[int(j)] / most:.3f} |"
                for j in ranked
            ]
        return "\n".join([*lines, ""])

    def save(self, path: str | PathLike) -> None:
        """Write one self-contained page; a file that is there is replaced."""
        from tamis.reporting.page.page import write_whole

        evidence = self._evidence
        density = None if evidence.moments is None else evidence.moments[2]
        write_whole(
            path,
            title=self.title,
            model=evidence.model,
            names=evidence.names,
            density=density,
            judged=self,
        )


def report(
    model: Any,
    X: Any = None,
    y: ArrayLike | None = None,
    path: str | PathLike | None = None,
    *,
    names: Sequence[str] | None = None,
    X_train: Any = None,
    y_train: ArrayLike | None = None,
    silence: Collection[str] = (),
    title: str | None = None,
    discoveries: bool | FDRSelector = False,
) -> Report:
    """Judge a fitted model by rows that it has not seen, and check for the usual pitfalls.

    The report says first what the error is, with its standard error, beside that of guessing
    without looking, and whether the difference is more than chance; then what was kept; then the
    checks, each with a code that does not change (``TAM001`` to ``TAM012``).

    Parameters
    ----------
    model : estimator
        A fitted classifier or regressor, of tamis or of scikit-learn, or a pipeline that ends in
        one: that is judged, by what the steps before make of the rows.
    X : array-like or sparse matrix of shape (n_samples, n_features) or None, default=None
        Rows that the model has not seen. Without them a sieve's own held-out error is told.
    y : array-like or None, default=None
        Their targets.
    path : str, path-like or None, default=None
        Where to write the page too.
    names : sequence of str or None, default=None
        Names of all features. None takes `feature_names_in_` of the model, if it has them.
    X_train, y_train : array-like or None, default=None
        The rows learnt from: baseline, copies and shifts of columns are then judged by them.
    silence : collection of str, default=()
        Codes of checks that shall not run.
    title : str or None, default=None
        Title of the report; None is the model's class.
    discoveries : bool or FDRSelector, default=False
        Whether to test the kept features too (`FDRSelector`, on the rows learnt from where they are
        given): kept because it predicts is one thing, a discovery another. It costs a sparse path
        and a small regression a feature: hundredths of a second for 200 rows and 1,000 columns,
        10 s for 20,000 rows and a million. A selector that is fitted already is taken as it is.

    Returns
    -------
    report : Report
        To print, to show in a notebook, to `save`, to take `to_markdown`.

    See Also
    --------
    write_page : The page, with data and training too.

    Examples
    --------
    >>> import tamis
    >>> from tamis.datasets import make_text
    >>> X, y, planted = make_text(n_samples=900, n_features=1000, random_state=0)
    >>> model = tamis.RDAClassifier(alpha=3e-3, random_state=0).fit(X[:600], y[:600])
    >>> found = tamis.report(model, X[600:], y[600:])
    >>> found.better
    True
    >>> [check.code for check in found.checks if check.state == "found"]
    []
    """
    if discoveries is True and X is None and X_train is None:
        raise ValueError("discoveries=True needs rows to test on: pass X and y, or X_train too.")
    model, names, (X, X_train) = _last_step(model, names, [X, X_train])
    if path is not None:
        refuse_inputs(path, sources_of(model))
    evidence = Evidence(model, X, y, names, X_train, y_train, discoveries or None)
    found = Report(evidence, silence, title or type(model).__name__)
    if path is not None:
        found.save(path)
    return found


def _last_step(model: Any, names: Any, tables: list) -> tuple[Any, Any, list]:
    """A pipeline as its last step, with what the steps before make of rows and of names."""
    if len(getattr(model, "steps", ())) < 2:
        return model, names, tables
    before = model[:-1]
    with contextlib.suppress(AttributeError):  # of a step that does not name its columns
        names = before.get_feature_names_out(names)
    return model[-1], names, [None if one is None else before.transform(one) for one in tables]
