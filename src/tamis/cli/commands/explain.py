"""``tamis explain``: the contributions of features to the prediction of one row."""

import argparse
from typing import Any

from tamis.cli.data import open_source, require_schema
from tamis.cli.messages import print_note
from tamis.cli.methods import UsageError
from tamis.cli.output import label, print_json, print_pairs, print_table
from tamis.model_files import load


def run(args: argparse.Namespace) -> None:
    """Read the row and print its explanation."""
    if args.row < 1:
        raise UsageError(f"--row {args.row}: rows count from 1.")
    model = load(args.model)
    schema = require_schema(model, args.model, "Explain in Python.")
    if not hasattr(model, "explain"):
        raise UsageError(f"{args.model}: a {type(model).__name__} cannot explain its predictions.")
    rows, n_before = open_source(args.file, args, schema=schema, target=False), 0
    for chunk in rows:
        if args.row <= n_before + chunk.X.shape[0]:
            _print_explanation(model, chunk.X[[args.row - n_before - 1]], args)
            return
        n_before += chunk.X.shape[0]
    skipped = f" (and {rows.bad.count:,} bad lines were skipped)" if rows.bad.count else ""
    raise UsageError(f"--row {args.row}: there are {n_before:,} rows{skipped}.")


def _print_explanation(model, X, args: argparse.Namespace) -> None:
    """Print the explanation of the only row of X."""
    explanation = model.explain(X).row(0, _requested_class(model, args.label))
    contributions, prediction = explanation.contributions, _prediction(model, X)
    explained_class = _class_label(model, explanation.label)
    if args.json:
        print_json(
            {
                "row": args.row,
                "prediction": prediction,
                "class": explained_class,
                "score": explanation.score,
                "intercept": explanation.intercept,
                "contributions": [
                    {"name": name, "contribution": value} for name, value in contributions
                ],
            }
        )
        return
    pairs = [("row", f"{args.row:,}"), ("prediction", label(prediction))]
    if explained_class is not None:
        pairs.append(("explained", f"the score of {explained_class}"))
    pairs += [
        ("score", f"{explanation.score:+.6g}"),
        ("intercept", f"{explanation.intercept:+.6g}"),
    ]
    print_pairs(pairs)
    largest, remaining = contributions[: args.top], contributions[args.top :]
    if largest:
        print_table(["feature", "adds"], [[name, f"{value:+.4g}"] for name, value in largest])
    if remaining:
        total = sum(value for _, value in remaining)
        print_note(f"{len(remaining):,} more add {total:+.4g}; --top shows them")
    if not contributions:
        print_note("no kept feature of the model is in this row: the score is the intercept")


def _requested_class(model, text: str | None) -> Any:
    """Return the class of the model that the user names by --class, or None."""
    if text is None:
        return None
    labels = _class_labels(model)
    if labels is None or text not in labels:
        listed = "none" if labels is None else ", ".join(labels[:10])
        raise UsageError(f"--class {text}: the classes are {listed}.")
    return model.classes_[labels.index(text)]


def _class_labels(model) -> list[str] | None:
    """Return the labels of all classes as text, or None for a regressor."""
    classes = (model.reading_.get("labels") or ()) or getattr(model, "classes_", None)
    return None if classes is None else [label(c) for c in classes]


def _class_label(model, explained) -> str | None:
    """Return the label of the explained class as text, or None for a regressor."""
    labels = _class_labels(model)
    return None if labels is None else labels[list(model.classes_).index(explained)]


def _prediction(model, X) -> Any:
    """Return the prediction of the only row; of a multilabel model the labels as text."""
    prediction = model.predict(X)[0]
    if prediction.ndim and (labels := _class_labels(model)) is not None:
        return ", ".join(name for name, on in zip(labels, prediction, strict=True) if on)
    return prediction.tolist()
