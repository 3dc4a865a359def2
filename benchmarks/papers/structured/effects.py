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
