"""What alpha and gamma do to the number of nonzero weights and to the error, as the slides plot it;
and the batch path of School.
"""

from pathlib import Path

import numpy as np

from benchmarks.papers.structured import tasks
from benchmarks.papers.structured.cells import Cells, under

NAMES = ("aMTFS", "MTFTS")
GAMMAS = {"school": (3.0, 10.0, 30.0, 100.0), "computer": (0.9, 3.0, 9.0, 30.0)}
FRACTIONS = (0.5, 0.3, 0.2, 0.1, 0.05, 0.02, 0.01)
PASSES = 20
APPROACH, BEST = (10, 50, 200), {"columns": 0.01, "intercepts": 0.03}
STEPS = {"automatic": {}, "gamma 1": tasks.published(1.0), "gamma 3": tasks.published(3.0)}
TOLD = ("ev", "nonzeros")
PATH = (0.5, 0.3, 0.2, 0.1, 0.05, 0.03, 0.02, 0.01, 0.005)


def grid(word: str, folder: Path, setting: str, name: str, gamma: float) -> dict:
    """The published update (t0 = 0) at one gamma, over all strengths, on the first split; a
    blown-up fit has no figures.
    """
    rows, splits = getattr(tasks, word)(folder, setting)
    train, test = (rows.part(places) for places in splits[0])
    top, found = tasks.strongest(train, name, setting), []
    for fraction in FRACTIONS:
        try:
            model = tasks.fitted(
                train, name, setting, PASSES, fraction, top, eta=1.0 / gamma, t0=0.0
            )
            found.append({"fraction": fraction, **tasks.judged(model, test)})
        except FloatingPointError:
            found.append({"fraction": fraction, "nonzeros": None, "ev": None, "rmse": None})
    return {"rows": found}


def path(folder: Path, setting: str, name: str, k: int) -> dict:
    """Batch solutions of School along the strengths, on one split."""
    rows, splits = tasks.school(folder, setting)
    train, test = (rows.part(places) for places in splits[k])
    top = tasks.strongest(train, name, setting)
    return {
        "rows": [
            {"fraction": f, **tasks.judged(tasks.fitted(train, name, setting, 0, f, top), test)}
            for f in PATH
        ]
    }


def approach(folder: Path, setting: str) -> dict:
    """How far DA-iMTFS is from its solution after some passes, at the strength that suits the
    batch model, on the first split: the share of the way from zero weights that is left, in the
    objective, and explained variance of the test rows; with automatic and with published steps.
    """
    rows, splits = tasks.school(folder, setting)
    train, test = (rows.part(places) for places in splits[0])
    top, fraction = tasks.strongest(train, "iMTFS", setting), BEST[setting]
    batch = tasks.fitted(train, "iMTFS", setting, 0, fraction, top)
    least, none = (_objective(model, train, fraction * top) for model in (batch, None))
    found: dict = {"fraction": fraction, "batch": tasks.judged(batch, test)["ev"], "rows": []}
    for name, steps in STEPS.items():
        for passes in APPROACH:
            model = tasks.fitted(train, "iMTFS", setting, passes, fraction, top, **steps)
            left = (_objective(model, train, fraction * top) - least) / (none - least)
            told = tasks.judged(model, test)
            found["rows"].append(
                {"steps": name, "passes": passes, "left": left, **{k: told[k] for k in TOLD}}
            )
    return found


def _objective(model, rows: tasks.Rows, alpha: float) -> float:
    """Half the mean squared error of each task, summed, and the penalty; of no model: that of
    zero weights and intercepts.
    """
    if model is None:
        squares, weights = rows.y**2, 0.0
    else:
        squares, weights = tasks.errors(model, rows), float(np.abs(model.coef_).sum())
    means = np.bincount(rows.task, squares) / np.bincount(rows.task)
    return 0.5 * float(means.sum()) + alpha * weights


def run(cells: Cells, folder: Path | None, quick: bool) -> None:
    """Both sets; the setting is that of the slides, without intercepts."""
    for word, gammas in GAMMAS.items():
        if folder is None or not (folder / f"{word}.npz").exists():
            continue
        for gamma in gammas[: 1 if quick else None]:
            for name in NAMES:
                cells.need(
                    f"effects/{word}/{name}/{gamma:g}", grid, word, folder, "columns", name, gamma
                )
    if folder is not None and (folder / "school.npz").exists():
        for setting in tasks.SETTINGS[: 1 if quick else None]:
            cells.need(f"effects/approach/{setting}", approach, folder, setting)
        for k in range(1 if quick else tasks.SPLITS):
            for setting in tasks.SETTINGS:
                for name in tasks.PENALTIES:
                    cells.need(f"effects/path/{setting}/{name}/{k}", path, folder, setting, name, k)


def path_of(found: dict, setting: str, name: str) -> np.ndarray:
    """Fraction, explained variance within schools and over all rows, nonzeros: means over the
    splits, one row a fraction.
    """
    cells = [cell["rows"] for cell in under(found, "effects", "path", setting, name)]
    if not cells:
        return np.zeros((0, 4))
    return np.array(
        [
            [[row[key] for key in ("fraction", "within", "ev", "nonzeros")] for row in rows]
            for rows in cells
        ]
    ).mean(axis=0)
