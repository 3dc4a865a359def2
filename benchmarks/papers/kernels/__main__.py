"""Run: ``python -m benchmarks.papers.kernels [--data FOLDER] [--quick] [--seconds N]
[--processes N] [--rewrite] [part ...]``; cells that are there are not
run again, and a part that has none keeps what the page says of it.
"""

import argparse
import functools
import importlib
import json
import os
from pathlib import Path

from benchmarks import clock
from benchmarks.papers import processes

PARTS = {
    "gmkl": "## Sparse generalized multiple kernel learning",
    "triclass": "## Tri-class SVM",
    "default": "## Tri-class SVM: the default against the plain SVM",
}
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
    place = (build if given.quick else clock.ROOT / "docs" / "papers") / "kernels.md"
    before, sections = place.read_text() if place.exists() else "", []
    for part, heading in PARTS.items():
        module = importlib.import_module(f"benchmarks.papers.kernels.{part}")
        stored = build / f"kernels_{part}{'_quick' if given.quick else ''}.json"
        if not given.rewrite and part in (given.parts or PARTS):
            processes.made_here(f"kernels_{part}", given.processes)
            whole = fill(module, stored, given)
            print(
                f"{part}: "
                f"{'all cells are there' if whole else 'cells are missing; call again to go on'}",
                flush=True,
            )
        if stored.exists():
            made = f"Made on: {processes.made_on(f'kernels_{part}')}"
            sections.append(f"{module.section(stored).strip()}\n\n{made}")
        else:
            sections.append(kept(before, heading))
    command = f"python -m benchmarks.papers.kernels{' --quick' if given.quick else ''}"
    made = f"## How this was made\n\n`{command}`; each part names its machine at its end.\n"
    place.write_text("\n\n".join(text for text in (TITLE, *sections, made) if text))
    print(f"written to {place.relative_to(clock.ROOT)}")


def kept(page: str, heading: str) -> str:
    """A part as it stands on the page, where the cells that it was made of are not at hand."""
    _, found, rest = f"\n{page}".partition(f"\n{heading}\n")
    return f"{heading}\n{rest.partition(chr(10) + '## ')[0]}".strip() if found else ""


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
