"""``tamis fit``: a model, what it kept, how good it is, and a page."""

import argparse
import contextlib
import os
import sys
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Literal

import numpy as np
import scipy.sparse as sp

from tamis.cli.commands.cluster import connected
from tamis.cli.data import (
    audit_of,
    names_for,
    reading_of,
    source_of,
    survey_of,
    task_of,
)
from tamis.cli.messages import note, say
from tamis.cli.methods import UsageError, build, grows, reads_twice
from tamis.cli.output import (
    errors_of,
    held_out_lines,
    kept,
    label,
    pairs,
    print_json,
    show_kept,
)
from tamis.data.source import SMALL_BYTES, RowSource
from tamis.data.streams import STANDARD, STDIN
from tamis.data.survey import Survey
from tamis.evaluation.checks import FOUND
from tamis.evaluation.evaluation import MOST_COLUMNS, MOST_ROWS, Evidence, as_classes, of_width
from tamis.evaluation.summary import noted_errors
from tamis.model_files import save
from tamis.reporting.evaluation.report import Report
from tamis.reporting.page.held_out_error import held_out_error
from tamis.selection.false_discovery.estimator import FDRSelector
from tamis.training.checkpoint import Folder
from tamis.training.readings import MEMORY, first_reading
from tamis.training.refusals import refuse_options
from tamis.training.walk import train

MOST_NAMES = 1_000_000  # columns whose names a page may be given
MOST_ENTRIES = 4_000_000  # of the rows learnt from that checks look at
NOTHING = "nothing in these .* columns predicts"


def run(given: argparse.Namespace) -> None:
    """Train, judge, save, show."""
    if given.threads is not None and given.threads < 1:
        raise UsageError("--threads must be 1 or more.")
    given.twice = _twice(given)
    rows = source_of(given.train, given)
    here = given.checkpoint and not given.cluster
    with Folder(given.checkpoint) if here else contextlib.nullcontext() as folder:
        result = _learnt(rows, folder, given)
        if folder is not None:
            folder.clear()
    show(result, given)


def _twice(given) -> bool:
    """Whether the file is read twice and then fitted; refuses options without a meaning."""
    asks = reads_twice(given.method)
    twice = asks and not given.stream
    try:
        refuse_options(
            f"method {given.method!r}",
            twice,
            passes=given.passes,
            every=given.every,
            memory=given.memory,
            checkpoint=given.checkpoint,
        )
    except ValueError as error:
        raise UsageError(str(error)) from None
    if given.memory is not None and given.cluster:
        raise UsageError(
            "--memory is for one machine; with --cluster rows lie in the memory of its workers."
        )
    if given.stream and not asks:
        raise UsageError(f"--stream: method {given.method!r} learns in passes in any case.")
    if given.memory is not None and not twice:
        raise UsageError(
            "--memory is for a method that reads the file twice (sieve, without --stream)."
        )
    return twice and not given.cluster


def _learnt(rows, folder, given) -> dict:
    """The result, with model and page written."""
    if given.passes > 1 or given.checkpoint or given.report or given.discoveries:
        rows.keep()
    model, survey = _model(rows, given)
    # Where predicting costs no more than learning.
    validate: Literal["progressive"] | None = (
        "progressive" if "grow" in model.get_params() else None
    )
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", NOTHING)  # the verdict begins with it
        if given.cluster:
            _learn_there(model, rows, given)
        else:
            train(
                model,
                rows,
                passes=given.passes,
                validate=validate,
                checkpoint=folder,
                every=given.every,
                progress="auto",
                stream=given.stream,
                memory=given.memory or MEMORY,
            )
    _remember_names(model, rows)
    result = judged(model, rows, given)
    if given.out:
        save(model, given.out)
    if given.report:
        write_report(given, model, rows, survey, result["report"])
    return result


def _learn_there(model, rows, given) -> None:
    """Learn on a cluster, a file a partition."""
    from tamis.distributed import fit

    with connected(given.cluster) as client:
        reading = {name: value for name, value in reading_of(given).items() if value is not None}
        target = reading.pop("target", None)
        where = [os.path.abspath(name) for name in rows.files]
        given_on = {"sweeps": given.passes, "checkpoint": given.checkpoint, "target": target}
        if reads_twice(given.method) and not given.stream:
            given_on["how"] = "stages"  # its fit, on rows that lie apart
        fit(model, where, client, **given_on, **reading)


def _model(rows, given):
    """The model, and the survey where one was made."""
    task = None if given.task == "auto" else given.task

    def make(task: str, grow: bool = False) -> Any:
        chance = {"seed": given.seed, "threads": given.threads}
        settings = {"loss": given.loss, "settings": given.set, "grow": grow}
        return build(given.method, task, **chance, **settings)

    survey, columns = None, bool(given.report)
    if given.twice:
        memory = (given.memory or MEMORY) * 10**6
        survey = first_reading(rows, make(task or "classify"), memory, task=task, columns=columns)
    elif given.stream or columns or not grows(given.method, task or "classify"):
        survey = survey_of(rows, columns=columns, memory=0 if given.cluster else SMALL_BYTES)
    task = task_of(rows, given.task, survey)
    return make(task, grow=survey is None and not given.cluster), survey


def _remember_names(model, rows) -> None:
    """Names of kept buckets, which only the files know."""
    if rows.options.hash_bits:
        support = model.support_
        model.reading_["names"] = [
            [int(c), name] for c, name in zip(support, rows.names_of(support), strict=True)
        ]


def judged(model: Any, rows: RowSource, given: argparse.Namespace) -> dict:
    """The result as plain data, and the held-out error that a sieve states."""
    last, stated = model.train_history_[-1], held_out_error(model)
    own = errors_of(model, stated)
    error, source = last.get("error"), "in the first pass, on chunks before they were learnt"
    if stated is not None:
        error, source = own["error"], "on rows held out" + " inside the sample" * given.stream
    report = judge(model, rows, given, _claims(model, rows, given))
    if given.test:
        error, source = report.error, "on the test rows"
    known = given.test or noted_errors(model)
    features = kept(model, names_for(model), given.top)
    if given.discoveries:
        for line in features.lines:
            line["qvalue"], head = report._evidence.claim(line["column"])
            line["claimed with"] = names_for(model)([head])[0] if head != line["column"] else None
    return {
        "method": given.method,
        "model": type(model).__name__,
        "rows": last["rows"],
        "features": int(model.n_features_in_),
        "kept": len(model.support_),
        "classes": [label(c) for c in getattr(model, "classes_", [])],
        "error": error,
        "error_of": source,
        "standard_error": report.standard_error if known else own["standard_error"],
        "held_out": {name: own[name] for name in ("error", "standard_error")},
        "baseline_error": report.baseline_error if known else own["baseline_error"],
        "sizes": own["sizes"],
        "loss": last.get("loss"),
        "skipped": {"count": rows.bad.count, "first": rows.bad.first},
        "notes": rows.notes,
        "top": features,
        "stated": stated,
        "report": report,
    }


def _claims(model: Any, rows: RowSource, given: argparse.Namespace) -> FDRSelector | None:
    """A selector that has tested what the model kept, where it was asked for."""
    if not given.discoveries:
        return None
    targets = "classes" if hasattr(model, "classes_") else "numbers"
    selector = FDRSelector(targets=targets, n_jobs=given.threads or -1)
    return selector.fit_rows(rows, also=model.support_, memory=given.memory or MEMORY)


def judge(
    model: Any, rows: RowSource, given: argparse.Namespace, claims: FDRSelector | None = None
) -> Report:
    """The model judged by the test rows, where there are some, else by its own word."""
    title, names = type(model).__name__, Names(model)
    if not given.test:
        evidence = Evidence(model, names=names, discoveries=claims)
        learnt_from(evidence, rows, given, targets=True)
        return Report(evidence, (), title)
    test = source_of([given.test], given, schema=model.reading_, target=False)
    evidence = Evidence.streamed(model, _with_targets(test), names)
    evidence.discoveries = claims
    learnt_from(evidence, rows, given)
    if evidence.y is None:
        raise UsageError(f"{given.test}: no row has a target, so nothing can be judged by it.")
    for text in test.notes:
        note(f"{given.test}: {text}")
    return Report(evidence, (), title)


def learnt_from(
    evidence: Evidence, rows: RowSource, given: argparse.Namespace, targets: bool = False
) -> None:
    """Let the checks look at the first rows of the file learnt from; at what they say of the
    `targets` too, where no other rows do. What went by on standard input is gone.
    """
    if evidence.width > MOST_COLUMNS or (STDIN in given.train and STANDARD.kept is None):
        return
    if given.cluster:  # whose workers have agreed on the columns
        rows = source_of(given.train, given, schema=evidence.model.reading_, target=False)
    first, entries, count = [], 0, 0
    for X, y in _with_targets(rows):
        first.append((of_width(X[: MOST_ROWS - count], evidence.width), y[: MOST_ROWS - count]))
        entries, count = entries + first[-1][0].nnz, count + first[-1][0].shape[0]
        if count >= MOST_ROWS or entries > MOST_ENTRIES:
            break
    if not first:
        return
    evidence.X_train = sp.csr_array(sp.vstack([X for X, _ in first]))
    if targets:
        evidence.y_train = as_classes(
            np.concatenate([y for _, y in first]), getattr(evidence.model, "classes_", None)
        )


def _with_targets(rows: RowSource) -> Iterator[tuple[Any, Any]]:
    """Chunks of the rows that have a target."""
    for chunk in rows:
        if chunk.targets is None or isinstance(chunk.targets, tuple):
            continue
        y = chunk.targets.toarray() if hasattr(chunk.targets, "toarray") else chunk.targets
        there = np.ones(len(y), bool)
        if y.ndim == 1:
            there = np.isfinite(y) if y.dtype.kind == "f" else y != ""
        if there.any():
            yield chunk.X[there], y[there]


class Names:
    """Names of columns, each looked up when it is asked for."""

    def __init__(self, model: Any):
        self.names_of = names_for(model)

    def __getitem__(self, column: int) -> str:
        return self.names_of([column])[0]


def show(result: dict, given: argparse.Namespace) -> None:
    """Print the result."""
    stated = result["stated"]
    if given.json:
        _remark(result)
        told = {n: value for n, value in result.items() if n not in ("stated", "report")}
        told["better"] = result["report"].better
        told["checks"] = [check._asdict() for check in result["report"].checks]
        told |= {"top": result["top"].lines, "out": given.out, "report": given.report}
        print_json(told)
        return
    report = result["report"]
    known = given.test or stated is not None or result["error"] is not None
    if known:
        for sentence in report.sentences:
            say(sentence)
        say("")
    lines = [
        ("model", result["model"]),
        ("rows", f"{result['rows']:,}"),
        ("features", f"{result['features']:,}"),
        ("kept", f"{result['kept']:,}"),
    ]
    if stated is not None and given.test:
        lines += held_out_lines(stated, "held out")
    elif not known and result["loss"] is not None:
        lines.append(
            ("loss", f"{result['loss']:.4g} (mean over the rows, each before it was learnt)")
        )
    pairs(lines)
    if result["kept"] or not known:  # the sentences said it
        show_kept(result["top"], stated)
    for check in report.checks:
        if check.state == FOUND:
            say(f"{check.code} {check.title.lower()}: {check.said} {check.advice}")
    _remark(result)
    for path, what in ((given.out, "model"), (given.report, "page")):
        if path:
            say(f"{what}: {path}")
    if not given.out:
        note("the model was not saved; pass --out MODEL to keep it")
    with contextlib.suppress(OSError):
        sys.stdout.flush()


def _remark(result: dict) -> None:
    """What was decided about the columns, and what was skipped: the verdict comes before it."""
    for text in result["notes"]:
        note(text)
    if result["skipped"]["count"]:
        note(
            f"{result['skipped']['count']:,} bad lines were skipped, the first: "
            f"{result['skipped']['first'][0]}"
        )


def write_report(
    given: argparse.Namespace, model: Any, rows: RowSource, survey: Survey, report: Report
) -> None:
    """The page about data and model."""
    from tamis.evaluation.comparison import installed_versions
    from tamis.reporting.page.page import write_whole

    width = int(model.n_features_in_)
    names = names_for(model)(range(width)) if width <= MOST_NAMES else None
    facts = {
        "command": " ".join(given.words),
        "seed": str(given.seed),
        "skipped": f"{rows.bad.count} bad lines",
    }
    facts |= installed_versions()
    for number, text in enumerate(rows.notes):
        facts[f"note {number + 1}"] = text
    history = model.train_history_
    title = f"{type(model).__name__} on {', '.join(Path(name).name for name in rows.files)}"
    write_whole(
        given.report,
        title=title,
        audit=audit_of(rows, survey),
        model=model,
        names=names,
        density=survey.shares(),
        history=history,
        facts=facts,
        judged=report if given.test or held_out_error(model) or noted_errors(model) else None,
    )
