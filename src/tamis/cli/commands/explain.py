"""``tamis explain``: where the prediction of one row comes from."""

import argparse
from typing import Any

from tamis.cli.data import schema_of, source_of
from tamis.cli.messages import note
from tamis.cli.methods import UsageError
from tamis.cli.output import label, pairs, print_json, table
from tamis.model_files import load


def run(given: argparse.Namespace) -> None:
    """Read the row, explain, show."""
    if given.row < 1:
        raise UsageError(f"--row {given.row}: rows count from 1.")
    model = load(given.model)
    schema = schema_of(model, given.model, "Explain in Python.")
    if not hasattr(model, "explain"):
        raise UsageError(f"{given.model}: a {type(model).__name__} explains nothing.")
    rows, before = source_of(given.file, given, schema=schema, target=False), 0
    for chunk in rows:
        if given.row <= before + chunk.X.shape[0]:
            at = given.row - before - 1
            _show(model, chunk.X[[at]], given)
            return
        before += chunk.X.shape[0]
    skipped = f" (and {rows.bad.count:,} bad lines were skipped)" if rows.bad.count else ""
    raise UsageError(f"--row {given.row}: there are {before:,} rows{skipped}.")


def _show(model, X, given: argparse.Namespace) -> None:
    """Print the explanation of the only row."""
    found = model.explain(X)
    told = found.row(0, _asked(model, given.label))
    first, rest = told.contributions[: given.top], told.contributions[given.top :]
    if given.json:
        print_json(
            {
                "row": given.row,
                "prediction": _predicted(model, X),
                "class": _class(model, told.label),
                "score": told.score,
                "intercept": told.intercept,
                "contributions": [
                    {"name": name, "contribution": share} for name, share in told.contributions
                ],
            }
        )
        return
    lines = [("row", f"{given.row:,}"), ("prediction", label(_predicted(model, X)))]
    if (named := _class(model, told.label)) is not None:
        lines.append(("explained", f"the score of {named}"))
    pairs([*lines, ("score", f"{told.score:+.6g}"), ("intercept", f"{told.intercept:+.6g}")])
    if first:
        table(["feature", "adds"], [[name, f"{share:+.4g}"] for name, share in first])
    if rest:
        note(f"{len(rest):,} more add {sum(share for _, share in rest):+.4g}; --top shows them")
    if not told.contributions:
        note("no kept feature of the model is in this row: the score is the intercept")


def _asked(model, wanted: str | None) -> Any:
    """The class that the user writes."""
    if wanted is None:
        return None
    classes = _classes(model)
    if classes is None or wanted not in classes:
        listed = "none" if classes is None else ", ".join(classes[:10])
        raise UsageError(f"--class {wanted}: the classes are {listed}.")
    return model.classes_[classes.index(wanted)]


def _classes(model) -> list[str] | None:
    """The classes as people write them; None of numbers."""
    known = (model.reading_.get("labels") or ()) or getattr(model, "classes_", None)
    return None if known is None else [label(one) for one in known]


def _class(model, told) -> str | None:
    """The class that is explained, as people write it."""
    classes = _classes(model)
    return None if classes is None else classes[list(model.classes_).index(told)]


def _predicted(model, X) -> Any:
    """What the model predicts; of labels those that it gives."""
    guess = model.predict(X)[0]
    if guess.ndim and (classes := _classes(model)) is not None:
        return ", ".join(name for name, on in zip(classes, guess, strict=True) if on)
    return guess.tolist()
