"""`tamis.report`: the error of a fitted model and checks, for a terminal, a notebook or a page."""

import contextlib
from collections.abc import Collection, Sequence
from importlib.resources import files
from os import PathLike
from typing import Any

from numpy.typing import ArrayLike

from tamis.evaluation.checks import FOUND, PASSED, Check, run_checks
from tamis.evaluation.evaluation import EvaluationData
from tamis.evaluation.summary import evaluate
from tamis.reporting.evaluation import sections
from tamis.reporting.page.formatting import escape
from tamis.reporting.page.page_body import PageBody
from tamis.selection.false_discovery.estimator import FDRSelector
from tamis.system.files import get_sources, refuse_overwriting
from tamis.system.terminal import for_markdown, for_output


class Report:
    """Error of a fitted model, with checks; made by `tamis.report` or a model's `report`.

    Print it, show it in a notebook, `save` it as a page or take it `to_markdown`.

    Attributes
    ----------
    sentences : list of str
        The verdict: error and baseline, better than guessing or not, what was kept.
    checks : list of Check
        Each with `code`, `title`, `severity`, `state` ("passed", "found", "not checked",
        "silenced"), `said`, `advice` and `page`.
    error, standard_error, baseline_error : float
        Of the rows passed, or the model's own held-out error.
    better : bool or None
        Whether the model beats guessing; None where that is not known.
    """

    def __init__(self, evidence: EvaluationData, silence: Collection[str], title: str):
        self._evidence, self._evaluation, self.title = evidence, evaluate(evidence), title
        self.checks: list[Check] = run_checks(evidence, silence)
        self.sentences: list[str] = sections.evaluation_sentences(evidence, self._evaluation)
        self.error, self.standard_error = self._evaluation.error, self._evaluation.standard_error
        self.baseline_error, self.better = self._evaluation.baseline_error, self._evaluation.better

    def __repr__(self) -> str:
        found = [check for check in self.checks if check.state == FOUND]
        n_passed = sum(check.state == PASSED for check in self.checks)
        lines = [self.title, *self.sentences]
        lines += [
            f"{check.code} {check.title.lower()}: {check.said} {check.advice}" for check in found
        ]
        lines.append(f"{n_passed} checks passed, {len(found)} found something.")
        return for_output("\n".join(lines))

    def _repr_html_(self) -> str:
        body = PageBody()
        body.add_html(sections.evaluation_html(self._evidence, self._evaluation))
        sections.add_checks_table(body, self.checks)
        for charts, caption in sections.evaluation_figures(self._evidence):
            body.add_figure(charts, caption)
        style = (files("tamis.reporting.evaluation") / "notebook.css").read_text(encoding="utf-8")
        return (
            f'<div class="tamis-report"><style>{style}</style><h3>{escape(self.title)}</h3>'
            f"{''.join(body.fragments)}</div>"
        )

    def to_markdown(self) -> str:
        """Return the report as Markdown: sentences, checks, the ten most important features."""
        lines = [
            f"# {for_markdown(self.title)}",
            "",
            *(f"{for_markdown(sentence)}  " for sentence in self.sentences),
            "",
        ]
        lines += ["| check | about | state | what was found |", "| --- | --- | --- | --- |"]
        lines += [
            f"| {check.code} | {check.title} | {check.state} | "
            f"{for_markdown(f'{check.said} {check.advice}'.strip())} |"
            for check in self.checks
        ]
        evidence = self._evidence
        ranked = evidence.ranked[:10]
        if len(ranked):
            lines += ["", "| feature | importance |", "| --- | ---: |"]
            importance = dict(
                zip(evidence.kept.tolist(), evidence.importance.tolist(), strict=True)
            )
            largest = max(importance.values()) or 1.0
            lines += [
                f"| {for_markdown(evidence.name(int(j)))} | {importance[int(j)] / largest:.3f} |"
                for j in ranked
            ]
        return "\n".join([*lines, ""])

    def save(self, path: str | PathLike) -> None:
        """Write one self-contained page; an existing file is replaced."""
        from tamis.reporting.page.page import write_report_page

        evidence = self._evidence
        density = None if evidence.moments is None else evidence.moments[2]
        write_report_page(
            path,
            title=self.title,
            model=evidence.model,
            names=evidence.names,
            density=density,
            report=self,
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
    """Evaluate a fitted model on rows that it has not seen, and check for the usual pitfalls.

    The report begins with the error, its standard error and the error of guessing without looking
    at the features, and says whether the difference is more than chance. Then it says what was
    kept. Then come the checks, each with a code that does not change (``TAM001`` to ``TAM012``).

    Parameters
    ----------
    model : estimator
        A fitted classifier or regressor, of tamis or of scikit-learn, or a pipeline that ends in
        one: the last step is evaluated on the rows that the steps before it return.
    X : array-like or sparse matrix of shape (n_samples, n_features) or None, default=None
        Rows that the model has not seen. Without them the report shows a sieve's own held-out
        error.
    y : array-like or None, default=None
        Their targets.
    path : str, path-like or None, default=None
        Where to write the page; None writes none.
    names : sequence of str or None, default=None
        Names of all features. None takes `feature_names_in_` of the model, if it has them.
    X_train, y_train : array-like or None, default=None
        Training rows: baseline, duplicate rows and shifts of columns are then taken from them.
    silence : collection of str, default=()
        Codes of checks to leave out.
    title : str or None, default=None
        Title of the report; None is the model's class.
    discoveries : bool or FDRSelector, default=False
        Whether to test the kept features as well, by a `FDRSelector` on the training rows if they
        are passed: a feature that predicts is not yet a discovery. It costs a sparse path and a
        small regression a feature: hundredths of a second for 200 rows and 1,000 columns, 10 s for
        20,000 rows and a million. A fitted selector is used as it is.

    Returns
    -------
    report : Report
        Print it, show it in a notebook, `save` it, or convert it by `to_markdown`.

    See Also
    --------
    write_page : The page, with data and training too.

    Examples
    --------
    >>> import tamis
    >>> from tamis.datasets import make_text
    >>> X, y, planted = make_text(n_samples=900, n_features=1000, random_state=0)
    >>> model = tamis.RDAClassifier(alpha=3e-3, random_state=0).fit(X[:600], y[:600])
    >>> evaluated = tamis.report(model, X[600:], y[600:])
    >>> evaluated.better
    True
    >>> [check.code for check in evaluated.checks if check.state == "found"]
    []
    """
    if discoveries is True and X is None and X_train is None:
        raise ValueError("discoveries=True needs rows to test on: pass X and y, or X_train too.")
    model, names, (X, X_train) = _last_step(model, names, [X, X_train])
    if path is not None:
        refuse_overwriting(path, get_sources(model))
    evidence = EvaluationData(model, X, y, names, X_train, y_train, discoveries or None)
    evaluated = Report(evidence, silence, title or type(model).__name__)
    if path is not None:
        evaluated.save(path)
    return evaluated


def _last_step(model: Any, names: Any, tables: list) -> tuple[Any, Any, list]:
    """Return the last step of a pipeline, with names and rows as the earlier steps return them."""
    if len(getattr(model, "steps", ())) < 2:
        return model, names, tables
    earlier = model[:-1]
    with contextlib.suppress(AttributeError):  # a step that does not name its columns
        names = earlier.get_feature_names_out(names)
    return model[-1], names, [None if X is None else earlier.transform(X) for X in tables]
