"""``tamis check``: what is in a file, all of it read."""

import argparse

from tamis.cli.columns import show_columns
from tamis.cli.data import audit_of, source_of, survey_of
from tamis.cli.messages import note
from tamis.cli.output import pairs, print_json, size
from tamis.data.columns.making import GAPS, NO_TARGET

SHOWN = 10
GAP, EMPTY_TARGET = "is missing. Pass", "is missing; every row needs it"


def run(given: argparse.Namespace) -> None:
    """Survey the file and say what was found."""
    rows = source_of(given.file, given)
    audit = audit_of(rows, survey_of(rows, label="check"))
    if given.json:
        print_json(audit)
        return
    gaps = any(text.startswith(GAPS) for text in audit["notes"])
    labels = [
        f"{name}: {count:,} ({count / audit['rows']:.1%})"
        for name, count in list(audit["labels"].items())[:SHOWN]
    ]
    more = len(audit["labels"]) - SHOWN
    lines = [
        ("files", ", ".join(audit["files"])),
        ("format", audit["format"]),
        ("rows", f"{audit['rows']:,}"),
        ("features", f"{audit['features']:,}"),
    ]
    lines += [
        ("nonzeros", f"{audit['nonzeros']:,} ({audit['nonzeros'] / audit['rows']:.1f} a row)"),
        ("density", f"{audit['density']:.4%}"),
    ]
    if more > 0:
        labels.append(f"{more:,} more")
    lines += [
        ("labels", "; ".join(labels) or "none, or too many to count"),
        ("bad lines", f"{audit['bad']['count']:,}" + ", rows with a gap among them" * gaps),
        (
            "bytes",
            f"{size(audit['memory_bytes'])} as a sparse matrix (CSR) in memory, "
            f"{size(audit['file_bytes'])} in files",
        ),
        ("method", f"{audit['suggested']}: {audit['reason']}"),
    ]
    pairs(lines)
    show_columns(audit["columns"])
    for text in audit["notes"]:
        note(text)
    if len(audit["labels"]) == 1:
        note(f"the target is {next(iter(audit['labels']))} in all rows: nothing can be learnt")
    untold = [EMPTY_TARGET] * any(text.startswith(NO_TARGET) for text in audit["notes"])
    untold += [GAP] * gaps
    for text in audit["bad"]["first"]:
        if not any(words in text for words in untold):  # which a note has counted by column
            note(text)
