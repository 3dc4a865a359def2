"""``tamis inspect``: print what a model file holds."""

import argparse
import csv
import sys
from typing import Any

from tamis.cli.data import column_names
from tamis.cli.output import (
    held_out_json,
    held_out_pairs,
    label,
    print_json,
    print_pairs,
    print_weights,
    rank_weights,
)
from tamis.model_files import load
from tamis.reporting.page.held_out_error import held_out_error
from tamis.system.terminal import for_csv


def run(args: argparse.Namespace) -> None:
    """Load the model and print its settings, its held-out error and its weights."""
    model = load(args.model)
    if not hasattr(model, "support_"):
        raise ValueError(
            f"{args.model}: a {type(model).__name__} that is not fitted, or that selects no "
            "features."
        )
    weights = rank_weights(model, column_names(model), None if args.csv else args.top)
    if args.csv:
        names = ["column", "name", "class", "weight", "importance", "probability"]
        writer = csv.DictWriter(sys.stdout, names, restval="", lineterminator="\n")
        writer.writeheader()
        writer.writerows(
            {name: for_csv(value) for name, value in line.items()} for line in weights.lines
        )
        return
    summary, error = _summarize(model), held_out_error(model)
    if args.json:
        print_json({**summary, **held_out_json(model, error), "top": weights.lines})
        return
    parameters = ", ".join(f"{name}={value}" for name, value in summary["parameters"].items())
    pairs = [
        ("model", summary["model"]),
        ("parameters", parameters or "as by default"),
        ("features", f"{summary['features']:,}"),
        ("kept", f"{summary['kept']:,}"),
    ]
    if classes := summary["classes"]:
        more = ", ..." if len(classes) > 20 else ""
        pairs.append(("classes", ", ".join(classes[:20]) + more))
    print_pairs(pairs + held_out_pairs(error))
    print_weights(weights, error)


def _summarize(model) -> dict[str, Any]:
    """Return the class, the changed parameters, the sizes and the classes of a model."""
    defaults = type(model)().get_params(deep=False)
    changed = {
        name: value
        for name, value in model.get_params(deep=False).items()
        if value != defaults[name] and name not in ("n_jobs", "verbose")
    }
    return {
        "model": type(model).__name__,
        "parameters": {name: str(value) for name, value in changed.items()},
        "features": int(model.n_features_in_),
        "kept": len(model.support_),
        "classes": [label(c) for c in getattr(model, "classes_", [])],
        "trained_on": (getattr(model, "reading_", None) or {}).get("format"),
    }
