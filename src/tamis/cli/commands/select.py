"""``tamis select``: the features that may be claimed, at a stated rate of false ones."""

import argparse
import csv
import sys
import time
from math import exp

from tamis.cli.data import source_of, task_of
from tamis.cli.messages import note, say
from tamis.cli.methods import UsageError
from tamis.cli.output import label, print_json, table
from tamis.model_files import save
from tamis.selection.false_discovery.estimator import FDRSelector
from tamis.system.terminal import for_csv

NAMES = 3  # substitutes that a line names
COLUMNS = [
    *("name", "class", "estimate", "error", "low", "high", "odds_ratio", "z", "pvalue", "qvalue"),
    *("substitutes", "half_1", "half_2"),
]


def run(given: argparse.Namespace) -> None:
    """Read, select, say it, show."""
    begun = time.monotonic()
    if not 0.0 < given.fdr < 1.0:
        raise UsageError(f"--fdr {given.fdr:g}: a share between 0 and 1.")
    selector = FDRSelector(
        q=given.fdr,
        substitutes=None if given.substitutes == "none" else _number(given.substitutes),
        n_candidates=given.candidates,
        screen=given.screen,
        correction=given.correction,
        n_jobs=given.threads or -1,
    )
    try:
        selector._validate_params()
    except ValueError as error:
        raise UsageError(str(error)) from None
    rows = source_of(given.file, given)
    selector.targets = "classes" if task_of(rows, given.task) == "classify" else "numbers"
    selector.fit_rows(rows, memory=given.memory)
    found = selector.table_
    chosen = [row for row in found if row["qvalue"] <= given.fdr]
    if given.out:
        save(selector, given.out)
    if given.json:
        print_json(
            {
                "fdr": given.fdr,
                "columns": selector.n_features_in_,
                "selected": chosen,
                "next": found[len(chosen) :],
                "rare_columns": selector.n_rare_,
                "model": given.out,
            }
        )
        return
    if given.csv:
        _write(chosen)
        return
    _tell(selector, found, chosen, given)
    note(f"{time.monotonic() - begun:.1f} s")


def _number(said: str) -> float:
    try:
        return float(said)
    except ValueError:
        raise UsageError(f"--substitutes {said}: a correlation up to 1, or none.") from None


def _tell(selector: FDRSelector, found: list[dict], chosen: list[dict], given) -> None:
    """The claim in a sentence, then the table."""
    width, rate = selector.n_features_in_, f"{given.fdr:.3g}"
    if not chosen:
        say(f"Nothing was found: no feature of {width:,} has a q-value of {rate} or less.")
        if found:
            say(f"The nearest is {found[0]['name']}, with {found[0]['qvalue']:.2g}.")
        return
    count = len(chosen)
    what = "feature" if count == 1 else "features"
    say(
        f"{count:,} {what} of {width:,} at a false discovery rate of {rate}: in the mean over data "
        "sets, at most that share of what is kept is false."
    )
    if any(row["substitutes"] for row in chosen):
        say("Where substitutes are named, the claim is about the feature or one of them.")
    several, classes = "output" in chosen[0], "odds_ratio" in chosen[0]
    of = f"odds of {label(selector.classes_[-1])}" if classes and not several else "odds"
    head = ["feature", *(["class"] if several else []), of if classes else "effect"]
    head += ["95 % interval", "z", "q-value", "z in halves", "substitutes"]
    lines = [_line(row, several, classes) for row in chosen[: given.top]]
    table(head, lines, left=2 if several else 1)
    unit = "numbers of tables in units of their spread" if given.units == "spread" else "as it is"
    does = "times the odds" if classes else "added to the target"
    note(f"effects: {does} by one unit of the column ({unit}), given the controls")
    if count > given.top:
        note(f"{count - given.top:,} more; --top shows them, --csv prints all")
    if given.out:
        say(f"selector: {given.out}")


def _line(row: dict, several: bool, classes: bool) -> list[str]:
    names = ("odds_ratio", "low", "high") if classes else ("estimate", "low", "high")
    ends = [row[name] for name in names]
    if classes:  # the ends of the interval are of log odds
        ends[1:] = [exp(max(-700.0, min(700.0, end))) for end in ends[1:]]
    mates = row["substitutes"]
    told = ", ".join(mates[:NAMES]) + (f" and {len(mates) - NAMES}" if len(mates) > NAMES else "")
    return [
        row["name"],
        *([label(row["output"])] if several else []),
        f"{ends[0]:.3g}",
        f"{ends[1]:.3g} to {ends[2]:.3g}",
        f"{row['z']:+.1f}",
        f"{row['qvalue']:.1g}",
        " ".join(f"{z:+.1f}" for z in row["halves"]),
        told,
    ]


def _write(chosen: list[dict]) -> None:
    """All selected features as CSV."""
    out = csv.writer(sys.stdout, lineterminator="\n")
    out.writerow(COLUMNS)
    for row in chosen:
        told = row | {
            "class": label(row.get("output", "")),
            "odds_ratio": row.get("odds_ratio", ""),
        }
        told |= {"substitutes": "; ".join(row["substitutes"])}
        told["half_1"], told["half_2"] = row["halves"]
        out.writerow([for_csv(told[name]) for name in COLUMNS])
