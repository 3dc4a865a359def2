"""``tamis warm``: compile what most commands use, once."""

import argparse
import tempfile
import time
import warnings
from pathlib import Path

from tamis.cli.messages import note
from tamis.cli.methods import TASKS, build, chosen, has_task
from tamis.data.opening import open_rows
from tamis.training.walk import train

LINES = {
    "few.svm": "".join(f"{k % 2} {1 + k % 7}:{k + 1} {9 + k % 5}:0.5\n" for k in range(60)),
    "few.csv": "a,b,y\n" + "".join(f"{k},{'uv'[k % 2]},{k % 2}\n" for k in range(60)),
    "few.vw": "".join(f"{k % 2} | a{k % 7}:{k + 1} b{k % 5}\n" for k in range(60)),
}


def run(given: argparse.Namespace) -> None:
    """Tiny fits of every method, and a reading of every text."""
    methods = chosen(given.methods)
    with tempfile.TemporaryDirectory(prefix="tamis-") as folder, warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for name, text in LINES.items():
            Path(folder, name).write_text(text, "utf-8")
            open_rows(Path(folder, name)).survey(columns=True)
        for method in methods:
            for task in TASKS:
                if has_task(method, task):
                    begun = time.monotonic()
                    name = _fit(method, task, Path(folder, "few.svm"))
                    note(f"{name}: {time.monotonic() - begun:.1f} s")


def _fit(method: str, task: str, path: Path) -> str:
    """Fit and predict, with columns known beforehand and met on the way; the model's name."""
    for grow in (False, True):
        model = build(method, task, threads=1, grow=grow)
        train(model, open_rows(path), progress=False)
        model.predict(next(iter(open_rows(path, schema=model.reading_))).X)
    return type(model).__name__
