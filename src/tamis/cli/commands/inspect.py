"""``tamis inspect``: what a model file holds."""

import argparse
import csv
import sys
from typing import Any

from tamis.cli.data import names_for
from tamis.cli.output import errors_of, held_out_lines, kept, label, pairs, print_json, show_kept
from tamis.model_files import load
from tamis.reporting.page.held_out_error import held_out_error
from tamis.system.terminal import for_csv


def run(given: argparse.Namespace) -> None:
    """Show the model."""
    model = load(given.model)
    if not hasattr(model, "support_"):
        raise ValueError(
            f"{given.model}: a {type(model).__name__} that has not been fitted, or that keeps no "
            "features to show."
        )
    found = kept(model, names_for(model), None if given.csv else given.top)
    if given.csv:
        names = ["column", "name", "class", "weight", "importance", "probability"]
        writer = csv.DictWriter(sys.stdout, names, restval="", lineterminator="\n")
        writer.writeheader()
        writer.writerows(
            {name: for_csv(value) for name, value in line.items()} for line in found.lines
        )
        return
    usual = type(model)().get_params(deep=False)
    changed = {
        name: value
        for name, value in model.get_params(deep=False).items()
        if value != usual[name] and name not in ("n_jobs", "verbose")
    }
    facts: dict[str, Any] = {
        "model": type(model).__name__,
        "parameters": {name: str(value) for name, value in changed.items()},
    }
    facts |= {"features": int(model.n_features_in_), "kept": len(model.support_)}
    facts |= {
        "classes": [label(c) for c in getattr(model, "classes_", [])],
        "trained_on": (getattr(model, "reading_", None) or {}).get("format"),
    }
    held_out = held_out_error(model)
    if given.json:
        facts |= errors_of(model, held_out)
        print_json({**facts, "top": found.lines})
        return
    lines = [
        ("model", facts["model"]),
        (
            "parameters",
            ", ".join(f"{k}={v}" for k, v in facts["parameters"].items()) or "as by default",
        ),
    ]
    lines += [("features", f"{facts['features']:,}"), ("kept", f"{facts['kept']:,}")]
    if facts["classes"]:
        lines.append(
            (
                "classes",
                ", ".join(facts["classes"][:20]) + (", ..." if len(facts["classes"]) > 20 else ""),
            )
        )
    pairs(lines + held_out_lines(held_out))
    show_kept(found, held_out)
