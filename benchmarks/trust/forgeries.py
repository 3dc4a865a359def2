"""Forged models: every field of files of every class replaced, and the files signed anew.

``python -m benchmarks forgeries``. A forged file must be refused by a ModelFileError, or give a
model whose methods run to the end; all run in processes of their own, so that a crash is seen.
"""

import sys
import tempfile
import time
from collections import Counter
from pathlib import Path

from benchmarks.clock import ROOT
from benchmarks.pages import Goal, Page, Table, verdict

COUNT, QUICK = 10_200, 300
SEED = 20
OPENING = """{total:,} forged model files of {classes} classes, made from {models} models:
unfitted, fitted to one output and to several, to labels, from sparse rows, from named columns, in
mid-stream, and with further settings. In each file one field, at times two or three, was replaced:
an array by one of another dtype or shape, numbers by nan, infinite, negative or huge ones, a value
by one of another type; two fields exchanged, one dropped or added, a parameter made nonsense. Then
the checksum was made right.

A file is *refused* if `load` raises a ModelFileError. A model *works* if predictions, further
training and all that it shows run to the end, or to an error that says what is wrong. Anything else
is a failure: another error, a crash, or no answer within two minutes. All of it ran in processes of
their own, and took {seconds:.0f} s."""


def run(quick: bool) -> Page:
    """Forge, load, ask, count."""
    sys.path.insert(0, str(ROOT / "tests"))
    from model_files.forging import keep, survey, tally

    begin = time.monotonic()
    with tempfile.TemporaryDirectory() as folder:
        ways = {"ways": ("one output", "stream of several"), "further": False} if quick else {}
        names = keep(Path(folder), **ways)
        found = survey(Path(folder), names, QUICK if quick else COUNT, SEED)
    counts, failures = tally(found)
    for line in failures:
        print(*line, flush=True)
    deaths = sum("the process" in how for _, _, how in failures)
    total = len(found)
    classes = len({cls for cls, _, _ in counts})
    return Page(
        "forgeries",
        "Forged model files",
        OPENING.format(
            total=total, classes=classes, models=len(names), seconds=time.monotonic() - begin
        ),
        [
            Table(
                "By class", ["class", "forged", "refused", "working", "failures"], _lines(counts, 0)
            ),
            Table(
                "By kind of forgery",
                ["what was forged first", "forged", "refused", "working", "failures"],
                _lines(counts, 1),
            ),
        ],
        [
            Goal(
                "Every forged file is refused or gives a model that works",
                f"{len(failures)} failures in {total:,}",
                verdict(not failures),
            ),
            Goal("No forged file ends the process", f"{deaths} in {total:,}", verdict(not deaths)),
        ],
    )


def _lines(counts: Counter, axis: int) -> list[list[str]]:
    """Rows of a table: a name, and how many were forged, refused, working and neither; all together
    first.
    """
    names = sorted({key[axis] for key in counts})
    rows = []
    for name in [None, *names]:
        by = {
            how: sum(n for key, n in counts.items() if key[2] == how and name in (None, key[axis]))
            for how in ("refused", "works", "failed")
        }
        rows.append([name or "all", *(f"{n:,}" for n in (sum(by.values()), *by.values()))])
    return rows
