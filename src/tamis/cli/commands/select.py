"""``tamis select``: the features that may be claimed, at a stated false discovery rate."""

import argparse
import csv
import sys
import time
from math import exp

from tamis.cli.data import choose_task, open_source
from tamis.cli.messages import print_line, print_note
from tamis.cli.methods import UsageError
from tamis.cli.output import label, print_json, print_table
from tamis.model_files import save
from tamis.selection.false_discovery.estimator import FDRSelector
from tamis.system.terminal import for_csv


def run(args: argparse.Namespace) -> None:
    """Read the rows, select features, and print them."""
    start = time.monotonic()
    if not 0.0 < args.fdr < 1.0:
        raise UsageError(f"--fdr {args.fdr:g}: a share between 0 and 1.")
    selector = FDRSelector(
        q=args.fdr,
        substitutes=None if args.substitutes == "none" else _parse_correlation(args.substitutes),
        n_candidates=args.candidates,
        screen=args.screen,
        correction=args.correction,
        n_jobs=args.threads or -1,
    )
    try:
        selector._validate_params()
    except ValueError as error:
        raise UsageError(str(error)) from None
    rows = open_source(args.file, args)
    selector.targets = "classes" if choose_task(rows, args.task) == "classify" else "numbers"
    selector.fit_rows(rows, memory=args.memory)
    table = selector.table_
    selected = [feature for feature in table if feature["qvalue"] <= args.fdr]
    if args.out:
        save(selector, args.out)
    if args.json:
        print_json(
            {
                "fdr": args.fdr,
                "columns": selector.n_features_in_,
                "selected": selected,
                "next": table[len(selected) :],
                "rare_columns": selector.n_rare_,
                "model": args.out,
            }
        )
        return
    if args.csv:
        _write_csv(selected)
        return
    _print_selection(selector, selected, args)
    print_note(f"{time.monotonic() - start:.1f} s")


def _parse_correlation(text: str) -> float:
    try:
        return float(text)
    except ValueError:
        raise UsageError(f"--substitutes {text}: a correlation up to 1, or none.") from None


def _print_selection(selector: FDRSelector, selected: list[dict], args: argparse.Namespace) -> None:
    """Print the claim as a sentence, then the selected features as a table."""
    n_features, rate = selector.n_features_in_, f"{args.fdr:.3g}"
    if not selected:
        print_line(
            f"Nothing was found: no feature of {n_features:,} has a q-value of {rate} or less."
        )
        if table := selector.table_:
            print_line(f"The nearest is {table[0]['name']}, with {table[0]['qvalue']:.2g}.")
        return
    count = len(selected)
    noun = "feature" if count == 1 else "features"
    print_line(
        f"{count:,} {noun} of {n_features:,} at a false discovery rate of {rate}: in the mean over "
        "data sets, at most that share of what is kept is false."
    )
    if any(feature["substitutes"] for feature in selected):
        print_line("Where substitutes are named, the claim is about the feature or one of them.")
    multioutput, is_logistic = "output" in selected[0], "odds_ratio" in selected[0]
    odds = f"odds of {label(selector.classes_[-1])}" if is_logistic and not multioutput else "odds"
    header = ["feature", *(["class"] if multioutput else []), odds if is_logistic else "effect"]
    header += ["95 % interval", "z", "q-value", "z in halves", "substitutes"]
    lines = [_format_line(feature, multioutput, is_logistic) for feature in selected[: args.top]]
    print_table(header, lines, n_left=2 if multioutput else 1)
    unit = "numbers of tables in units of their spread" if args.units == "spread" else "as it is"
    effect = "times the odds" if is_logistic else "added to the target"
    print_note(f"effects: {effect} by one unit of the column ({unit}), given the controls")
    if count > args.top:
        print_note(f"{count - args.top:,} more; --top shows them, --csv prints all")
    if args.out:
        print_line(f"selector: {args.out}")


def _format_line(
    feature: dict, multioutput: bool, is_logistic: bool, max_names: int = 3
) -> list[str]:
    """Return the cells of a selected feature; at most `max_names` substitutes are named."""
    effect, low, high = (
        feature[name] for name in ("odds_ratio" if is_logistic else "estimate", "low", "high")
    )
    if is_logistic:  # the interval is one of log odds
        low, high = (exp(max(-700.0, min(700.0, end))) for end in (low, high))
    substitutes = feature["substitutes"]
    more = f" and {len(substitutes) - max_names}" if len(substitutes) > max_names else ""
    return [
        feature["name"],
        *([label(feature["output"])] if multioutput else []),
        f"{effect:.3g}",
        f"{low:.3g} to {high:.3g}",
        f"{feature['z']:+.1f}",
        f"{feature['qvalue']:.1g}",
        " ".join(f"{z:+.1f}" for z in feature["halves"]),
        ", ".join(substitutes[:max_names]) + more,
    ]


def _write_csv(selected: list[dict]) -> None:
    """Write all selected features to standard output as CSV."""
    names = ["name", "class", "estimate", "error", "low", "high", "odds_ratio"]
    names += ["z", "pvalue", "qvalue", "substitutes", "half_1", "half_2"]
    writer = csv.writer(sys.stdout, lineterminator="\n")
    writer.writerow(names)
    for feature in selected:
        cells = feature | {
            "class": label(feature.get("output", "")),
            "odds_ratio": feature.get("odds_ratio", ""),
            "substitutes": "; ".join(feature["substitutes"]),
        }
        cells["half_1"], cells["half_2"] = feature["halves"]
        writer.writerow([for_csv(cells[name]) for name in names])
