"""Run: ``python -m benchmarks.papers.kernels [--data FOLDER] [--quick] [--seconds N]
[--processes N] [--rewrite] [part ...]``; cells that are there are not run again.
"""

import argparse
import functools
import importlib
import importlib.util
import json
import os
from pathlib import Path

from benchmarks import clock
from benchmarks.papers import processes

PARTS = ("gmkl", "triclass", "default")
TITLE = "# Kernels and few labels"


def main() -> None:
    """Parse the command line, fill the cells that are missing, write the page."""
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.papers.kernels", description=__doc__
    )
    parser.add_argument(
        "parts",
        nargs="*",
        metavar="part",
        help=f"only these of {', '.join(PARTS)}; the others keep the figures they have",
    )
    parser.add_argument(
        "--data",
        type=Path,
        default=os.environ.get("TAMIS_DATA"),
        help="folder of data; default: the variable TAMIS_DATA",
    )
    parser.add_argument(
        "--quick", action="store_true", help="few cells; the page goes to build/papers"
    )
    parser.add_argument(
        "--seconds",
        type=float,
        default=float("inf"),
        help="stop after so many seconds a part; the next call goes on",
    )
    parser.add_argument(
        "--rewrite", action="store_true", help="only write the page anew, from the cells at hand"
    )
    processes.option(parser)
    given = parser.parse_args()
    unknown = [part for part in given.parts if part not in PARTS]
    if unknown:
        parser.error(f"no part is called {unknown[0]!r}; the parts are {', '.join(PARTS)}.")
    clock.one_thread()
    build = clock.ROOT / "build" / "papers"
    build.mkdir(parents=True, exist_ok=True)
    sections = []
    for part in PARTS:
        if importlib.util.find_spec(f"benchmarks.papers.kernels.{part}") is None:
            continue
        module = importlib.import_module(f"benchmarks.papers.kernels.{part}")
        stored = build / f"kernels_{part}{'_quick' if given.quick else ''}.json"
        if not given.rewrite and part in (given.parts or PARTS):
            processes.made_here("kernels", given.processes)
            whole = fill(module, stored, given)
            print(
                f"{part}: "
                f"{'all cells are there' if whole else 'cells are missing; call again to go on'}",
                flush=True,
            )
        if stored.exists():
            sections.append(module.section(stored))
    place = build if given.quick else clock.ROOT / "docs" / "papers"
    command = f"python -m benchmarks.papers.kernels{' --quick' if given.quick else ''}"
    made = f"## How this was made\n\n`{command}`, on:\n\n{processes.made_on('kernels')}\n"
    (place / "kernels.md").write_text(
        "\n\n".join([TITLE, *(text.strip() for text in sections), made])
    )
    print(f"written to {(place / 'kernels.md').relative_to(clock.ROOT)}")


def fill(module, stored: Path, given) -> bool:
    """Make the cells of a part that are missing, while there is time; whether all are there."""
    cells = json.loads(stored.read_text()) if stored.exists() else {}
    folder = Path(given.data) if given.data else None
    jobs = {"|".join(map(str, job)): job for job in module.jobs(folder, given.quick)}
    left = [
        (key, functools.partial(module.cell, *job, folder))
        for key, job in jobs.items()
        if key not in cells
    ]
    for (key, _), (cell, _) in processes.each(
        processes.called, left, given.processes, given.seconds, module.warmed
    ):
        cells[key] = cell
        stored.write_text(json.dumps(cells, indent=0))
    return cells.keys() >= jobs.keys()


if __name__ == "__main__":
    main()
