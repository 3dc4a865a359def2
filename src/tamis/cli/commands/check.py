"""``tamis check``: read a whole file and print what is in it."""

import argparse

from tamis.cli.columns import print_columns
from tamis.cli.data import audit_rows, open_source, survey_rows
from tamis.cli.messages import print_note
from tamis.cli.output import format_bytes, print_json, print_pairs
from tamis.data.columns.layout_builder import GAPS_NOTE, NO_TARGET_NOTE

MAX_LABELS = 10  # that are printed
# Texts of messages about single lines.
GAP_MESSAGE, NO_TARGET_MESSAGE = "is missing. Pass", "is missing; every row needs it"


def run(args: argparse.Namespace) -> None:
    """Read the file and print its summary."""
    rows = open_source(args.file, args)
    audit = audit_rows(rows, survey_rows(rows, title="check"))
    if args.json:
        print_json(audit)
        return
    has_gaps = any(text.startswith(GAPS_NOTE) for text in audit["notes"])
    print_pairs(_summary(audit, has_gaps))
    print_columns(audit["columns"])
    for text in audit["notes"]:
        print_note(text)
    if len(audit["labels"]) == 1:
        only = next(iter(audit["labels"]))
        print_note(f"the target is {only} in all rows: nothing can be learnt")
    lacks_targets = any(text.startswith(NO_TARGET_NOTE) for text in audit["notes"])
    # A note counts these lines by column, so they are not listed.
    counted = [NO_TARGET_MESSAGE] * lacks_targets + [GAP_MESSAGE] * has_gaps
    for text in audit["bad"]["first"]:
        if not any(message in text for message in counted):
            print_note(text)


def _summary(audit: dict, has_gaps: bool) -> list[tuple[str, str]]:
    """Return names and texts of the figures of an audit."""
    labels = [
        f"{name}: {count:,} ({count / audit['rows']:.1%})"
        for name, count in list(audit["labels"].items())[:MAX_LABELS]
    ]
    if len(audit["labels"]) > MAX_LABELS:
        labels.append(f"{len(audit['labels']) - MAX_LABELS:,} more")
    return [
        ("files", ", ".join(audit["files"])),
        ("format", audit["format"]),
        ("rows", f"{audit['rows']:,}"),
        ("features", f"{audit['features']:,}"),
        ("nonzeros", f"{audit['nonzeros']:,} ({audit['nonzeros'] / audit['rows']:.1f} a row)"),
        ("density", f"{audit['density']:.4%}"),
        ("labels", "; ".join(labels) or "none, or too many to count"),
        ("bad lines", f"{audit['bad']['count']:,}" + ", rows with a gap among them" * has_gaps),
        (
            "bytes",
            f"{format_bytes(audit['memory_bytes'])} as a sparse matrix (CSR) in memory, "
            f"{format_bytes(audit['file_bytes'])} in files",
        ),
        ("method", f"{audit['suggested']}: {audit['reason']}"),
    ]
