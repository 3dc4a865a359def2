"""Run: ``python -m benchmarks.papers.robust [--data FOLDER] [--quick] [--rewrite] [--seconds S]
[--processes N] [part ...]``.

A part is a module of this folder with ``cells(folder, quick)``, a dict of named functions that
return plain data, and ``write(found)`` and ``judge(found)``, which make Markdown lines from the
cells that are there. Cells that were run are not run again.
"""

import argparse
import importlib
import importlib.util
import json
import os
from pathlib import Path

from benchmarks import clock
from benchmarks.papers import processes

PARTS = (
    "thresholding",
    "lowrank",
    "words",
)  # in the order of the page; one that is not there is left out
OPENING = """\
The tables and figures of G. V. A. Pham, "Robust Optimization and Data Approximation in Machine
Learning", UCB/EECS-2015-216, on data that anyone can get. All settings were chosen inside the
training rows; test rows took no part in any choice. Times are seconds of one core."""


def parts() -> dict:
    """The modules that are there."""
    home = __spec__.name.rpartition(".")[0] if __spec__ else "benchmarks.papers.robust"
    return {
        name: importlib.import_module(f"{home}.{name}")
        for name in PARTS
        if importlib.util.find_spec(f"{home}.{name}")
    }


def main() -> None:
    """Parse the command line, run, write the page."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.papers.robust", description=__doc__)
    parser.add_argument("parts", nargs="*", metavar="part", help=f"only these: {', '.join(PARTS)}")
    parser.add_argument(
        "--data",
        type=Path,
        default=os.environ.get("TAMIS_DATA"),
        help="folder of data; default: the variable TAMIS_DATA",
    )
    parser.add_argument(
        "--quick", action="store_true", help="few cells, small; the page goes to build/papers"
    )
    parser.add_argument(
        "--rewrite",
        action="store_true",
        help="only write the page anew, from the cells of earlier runs",
    )
    parser.add_argument(
        "--seconds",
        type=float,
        default=float("inf"),
        help="begin no cell after so many; the same command goes on",
    )
    processes.option(parser)
    given = parser.parse_args()
    clock.one_thread()
    build = clock.ROOT / "build" / "papers"
    build.mkdir(parents=True, exist_ok=True)
    stored = build / f"robust{'_quick' if given.quick else ''}.json"
    found = json.loads(stored.read_text()) if stored.exists() else {"seconds": 0.0}
    modules = parts()
    left = (
        0
        if given.rewrite
        else _run(
            {name: module for name, module in modules.items() if name in (given.parts or modules)},
            given,
            found,
            stored,
        )
    )
    place = build if given.quick else clock.ROOT / "docs" / "papers"
    place.mkdir(parents=True, exist_ok=True)
    (place / "robust.md").write_text(page(modules, found, given.quick))
    print(
        f"{found['seconds']:.0f} s, {left} cells left, written to "
        f"{(place / 'robust.md').relative_to(clock.ROOT)}"
    )


def _run(modules: dict, given, found: dict, stored: Path) -> int:
    """Run the cells that are not there yet, and store each; returns how many are left."""
    folder = Path(given.data) if given.data else None
    if folder is None:
        print(
            "No folder of data: set TAMIS_DATA or pass --data. Only cells that need no file are "
            "run.",
            flush=True,
        )
    from benchmarks.papers.robust import lowrank

    processes.made_here("robust", given.processes)
    wanted = [
        (name, key, action)
        for name, module in modules.items()
        for key, action in module.cells(folder, given.quick).items()
        if key not in found.setdefault(name, {})
    ]
    for (name, key, _), (cell, seconds) in processes.each(
        processes.called, wanted, given.processes, given.seconds, lowrank.warmed
    ):
        found[name][key] = cell
        found["seconds"] += seconds
        stored.write_text(json.dumps(found, indent=1))
        print(f"{name}, {key}: {seconds:.1f} s", flush=True)
    return sum(key not in found[name] for name, key, _ in wanted)


def page(modules: dict, found: dict, quick: bool) -> str:
    """The whole page, from the cells that are there."""
    there = {name: module for name, module in modules.items() if found.get(name)}
    said = [module.judge(found[name]) for name, module in there.items()]
    shown = [module.write(found[name]) for name, module in there.items()]
    pieces = [
        ["# Robust learning on approximated data", "", OPENING, "", "## Verdict"],
        *said,
        *shown,
    ]
    command = f"python -m benchmarks.papers.robust{' --quick' if quick else ''}"
    pieces += [
        [
            "## How this was made",
            "",
            f"`{command}`, {found['seconds']:.0f} CPU seconds, on:",
            "",
            processes.made_on("robust"),
        ]
    ]
    return "\n\n".join("\n".join(piece).strip() for piece in pieces) + "\n"


if __name__ == "__main__":
    main()
