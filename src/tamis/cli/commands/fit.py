"""``tamis fit``: train a model, print what it selected and how good it is, write model and page."""

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
    ColumnNames,
    audit_rows,
    choose_task,
    column_names,
    open_source,
    reading_options,
    survey_rows,
)
from tamis.cli.messages import print_line, print_note
from tamis.cli.methods import UsageError, build, can_grow, reads_twice
from tamis.cli.output import (
    held_out_json,
    held_out_pairs,
    label,
    print_json,
    print_pairs,
    print_weights,
    rank_weights,
)
from tamis.data.source import MAX_CACHED_BYTES, RowSource
from tamis.data.streams import STANDARD_INPUT, STDIN
from tamis.data.survey import Survey
from tamis.evaluation.checks import FOUND
from tamis.evaluation.evaluation import (
    MAX_COLUMNS,
    MAX_SAMPLE_ROWS,
    EvaluationData,
    fit_width,
    match_class_dtype,
)
from tamis.evaluation.summary import recorded_errors
from tamis.model_files import save
from tamis.reporting.evaluation.report import Report
from tamis.reporting.page.held_out_error import held_out_error
from tamis.selection.false_discovery.estimator import FDRSelector
from tamis.training.checkpoint import CheckpointFolder
from tamis.training.option_checks import refuse_options
from tamis.training.trainer import train
from tamis.training.two_pass import DEFAULT_MEMORY_MB, survey_for_model

NOTHING_PREDICTS = "nothing in these .* columns predicts"  # a warning of the sieve


def run(args: argparse.Namespace) -> None:
    """Train, evaluate, save and print."""
    if args.threads is not None and args.threads < 1:
        raise UsageError("--threads must be 1 or more.")
    args.twice = _reads_file_twice(args)
    rows = open_source(args.train, args)
    is_local = args.checkpoint and not args.cluster
    with CheckpointFolder(args.checkpoint) if is_local else contextlib.nullcontext() as checkpoint:
        result = _train_and_write(rows, checkpoint, args)
        if checkpoint is not None:
            checkpoint.clear()
    print_result(result, args)


def _reads_file_twice(args: argparse.Namespace) -> bool:
    """Return whether the file is read twice and then fitted; refuse options that do not apply."""
    can_read_twice = reads_twice(args.method)
    is_batch = can_read_twice and not args.stream
    try:
        refuse_options(
            f"method {args.method!r}",
            is_batch,
            passes=args.passes,
            every=args.every,
            memory=args.memory,
            checkpoint=args.checkpoint,
        )
    except ValueError as error:
        raise UsageError(str(error)) from None
    if args.memory is not None and args.cluster:
        raise UsageError(
            "--memory is for one machine; with --cluster rows lie in the memory of its workers."
        )
    if args.stream and not can_read_twice:
        raise UsageError(f"--stream: method {args.method!r} learns in passes in any case.")
    if args.memory is not None and not is_batch:
        raise UsageError(
            "--memory is for a method that reads the file twice (sieve, without --stream)."
        )
    return is_batch and not args.cluster


def _train_and_write(rows, checkpoint: CheckpointFolder | None, args: argparse.Namespace) -> dict:
    """Train and evaluate a model, write model and page, and return the result."""
    if args.passes > 1 or args.checkpoint or args.report or args.discoveries:
        rows.keep()
    model, survey = _make_model(rows, args)
    # Only for models whose predictions cost no more than learning.
    validate: Literal["progressive"] | None = (
        "progressive" if "grow" in model.get_params() else None
    )
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", NOTHING_PREDICTS)  # the evaluation begins with it
        if args.cluster:
            _train_on_cluster(model, rows, args)
        else:
            train(
                model,
                rows,
                passes=args.passes,
                validate=validate,
                checkpoint=checkpoint,
                every=args.every,
                progress="auto",
                stream=args.stream,
                memory=args.memory or DEFAULT_MEMORY_MB,
            )
    _store_hashed_names(model, rows)
    result = evaluate_fit(model, rows, args)
    if args.out:
        save(model, args.out)
    if args.report:
        write_report(args, model, rows, survey, result["report"])
    return result


def _train_on_cluster(model, rows, args: argparse.Namespace) -> None:
    """Train on a cluster, one partition a file."""
    from tamis.distributed import fit

    with connected(args.cluster) as client:
        reading = {
            name: value for name, value in reading_options(args).items() if value is not None
        }
        target = reading.pop("target", None)
        paths = [os.path.abspath(name) for name in rows.files]
        options = {"sweeps": args.passes, "checkpoint": args.checkpoint, "target": target}
        if reads_twice(args.method) and not args.stream:
            options["how"] = "stages"  # the batch fit, on partitioned rows
        fit(model, paths, client, **options, **reading)


def _make_model(rows, args: argparse.Namespace) -> tuple[Any, Any]:
    """Return the unfitted model, and the survey of the rows where one was needed."""
    task = None if args.task == "auto" else args.task

    def make(task: str, grow: bool = False) -> Any:
        options = {"loss": args.loss, "settings": args.set, "grow": grow}
        return build(args.method, task, seed=args.seed, threads=args.threads, **options)

    survey, columns = None, bool(args.report)
    if args.twice:
        memory = (args.memory or DEFAULT_MEMORY_MB) * 10**6
        survey = survey_for_model(
            rows, make(task or "classify"), memory, task=task, columns=columns
        )
    elif args.stream or columns or not can_grow(args.method, task or "classify"):
        survey = survey_rows(rows, columns=columns, memory=0 if args.cluster else MAX_CACHED_BYTES)
    task = choose_task(rows, args.task, survey)
    return make(task, grow=survey is None and not args.cluster), survey


def _store_hashed_names(model, rows) -> None:
    """Store the names of the selected hashed columns, which only the files hold, in the model."""
    if rows.options.hash_bits:
        support = model.support_
        model.reading_["names"] = [
            [int(c), name] for c, name in zip(support, rows.names_of(support), strict=True)
        ]


def evaluate_fit(model: Any, rows: RowSource, args: argparse.Namespace) -> dict:
    """Return the result of a fit: plain data, the model's held-out error, and the report."""
    last, held_out = model.train_history_[-1], held_out_error(model)
    model_errors = held_out_json(model, held_out)
    error, source = last.get("error"), "in the first pass, on chunks before they were learnt"
    if held_out is not None:
        error = model_errors["error"]
        source = "on rows held out" + " inside the sample" * args.stream
    report = make_report(model, rows, args, _test_selected(model, rows, args))
    if args.test:
        error, source = report.error, "on the test rows"
    errors = model_errors
    if args.test or recorded_errors(model):
        errors = {"standard_error": report.standard_error, "baseline_error": report.baseline_error}
    weights = rank_weights(model, column_names(model), args.top)
    if args.discoveries:
        for line in weights.lines:
            line["qvalue"], claimed = report._evidence.find_claim(line["column"])
            is_other = claimed != line["column"]
            line["claimed with"] = column_names(model)([claimed])[0] if is_other else None
    return {
        "method": args.method,
        "model": type(model).__name__,
        "rows": last["rows"],
        "features": int(model.n_features_in_),
        "kept": len(model.support_),
        "classes": [label(c) for c in getattr(model, "classes_", [])],
        "error": error,
        "error_of": source,
        "standard_error": errors["standard_error"],
        "held_out": {name: model_errors[name] for name in ("error", "standard_error")},
        "baseline_error": errors["baseline_error"],
        "sizes": model_errors["sizes"],
        "loss": last.get("loss"),
        "skipped": {"count": rows.bad.count, "first": rows.bad.first},
        "notes": rows.notes,
        "top": weights,
        "stated": held_out,
        "report": report,
    }


def _test_selected(model: Any, rows: RowSource, args: argparse.Namespace) -> FDRSelector | None:
    """Return a selector that has tested the selected features, with --discoveries."""
    if not args.discoveries:
        return None
    targets = "classes" if hasattr(model, "classes_") else "numbers"
    selector = FDRSelector(targets=targets, n_jobs=args.threads or -1)
    return selector.fit_rows(rows, also=model.support_, memory=args.memory or DEFAULT_MEMORY_MB)


def make_report(
    model: Any, rows: RowSource, args: argparse.Namespace, selector: FDRSelector | None = None
) -> Report:
    """Return the report of a model: on the test rows, or else by the model's held-out error."""
    title, names = type(model).__name__, ColumnNames(column_names(model))
    if not args.test:
        evidence = EvaluationData(model, names=names, discoveries=selector)
        add_training_rows(evidence, rows, args, targets=True)
        return Report(evidence, (), title)
    test = open_source([args.test], args, schema=model.reading_, target=False)
    evidence = EvaluationData.from_chunks(model, _labeled_chunks(test), names)
    evidence.discoveries = selector
    add_training_rows(evidence, rows, args)
    if evidence.y is None:
        raise UsageError(f"{args.test}: no row has a target, so it cannot be used as a test.")
    for text in test.notes:
        print_note(f"{args.test}: {text}")
    return Report(evidence, (), title)


def add_training_rows(
    evidence: EvaluationData,
    rows: RowSource,
    args: argparse.Namespace,
    targets: bool = False,
    max_entries: int = 4_000_000,
) -> None:
    """Give the checks the first training rows, up to `max_entries` nonzeros.

    With `targets`, for a report without test rows, they get the targets too. Rows that came on
    standard input are gone unless they were stored.
    """
    if evidence.width > MAX_COLUMNS or (STDIN in args.train and STANDARD_INPUT.kept is None):
        return
    if args.cluster:  # its workers agreed on the columns, so read the files by the model's schema
        rows = open_source(args.train, args, schema=evidence.model.reading_, target=False)
    first, n_entries, n_rows = [], 0, 0
    for X, y in _labeled_chunks(rows):
        first.append(
            (
                fit_width(X[: MAX_SAMPLE_ROWS - n_rows], evidence.width),
                y[: MAX_SAMPLE_ROWS - n_rows],
            )
        )
        n_entries, n_rows = n_entries + first[-1][0].nnz, n_rows + first[-1][0].shape[0]
        if n_rows >= MAX_SAMPLE_ROWS or n_entries > max_entries:
            break
    if not first:
        return
    evidence.X_train = sp.csr_array(sp.vstack([X for X, _ in first]))
    if targets:
        evidence.y_train = match_class_dtype(
            np.concatenate([y for _, y in first]), getattr(evidence.model, "classes_", None)
        )


def _labeled_chunks(rows: RowSource) -> Iterator[tuple[Any, Any]]:
    """Yield X and y of the rows that have a target, chunk by chunk."""
    for chunk in rows:
        if chunk.targets is None or isinstance(chunk.targets, tuple):
            continue
        y = chunk.targets.toarray() if hasattr(chunk.targets, "toarray") else chunk.targets
        is_labeled = np.ones(len(y), bool)
        if y.ndim == 1:
            is_labeled = np.isfinite(y) if y.dtype.kind == "f" else y != ""
        if is_labeled.any():
            yield chunk.X[is_labeled], y[is_labeled]


def print_result(result: dict, args: argparse.Namespace) -> None:
    """Print the result of a fit, as text or as JSON."""
    held_out, report = result["stated"], result["report"]
    if args.json:
        _print_remarks(result)
        plain = {n: value for n, value in result.items() if n not in ("stated", "report")}
        plain["better"] = report.better
        plain["checks"] = [check._asdict() for check in report.checks]
        plain |= {"top": result["top"].lines, "out": args.out, "report": args.report}
        print_json(plain)
        return
    has_error = args.test or held_out is not None or result["error"] is not None
    if has_error:
        for sentence in report.sentences:
            print_line(sentence)
        print_line("")
    pairs = [
        ("model", result["model"]),
        ("rows", f"{result['rows']:,}"),
        ("features", f"{result['features']:,}"),
        ("kept", f"{result['kept']:,}"),
    ]
    if held_out is not None and args.test:
        pairs += held_out_pairs(held_out, "held out")
    elif not has_error and result["loss"] is not None:
        pairs.append(
            ("loss", f"{result['loss']:.4g} (mean over the rows, each before it was learnt)")
        )
    print_pairs(pairs)
    if result["kept"] or not has_error:  # otherwise the sentences said that nothing was kept
        print_weights(result["top"], held_out)
    for check in report.checks:
        if check.state == FOUND:
            print_line(f"{check.code} {check.title.lower()}: {check.said} {check.advice}")
    _print_remarks(result)
    for path, kind in ((args.out, "model"), (args.report, "page")):
        if path:
            print_line(f"{kind}: {path}")
    if not args.out:
        print_note("the model was not saved; pass --out MODEL to keep it")
    with contextlib.suppress(OSError):
        sys.stdout.flush()


def _print_remarks(result: dict) -> None:
    """Print what was decided about the columns, and what was skipped."""
    for text in result["notes"]:
        print_note(text)
    if result["skipped"]["count"]:
        print_note(
            f"{result['skipped']['count']:,} bad lines were skipped, the first: "
            f"{result['skipped']['first'][0]}"
        )


def write_report(
    args: argparse.Namespace,
    model: Any,
    rows: RowSource,
    survey: Survey,
    report: Report,
    max_names: int = 1_000_000,
) -> None:
    """Write the page about data and model; beyond `max_names` columns it shows numbers."""
    from tamis.evaluation.comparison import installed_versions
    from tamis.reporting.page.page import write_report_page

    width = int(model.n_features_in_)
    names = column_names(model)(range(width)) if width <= max_names else None
    facts = {
        "command": " ".join(args.command_line),
        "seed": str(args.seed),
        "skipped": f"{rows.bad.count} bad lines",
    }
    facts |= installed_versions()
    for number, text in enumerate(rows.notes):
        facts[f"note {number + 1}"] = text
    has_evaluation = args.test or held_out_error(model) or recorded_errors(model)
    write_report_page(
        args.report,
        title=f"{type(model).__name__} on {', '.join(Path(name).name for name in rows.files)}",
        audit=audit_rows(rows, survey),
        model=model,
        names=names,
        density=survey.shares(),
        history=model.train_history_,
        facts=facts,
        report=report if has_evaluation else None,
    )
