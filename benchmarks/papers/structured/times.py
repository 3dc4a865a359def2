"""Running times: one fit at a tenth of the strongest penalty, batch and online in turn, in CPU
seconds.
"""

import time
from pathlib import Path

import numpy as np

from benchmarks.clock import interleaved
from benchmarks.papers.structured import synthetic, tasks
from benchmarks.papers.structured.cells import Cells
from benchmarks.papers.structured.slides import SIZES

FRACTION, ROUNDS = 0.1, 3
SHOWN = ("Lasso", "GL", "L1-RDA", "DA-GL", "DA-SGL", "enhanced DA-SGL")
TASKS = {"school": ("School", (tasks.SCHOOL_PASSES,)), "computer": ("computer survey", (1, 20))}


def by_rows(n: int) -> dict:
    """Seconds of every method on n synthetic rows."""
    X, y, _ = synthetic.draw(np.random.default_rng(n), n)
    if len(np.unique(y)) < 2:
        y[0] = -y[0]
    actions = {
        name: lambda method=synthetic.METHODS[name]: _silent(
            synthetic.fitted, method, X, y, FRACTION, min(method.rhos)
        )
        for name in SHOWN
    }
    times = interleaved(actions, ROUNDS, clock=time.process_time)
    return {"seconds": {name: times[name].least for name in SHOWN}}


def by_method(word: str, folder: Path) -> dict:
    """Seconds of the multi-task methods on the training rows of the first split, without
    intercepts, as in the slides.
    """
    rows, splits = getattr(tasks, word)(folder, "columns")
    train, actions = rows.part(splits[0][0]), {}
    for name in tasks.PENALTIES:
        top = tasks.strongest(train, name, "columns")
        for passes in (0, *TASKS[word][1]):
            actions[f"{name}/{passes}"] = lambda name=name, passes=passes, top=top: _silent(
                tasks.fitted, train, name, "columns", passes, FRACTION, top
            )
    times = interleaved(actions, ROUNDS, clock=time.process_time)
    return {"seconds": {name: value.least for name, value in times.items()}}


def _silent(action, *given) -> None:
    """Call without a result, which the clock would take for seconds."""
    action(*given)


def run(cells: Cells, folder: Path | None, quick: bool) -> None:
    """All sizes and both sets."""
    for n in SIZES[:3] if quick else SIZES:
        cells.need(f"times/rows/{n}", by_rows, n)
    for word in TASKS:
        if folder is not None and (folder / f"{word}.npz").exists():
            cells.need(f"times/tasks/{word}", by_method, word, folder)
