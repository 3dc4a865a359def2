"""``tamis check``: what is in a file, all of it read."""

import argparse

from tamis.cli.data import audit_of, source_of, survey_of
from tamis.cli.say import note
from tamis.cli.show import pairs, print_json, size

SHOWN = 10


def run(given: argparse.Namespace) -> None:
    """Survey the file and say what was found."""
    rows = source_of(given.file, given)
    audit = audit_of(rows, survey_of(rows, label="check"))
    if given.json:
        print_json(audit)
        return
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
        ("bad lines", f"{audit['bad']['count']:,}"),
        ("memory", f"{size(audit['memory_bytes'])} to fit"),
        ("method", f"{audit['suggested']}: {audit['reason']}"),
    ]
    pairs(lines)
    for text in audit["notes"]:
        note(text)
    for text in audit["bad"]["first"]:
        note(text)
