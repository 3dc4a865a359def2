"""``python -m benchmarks.papers.confidence [--data FOLDER] [--quick] [--rewrite] [--seconds S]
[--processes N] [set ...]``.
"""

import argparse
import json
import os
from pathlib import Path

from benchmarks import clock
from benchmarks.papers import processes

KINDS = ("table", "columns", "figure")


def main() -> None:
    """Parse the command line, run, write the page."""
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.papers.confidence", description=__doc__
    )
    parser.add_argument(
        "sets",
        nargs="*",
        metavar="set",
        help="only these sets, anew; else all that have no figures yet",
    )
    parser.add_argument(
        "--data",
        type=Path,
        default=os.environ.get("TAMIS_DATA"),
        help="folder of data; default: the variable TAMIS_DATA",
    )
    parser.add_argument(
        "--quick", action="store_true", help="few sets, few runs; the page goes to build/papers"
    )
    parser.add_argument(
        "--rewrite",
        action="store_true",
        help="only write the page anew, from the figures of the last run",
    )
    parser.add_argument(
        "--seconds", type=float, default=float("inf"), help="begin no set after so many"
    )
    processes.option(parser)
    given = parser.parse_args()
    clock.one_thread()
    from benchmarks.papers.confidence import page

    build = clock.ROOT / "build" / "papers"
    build.mkdir(parents=True, exist_ok=True)
    stored = build / f"confidence{'_quick' if given.quick else ''}.json"
    if not given.rewrite:
        _run(given, stored)
    found = json.loads(stored.read_text())
    place = build if given.quick else clock.ROOT / "docs" / "papers"
    place.mkdir(parents=True, exist_ok=True)
    (place / "confidence.md").write_text(
        page.write(
            found,
            place,
            f"python -m benchmarks.papers.confidence{' --quick' if given.quick else ''}",
        )
    )
    print(
        f"{found['seconds']:.0f} s, written to {(place / 'confidence.md').relative_to(clock.ROOT)}"
    )


def _run(given, stored: Path) -> None:
    """Run all, and store what there is after each set."""
    from benchmarks.papers.confidence import runs

    folder = Path(given.data) if given.data else None
    if folder is None:
        print(
            "No folder of data: set TAMIS_DATA or pass --data. Sets that need no file are run.",
            flush=True,
        )
    found = json.loads(stored.read_text()) if stored.exists() else {"seconds": 0.0}
    found = {kind: [] for kind in KINDS} | found
    stored.write_text(json.dumps(found))
    processes.made_here("confidence", given.processes)
    order = runs.wanted(folder, given.quick, given.sets)
    there = [] if given.sets else [(kind, e["set"]) for kind in KINDS for e in found[kind]]
    jobs = [(*job, folder, given.quick) for job in order if job not in there]
    for (kind, name, *_), (entry, seconds) in processes.each(
        runs.entry, jobs, given.processes, given.seconds, runs.warmed
    ):
        kept = [old for old in found[kind] if old["set"] != name]
        names = [one for what, one in order if what == kind]
        found[kind] = sorted(
            [*kept, entry],
            key=lambda one: names.index(one["set"]) if one["set"] in names else -1,
        )
        found["seconds"] += seconds
        stored.write_text(json.dumps(found, indent=1))
        print(f"{name}: {seconds:.0f} s, {found['seconds']:.0f} s so far", flush=True)


if __name__ == "__main__":
    main()
