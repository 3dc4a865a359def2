"""``python -m benchmarks.papers.confidence [--data FOLDER] [--quick] [--rewrite] [set ...]``."""

import argparse
import json
import os
import time
from pathlib import Path

from benchmarks import clock


def main() -> None:
    """Parse the command line, run, write the page."""
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.papers.confidence", description=__doc__
    )
    parser.add_argument(
        "sets",
        nargs="*",
        metavar="set",
        help="only these sets; the others keep the figures of their last run",
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

    folder, begin = Path(given.data) if given.data else None, time.perf_counter()
    if folder is None:
        print(
            "No folder of data: set TAMIS_DATA or pass --data. Sets that need no file are run.",
            flush=True,
        )
    found = (
        json.loads(stored.read_text())
        if given.sets and stored.exists()
        else {"table": [], "figure": [], "seconds": 0.0}
    )
    spent = found["seconds"]

    def store(kind, entry):
        found[kind] = [*(old for old in found[kind] if old["set"] != entry["set"]), entry]
        found["seconds"] = spent + time.perf_counter() - begin
        stored.write_text(json.dumps(found, indent=1))
        print(f"{entry['set']}: {found['seconds']:.0f} s so far", flush=True)

    runs.table(folder, given.quick, given.sets, store)
    runs.figure(folder, given.quick, given.sets, store)


if __name__ == "__main__":
    main()
