"""School exams and the computer survey: multi-task selection, batch and online, every strength
chosen inside the training rows.
"""

from pathlib import Path
from typing import NamedTuple

import numpy as np

from benchmarks.papers.structured.cells import Cells, under
from tamis import MultiTaskRegressor, OnlineMultiTaskRegressor

PENALTIES = {"iMTFS": "individual", "aMTFS": "shared", "MTFTS": "shared+sparse"}
SETTINGS = ("intercepts", "columns")  # a free intercept a task, or the slides' columns alone
SCHOOL_FRACTIONS = (0.3, 0.1, 0.03, 0.01, 0.003)
FRACTIONS = (0.5, 0.3, 0.2, 0.1, 0.05, 0.02, 0.01)
SCHOOL_PASSES = 50  # of rounds, each a row of every school: 114 times the training rows
SPLITS = 10
PUBLISHED = (1.0, 3.0)  # divisors of the published update, for DA-iMTFS, to choose from
# Computers to learn from; passes (0: batch); orders of the rows.
PLANNED, SURVEY_PASSES, ORDERS = 16, (0, 1, 20), 10


class Rows(NamedTuple):
    """Rows with their targets and tasks."""

    X: np.ndarray
    y: np.ndarray
    task: np.ndarray

    def part(self, places) -> "Rows":
        """Some of the rows."""
        return Rows(self.X[places], self.y[places], self.task[places])


def school(folder: Path, setting: str) -> tuple[Rows, list]:
    """The exams, columns divided by their largest value, and the ten public splits; the last
    column, a constant, is left out.
    """
    with np.load(folder / "school.npz") as stored:
        X, y, task = (
            stored["X"].astype(float),
            stored["y"].astype(float),
            stored["task"].astype(int),
        )
        splits = [
            (stored[f"split{k}_train"], stored[f"split{k}_test"]) for k in range(1, SPLITS + 1)
        ]
    return Rows(X[:, :-1] / np.abs(X[:, :-1]).max(axis=0), y, task), splits


def computer(folder: Path, setting: str) -> tuple[Rows, list]:
    """Ratings of 20 computers by all persons, the last four for the test: the first 16 are an
    orthogonal plan.

    The constant column is a penalised one, or the intercept.
    """
    with np.load(folder / "computer.npz") as stored:
        X, ratings = stored["X"].astype(float), stored["Y"].astype(float)
    persons, models = ratings.shape
    rows = Rows(
        np.tile(X[:, int(setting == "intercepts") :], (persons, 1)),
        ratings.ravel(),
        np.repeat(np.arange(persons), models),
    )
    tested = np.tile(np.arange(models), persons) >= PLANNED
    return rows, [(np.flatnonzero(~tested), np.flatnonzero(tested))]


def fitted(
    rows: Rows,
    name: str,
    setting: str,
    passes: int,
    fraction: float,
    top: float,
    seed: int = 0,
    **steps,
):
    """A model at a fraction of the strongest penalty: batch, or with automatic steps whose horizon
    follows the number of rounds.
    """
    penalty, free = PENALTIES[name], setting == "intercepts"
    if not passes:
        return MultiTaskRegressor(fraction * top, penalty, tol=1e-5, fit_intercept=free).fit(*rows)
    steps = steps or {"t0": 0.3 * passes * np.bincount(rows.task).max()}
    given = {"max_iter": passes, "tol": None, "fit_intercept": free, "random_state": seed}
    return OnlineMultiTaskRegressor(penalty, fraction * top, **steps, **given).fit(*rows)


def strongest(rows: Rows, name: str, setting: str) -> float:
    """The smallest strength that keeps nothing."""
    return (
        MultiTaskRegressor(1e9, PENALTIES[name], fit_intercept=setting == "intercepts")
        .fit(*rows)
        .alpha_max_
    )


def errors(model, rows: Rows) -> np.ndarray:
    """Squared errors of the rows."""
    return (model.predict(rows.X, rows.task) - rows.y) ** 2


def published(gamma: float) -> dict:
    """Steps of the published update."""
    return {"eta": 1.0 / gamma, "t0": 0.0}


def chosen(
    rows: Rows, folds, name: str, setting: str, passes: int, fractions, **steps
) -> dict[str, float]:
    """Two fractions from held-out training rows: of least error, and of fewest weights within one
    standard error of it.
    """
    return tried(rows, folds, name, setting, passes, fractions, **steps)[0]


def tried(
    rows: Rows, folds, name: str, setting: str, passes: int, fractions, **steps
) -> tuple[dict[str, float], float]:
    """Both fractions, and the least error."""
    squares, kept = [[] for _ in fractions], np.zeros(len(fractions))
    for inside, out in folds:
        part, held = rows.part(inside), rows.part(out)
        top = strongest(part, name, setting)
        for k, fraction in enumerate(fractions):
            model = fitted(part, name, setting, passes, fraction, top, **steps)
            squares[k].append(errors(model, held))
            kept[k] += np.count_nonzero(model.coef_)
    joined = [np.concatenate(parts) for parts in squares]
    means = np.array([values.mean() for values in joined])
    best = int(np.argmin(means))
    near = means <= means[best] + joined[best].std() / np.sqrt(len(joined[best]))
    picks = {
        "least": fractions[best],
        "sparse": fractions[int(np.argmin(np.where(near, kept, np.inf)))],
    }
    return picks, float(means[best])


def judged(model, test: Rows) -> dict:
    """Explained variance % over all rows and within tasks, root mean squared error, and what was
    kept.
    """
    squares = errors(model, test)
    within = sum(
        ((part - part.mean()) ** 2).sum()
        for q in np.unique(test.task)
        for part in [test.y[test.task == q]]
    )
    return {
        "ev": 100.0 * (1.0 - squares.mean() / test.y.var()),
        "within": 100.0 * (1.0 - squares.sum() / within),
        "rmse": float(np.sqrt(squares.mean())),
        "nonzeros": int(np.count_nonzero(model.coef_)),
        "features": len(model.support_),
    }


def one_split(folder: Path, setting: str, name: str, passes: int, k: int, gammas=()) -> dict:
    """Both picks of a method on a split of School: tuned on a fifth of every school's training
    rows, judged on the test rows. With `gammas` by the published update, one of them chosen too.
    """
    rows, splits = school(folder, setting)
    train, test = (rows.part(places) for places in splits[k])
    given = _a_fifth(train, k), name, setting, passes, SCHOOL_FRACTIONS
    ways = [published(gamma) for gamma in gammas] or [{}]
    outcomes = [tried(train, *given, **steps) for steps in ways]
    at = int(np.argmin([error for _, error in outcomes]))
    (picks, _), steps = outcomes[at], ways[at]
    top, models = strongest(train, name, setting), {}
    for fraction in set(picks.values()):
        model = fitted(train, name, setting, passes, fraction, top, seed=k, **steps)
        models[fraction] = judged(model, test)
    return {pick: {**models[fraction], "fraction": fraction} for pick, fraction in picks.items()}


def _a_fifth(train: Rows, k: int) -> list:
    """One fold: a fifth of the training rows of every task."""
    held = np.zeros(len(train.y), dtype=bool)
    rng = np.random.default_rng(k)
    for q in np.unique(train.task):
        mine = rng.permutation(np.flatnonzero(train.task == q))
        held[mine[: len(mine) // 5]] = True
    return [(np.flatnonzero(~held), np.flatnonzero(held))]


def survey(folder: Path, setting: str, name: str) -> dict:
    """A penalty on the survey: batch, and online with one pass and with twenty, in ten orders.

    The strength comes from the batch model, one computer held out in turn; online models take the
    same: the same strength means the same model. The picks "own" are those of the online models
    themselves, found in the same way.
    """
    rows, splits = computer(folder, setting)
    train, test = (rows.part(places) for places in splits[0])
    turn = np.tile(np.arange(PLANNED), len(train.y) // PLANNED)
    folds = [(np.flatnonzero(turn != k), np.flatnonzero(turn == k)) for k in range(PLANNED)]
    picks, top = chosen(train, folds, name, setting, 0, FRACTIONS), strongest(train, name, setting)
    found = {}
    own = {
        passes: chosen(train, folds, name, setting, passes, FRACTIONS)["least"]
        for passes in SURVEY_PASSES
    }
    for pick in (*picks, "own"):
        found[pick] = {}
        for passes in SURVEY_PASSES:
            fraction = picks.get(pick, own[passes])
            orders = [
                judged(fitted(train, name, setting, passes, fraction, top, seed), test)
                for seed in range(ORDERS if passes else 1)
            ]
            found[pick][str(passes)] = {
                key: [float(f([o[key] for o in orders])) for f in (np.mean, np.std)]
                for key in ("rmse", "nonzeros")
            }
    return found


def run(cells: Cells, folder: Path | None, quick: bool) -> None:
    """School by ten splits, the survey by ten orders."""
    if folder is not None and (folder / "computer.npz").exists():
        for setting in SETTINGS:
            for name in PENALTIES:
                cells.need(f"computer/{setting}/{name}", survey, folder, setting, name)
    if folder is not None and (folder / "school.npz").exists():
        for k in range(1 if quick else SPLITS):
            for passes in (SCHOOL_PASSES, 0):
                for setting in SETTINGS:
                    for name in PENALTIES:
                        cells.need(
                            f"school/{setting}/{name}/{passes}/{k}",
                            one_split,
                            folder,
                            setting,
                            name,
                            passes,
                            k,
                        )
            for setting in SETTINGS:
                own = folder, setting, "iMTFS", SCHOOL_PASSES, k, PUBLISHED
                cells.need(f"school/{setting}/iMTFS/published/{k}", one_split, *own)


def summary(
    found: dict, setting: str, name: str, passes: int | str, pick: str = "least"
) -> dict | None:
    """School: mean and deviation over the splits."""
    rows = [cell[pick] for cell in under(found, "school", setting, name, passes)]
    return (
        {
            key: (float(np.mean(v)), float(np.std(v)))
            for key in rows[0]
            for v in [[row[key] for row in rows]]
        }
        if rows
        else None
    )
