"""Run: ``python -m benchmarks.papers.structured [--data FOLDER] [--quick] [--rewrite] [--anew]
[--seconds N] [--processes N] [part ...]``.
"""

import argparse
import os
from pathlib import Path

from benchmarks import clock
from benchmarks.papers import processes

PARTS = ("synthetic", "tasks", "splice", "effects", "times")
CELLS = {"tasks": ("school", "computer")}  # names of a part's cells, where they are not its own


def main() -> None:
    """Parse the command line, run what is missing, write the page."""
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.papers.structured", description=__doc__
    )
    parser.add_argument("parts", nargs="*", metavar="part", help=f"only these: {', '.join(PARTS)}")
    parser.add_argument(
        "--data",
        type=Path,
        default=os.environ.get("TAMIS_DATA"),
        help="folder of data; default: the variable TAMIS_DATA",
    )
    parser.add_argument(
        "--quick", action="store_true", help="few runs; the page goes to build/papers"
    )
    parser.add_argument(
        "--rewrite",
        action="store_true",
        help="only write the page anew, from the figures of the last run",
    )
    parser.add_argument(
        "--anew",
        action="store_true",
        help="forget the figures of these parts; else a run goes on where the last one ended",
    )
    parser.add_argument(
        "--seconds",
        type=float,
        default=float("inf"),
        help="end after about so many seconds; run again to go on",
    )
    processes.option(parser)
    given = parser.parse_args()
    unknown = [part for part in given.parts if part not in PARTS]
    if unknown:
        parser.error(f"no part is called {unknown[0]!r}; the parts are {', '.join(PARTS)}.")
    clock.one_thread()
    from benchmarks.papers.structured import cells, page

    build = clock.ROOT / "build" / "papers"
    stored = build / f"structured{'_quick' if given.quick else ''}"
    stored.mkdir(parents=True, exist_ok=True)
    held = cells.Cells(stored, given.seconds, given.processes)
    if not given.rewrite:
        processes.made_here("structured", given.processes)
        _run(given, held)
    place = build if given.quick else clock.ROOT / "docs" / "papers"
    place.mkdir(parents=True, exist_ok=True)
    (place / "structured.md").write_text(
        page.write(
            held.found,
            place,
            f"python -m benchmarks.papers.structured{' --quick' if given.quick else ''}",
        )
    )
    print(f"written to {(place / 'structured.md').relative_to(clock.ROOT)}")


def _run(given, held) -> None:
    """Run the parts, and store what there is."""
    from benchmarks.papers.structured import cells, effects, splice, synthetic, tasks, times

    folder = Path(given.data) if given.data else None
    if folder is None:
        print(
            "No folder of data: set TAMIS_DATA or pass --data. Only the synthetic groups are run.",
            flush=True,
        )
    wanted = given.parts or PARTS
    for part in wanted if given.anew else ():
        for name in CELLS.get(part, (part,)):
            held.forget(name)
    actions = {"synthetic": lambda: synthetic.run(held, given.quick)}
    for name, room in (
        ("tasks", tasks),
        ("splice", splice),
        ("effects", effects),
        ("times", times),
    ):
        actions[name] = lambda room=room: room.run(held, folder, given.quick)
    try:
        for part in wanted:
            actions[part]()
        if held.processes > 1:
            held.work()
    except cells.Enough:
        print("The time is over; run again to go on.", flush=True)
    finally:
        held.write()


if __name__ == "__main__":
    main()
