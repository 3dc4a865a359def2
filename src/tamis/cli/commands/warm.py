"""``tamis warm``: compile the loops that most commands use."""

import argparse
import tempfile
import time
import warnings
from pathlib import Path

from tamis.cli.messages import print_note
from tamis.cli.methods import TASKS, build, has_task, parse_methods
from tamis.data.opening import open_rows
from tamis.training.trainer import train

FILES = {
    "few.svm": "".join(f"{k % 2} {1 + k % 7}:{k + 1} {9 + k % 5}:0.5\n" for k in range(60)),
    "few.csv": "a,b,y\n" + "".join(f"{k},{'uv'[k % 2]},{k % 2}\n" for k in range(60)),
    "few.vw": "".join(f"{k % 2} | a{k % 7}:{k + 1} b{k % 5}\n" for k in range(60)),
}


def run(args: argparse.Namespace) -> None:
    """Read a tiny file of each format, and fit every method on one of them."""
    methods = parse_methods(args.methods)
    with tempfile.TemporaryDirectory(prefix="tamis-") as folder, warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for name, text in FILES.items():
            Path(folder, name).write_text(text, "utf-8")
            open_rows(Path(folder, name)).survey(columns=True)
        for method in methods:
            for task in TASKS:
                if has_task(method, task):
                    start = time.monotonic()
                    name = _fit(method, task, Path(folder, "few.svm"))
                    print_note(f"{name}: {time.monotonic() - start:.1f} s")


def _fit(method: str, task: str, path: Path) -> str:
    """Fit and predict, with and without columns known in advance; return the model's class name."""
    for grow in (False, True):
        model = build(method, task, threads=1, grow=grow)
        train(model, open_rows(path), progress=False)
        model.predict(next(iter(open_rows(path, schema=model.reading_))).X)
    return type(model).__name__
