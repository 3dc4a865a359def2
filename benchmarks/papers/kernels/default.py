"""The tri-class SVM as it is out of the box, against the plain SVM of the same settings.

`jobs` says which cells there are, `cell` makes one, `section` makes the text of them.
"""

import json
import time
import warnings
from pathlib import Path

import numpy as np
from scipy import stats

from benchmarks.papers.kernels.default_sets import available, draw
from benchmarks.papers.stabilized.page import pipe
from tamis import TriClassSVC

RUNS, SIZES = 10, (5, 10, 20)
MACHINES = {
    "SVM": {"mode": "svm"},
    "3C, a tenth of C": {"C_unlabeled": 0.1},
    "3C, C_unlabeled='auto'": {},
}
PLAIN, FIXED, CHOSEN = MACHINES
OPENING = """\
Everything as it is out of the box (C = 1), nothing tuned: the SVM of the labelled rows,
`TriClassSVC` with a tenth of C for every unlabelled row (its default until it chose), and as it is
now, choosing 0, C / 10 or C inside the labelled rows. Up to 500 unlabelled rows, of which a share
tau is of the two classes; of sets of two classes all are. Words are weighed by tf-idf, columns of
tables are in units of their deviation, digits have an RBF kernel unless it is said, all others a
linear one. Mean accuracy % ± deviation over draws of rows, on up to 600 rows that took no part;
gain of the default over the SVM with its standard error over draws, and the share of draws in which
it made use of the unlabelled rows."""


def jobs(folder: Path | None, quick: bool):
    """Keys of all cells, a run of all sets after another: (set, labels a class, run)."""
    names = available(folder)[:4] if quick else available(folder)
    sizes = SIZES[:1] if quick else SIZES
    yield from (
        (name, size, run) for run in range(2 if quick else RUNS) for size in sizes for name in names
    )


def warmed() -> None:
    """Load compiled code, so that no cell is charged for it."""
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(40, 3)), np.arange(40) % 2
    y = np.where(np.arange(40) < 20, y, -1)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for given in MACHINES.values():
            for kernel in ("linear", "rbf"):
                TriClassSVC(kernel=kernel, **given).fit(X, y).predict(X)


def cell(name: str, size: int, number: int, folder: Path | None) -> dict:
    """Accuracies of all machines on one draw, the price that was chosen, and seconds of fits."""
    rows = draw(name, size, number, folder)
    found: dict = {}
    for machine, given in MACHINES.items():
        begin = time.process_time()
        model = TriClassSVC(kernel=rows.kernel, **given).fit(rows.X, rows.y)
        found[machine] = {
            "accuracy": float(model.score(rows.X_test, rows.y_test)),
            "seconds": time.process_time() - begin,
            "price": model.resolved_params_["C_unlabeled"],
        }
    return found


# --------------------------------------------------------------------------- words
def gather(cells: dict) -> dict:
    """Cells by set and labels a class, runs in order."""
    found: dict = {}
    for key, values in cells.items():
        name, size, _ = key.split("|")
        found.setdefault((name, int(size)), []).append(values)
    return dict(sorted(found.items(), key=lambda item: item[0]))


def column(cells: list, machine: str, figure: str = "accuracy") -> np.ndarray:
    """One figure of a machine over runs; accuracies in per cent."""
    values = np.array([cell[machine][figure] for cell in cells])
    return 100 * values if figure == "accuracy" else values


def deviation(values: np.ndarray) -> float:
    """Deviation over draws; 0 of a single one."""
    return float(values.std(ddof=min(1, len(values) - 1)))


def gains(cells: list, machine: str) -> tuple[float, float]:
    """Mean gain over the plain machine, and its standard error over draws."""
    apart = column(cells, machine) - column(cells, PLAIN)
    return float(apart.mean()), deviation(apart) / len(apart) ** 0.5


def verdict(found: dict) -> list[str]:
    """What the figures say, counted."""
    lines = []
    for kind, toys in (("Gaussian toys", True), ("real sets", False)):
        own = {key: cells for key, cells in found.items() if key[0].startswith("toy") == toys}
        for machine in (CHOSEN, FIXED) if own else ():
            means = [gains(cells, machine)[0] for cells in own.values()]
            chances = [_chance(cells, machine) for cells in own.values()]
            pairs = list(zip(means, chances, strict=True))
            better, worse = (
                sum(sign * g > 0 and p < 0.05 for g, p in pairs) for sign in (1.0, -1.0)
            )
            lines.append(
                f"- {kind}: {machine} against the SVM: better in {better}, worse in {worse} of "
                f"{len(own)} settings, mean gain {np.mean(means):+.2f} points, at worst "
                f"{min(means):+.1f}."
            )
    slower = [
        column(cells, CHOSEN, "seconds").mean() / column(cells, FIXED, "seconds").mean()
        for cells in found.values()
    ]
    lines.append(
        f"- The choice takes {np.median(slower):.0f} times as long as a fit at a given price, "
        f"{min(slower):.0f} to {max(slower):.0f} times over the settings."
    )
    return lines


def _chance(cells: list, machine: str) -> float:
    """Paired t-test over runs; 1 where nothing differs."""
    mine, theirs = column(cells, machine), column(cells, PLAIN)
    alike = len(mine) < 3 or np.ptp(mine - theirs) == 0
    return 1.0 if alike else float(stats.ttest_rel(mine, theirs).pvalue)


def section(stored: Path) -> str:
    """The part of the page about the default."""
    found = gather(json.loads(stored.read_text()))
    rows = []
    for (name, size), cells in found.items():
        shown = [
            f"{column(cells, m).mean():.1f} ± {deviation(column(cells, m)):.1f}" for m in MACHINES
        ]
        gain, error = gains(cells, CHOSEN)
        used = np.mean(column(cells, CHOSEN, "price") > 0.0)
        rows.append(
            [name, str(size), str(len(cells)), *shown, f"{gain:+.1f} ± {error:.1f}", f"{used:.1f}"]
        )
    head = ["set", "labels a class", "draws", *MACHINES, "gain over the SVM", "used"]
    lines = ["## Tri-class SVM: the default against the plain SVM", "", OPENING, ""]
    lines += ["### Verdict of the default", ""]
    lines += ["Better and worse by a paired t-test at 5 %.", "", *verdict(found), ""]
    return "\n".join([*lines, "### All sets", "", *pipe(head, rows)])
