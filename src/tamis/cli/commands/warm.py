"""``tamis warm``: compile what most commands use, once."""

import argparse
import tempfile
import time
import warnings
from pathlib import Path

from tamis.cli.methods import METHODS, build
from tamis.cli.say import note
from tamis.read.opening import open_rows
from tamis.training.walk import train

LINES = {
    "few.svm": "".join(f"{k % 2} {1 + k % 7}:{k + 1} {9 + k % 5}:0.5\n" for k in range(60)),
    "few.csv": "a,b,y\n" + "".join(f"{k},{'uv'[k % 2]},{k % 2}\n" for k in range(60)),
    "few.vw": "".join(f"{k % 2} | a{k % 7}:{k + 1} b{k % 5}\n" for k in range(60)),
}


def run(given: argparse.Namespace) -> None:
    """Tiny fits of every method, and a reading of every text."""
    warnings.simplefilter("ignore")
    with tempfile.TemporaryDirectory(prefix="tamis-") as folder:
        for name, text in LINES.items():
            Path(folder, name).write_text(text)
            list(open_rows(Path(folder, name)))
        for method in METHODS:
            for task in ("classify", "regress"):
                begun = time.monotonic()
                try:
                    model = train(
                        build(method, task, threads=1),
                        open_rows(Path(folder, "few.svm")),
                        progress=False,
                    )
                except Exception:  # a family without this task, or one that wants more than this
                    continue
                model.predict(
                    next(iter(open_rows(Path(folder, "few.svm"), schema=model.reading_))).X
                )
                note(f"{type(model).__name__}: {time.monotonic() - begun:.1f} s")
