"""Curves of test error against kept features: every strength of the penalty is shown, none is
chosen.
"""

import csv
import io
import tempfile
import warnings
from pathlib import Path

from benchmarks import realsets
from benchmarks.contestants import PASSES, Fold, Outcome, contestants
from benchmarks.pages import Page, Table, folder
from benchmarks.races import synthetic

STEPS, STEPS_MANY = 13, 7  # strengths a contestant; of the set with 20 classes
BUDGETS = (30, 100, 300, 1_000, 3_000)
COLOURS = {  # tamis in strong colours and full lines, the peers broken
    "tamis FOBOS": ("#1f77b4", "-", "o"),
    "tamis truncated gradient": ("#17becf", "-", "s"),
    "tamis RDA": ("#2ca02c", "-", "^"),
    "tamis FTRL": ("#d62728", "-", "D"),
    "tamis AdaGrad": ("#9467bd", "-", "v"),
    "SGDClassifier l1": ("#ff7f0e", "--", "o"),
    "liblinear l1": ("#000000", "--", "s"),
    "Vowpal Wabbit --l1": ("#8c564b", ":", "^"),
    "Vowpal Wabbit --ftrl": ("#7f7f7f", ":", "D"),
}

Curves = dict[str, list[tuple[float, Outcome]]]


def draw(split, steps: int) -> Curves:
    """Strength, error and kept features of every contestant, strong to weak."""
    with tempfile.TemporaryDirectory() as place:
        fold = Fold(*split, Path(place), "whole")
        return {
            name: [(s, one.run(fold, s, one.paces[0])) for s in one.strengths]
            for name, one in contestants(steps).items()
        }


def best_within(curve, budget: int) -> str:
    """Least error over the points of a curve that keep at most that many features."""
    errors = [outcome.error for _, outcome in curve if 0 < outcome.kept <= budget]
    return f"{100 * min(errors):.1f}" if errors else "-"


def table(name: str, split, curves: Curves) -> Table:
    """The curves of one set, read at a few numbers of features."""
    budgets = (*BUDGETS, split.X.shape[1])
    rows = [
        [contestant, *(best_within(curve, budget) for budget in budgets)]
        for contestant, curve in curves.items()
    ]
    head = [
        "least error on the curve, %",
        *(f"up to {budget:,} features" for budget in BUDGETS),
        "any number",
    ]
    return Table(f"{name}: {split.words()}", head, rows)


def write_points(found: dict[str, Curves], file: Path) -> None:
    """All points, for those who want to draw them anew."""
    with file.open("w", newline="") as opened:
        writer = csv.writer(opened, lineterminator="\n")
        writer.writerow(["set", "contestant", "strength", "kept", "error", "seconds"])
        for name, curves in found.items():
            for contestant, curve in curves.items():
                writer.writerows(
                    [name, contestant, f"{s:g}", o.kept, f"{o.error:.4f}", f"{o.seconds:.4f}"]
                    for s, o in curve
                )


def picture(found: dict[str, Curves], file: Path) -> None:
    """Small multiples, one panel a set, the legend in the last cell."""
    import matplotlib
    from PIL import Image

    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    columns = 3 if len(found) > 2 else 2
    lines = -(-(len(found) + 1) // columns)
    figure, panels = plt.subplots(
        lines, columns, figsize=(4.2 * columns, 3.5 * lines), squeeze=False, layout="constrained"
    )
    panels = panels.ravel()
    for panel, (name, curves) in zip(panels, found.items(), strict=False):
        for contestant, curve in curves.items():
            colour, style, mark = COLOURS[contestant]
            points = [(o.kept, 100 * o.error) for _, o in curve if o.kept]
            panel.plot(
                *zip(*points, strict=True),
                color=colour,
                linestyle=style,
                marker=mark,
                markersize=3.5,
                linewidth=1.4,
                label=contestant,
            )
        least = min(100 * o.error for curve in curves.values() for _, o in curve if o.kept)
        panel.set(xscale="log", title=name, ylim=(0, 3 * least + 3))
        panel.grid(alpha=0.25, which="both", linewidth=0.5)
        panel.spines[["top", "right"]].set_visible(False)
    for panel in panels[len(found) :]:
        panel.axis("off")
    panels[len(found)].legend(
        *panels[0].get_legend_handles_labels(),
        loc="center",
        frameon=False,
        title="L1 penalty from strong (left) to weak",
    )
    for panel in panels[: len(found)]:
        panel.set(xlabel="features kept", ylabel="test error, %")
    full = io.BytesIO()
    figure.savefig(full, dpi=110)
    plt.close(figure)
    Image.open(full).convert("RGB").quantize(128).save(file, optimize=True)  # a third of the size


def run(quick: bool) -> Page:
    """All curves."""
    page = Page("curves", "Sparsity against error", "")
    found: dict[str, Curves] = {}
    splits = {"rcv1-like": synthetic(quick)}
    if not quick:
        splits |= {name: realsets.read(name) for name in realsets.available()}
        if len(splits) > 1:  # the workload has its race; the curves are of real sets
            del splits["rcv1-like"]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for name, split in splits.items():
            steps = 3 if quick else STEPS_MANY if "20 classes" in name else STEPS
            found[name] = draw(split, steps)
            page.tables.append(table(name, split, found[name]))
    page.opening = f"""
        Test error against the number of features kept, over a path of {STEPS} penalties from strong
        to weak ({STEPS_MANY} for the set with 20 classes, where a feature is kept if any class
        keeps it). **No point is selected**: the curves show every penalty, and the tables read the
        least test error off them, so they flatter every contestant alike; the [races](races.md)
        choose settings without test rows. One fixed step size each (the default, but `--ftrl_alpha
        2` for Vowpal Wabbit's FTRL), {PASSES} passes, rows of unit norm in one random order.
        liblinear solves the batch problem (tolerance 1e-3). All points:
        [curves.csv](curves.csv)."""
    if len(found) == 1 and not quick:
        page.opening += f"\n\n{realsets.ABSENT}"
    place = folder(quick)
    write_points(found, place / "curves.csv")
    picture(found, place / "curves.png")
    page.figures.append(
        ("curves.png", "Test error against features kept, one panel a data set, one line a method")
    )
    return page
