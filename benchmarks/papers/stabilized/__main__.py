"""Run: ``python -m benchmarks.papers.stabilized [--data FOLDER] [--quick] [set ...]``."""

import argparse
import json
import os
import time
from pathlib import Path

from benchmarks import clock


def main() -> None:
    """Parse the command line, run, write the page."""
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.papers.stabilized", description=__doc__
    )
    parser.add_argument("sets", nargs="*", metavar="set", help="only these sets")
    parser.add_argument(
        "--data",
        type=Path,
        default=os.environ.get("TAMIS_DATA"),
        help="folder of npz files; default: the variable TAMIS_DATA",
    )
    parser.add_argument(
        "--quick", action="store_true", help="few sets, few runs; the page goes to build/papers"
    )
    parser.add_argument(
        "--rewrite",
        action="store_true",
        help="only write the page anew, from the figures of the last run",
    )
    parser.add_argument("--jobs", type=int, default=os.cpu_count() or 1, help="threads")
    given = parser.parse_args()
    clock.one_thread()
    from benchmarks.papers.stabilized import matched, page, promise, runs

    build = clock.ROOT / "build" / "papers"
    build.mkdir(parents=True, exist_ok=True)
    stored = build / f"stabilized{'_quick' if given.quick else ''}.json"
    if not given.rewrite:
        _run(given, stored, runs, promise, matched)
    found = json.loads(stored.read_text())
    place = build if given.quick or given.sets else clock.ROOT / "docs" / "papers"
    place.mkdir(parents=True, exist_ok=True)
    (place / "stabilized.md").write_text(
        page.write(
            found, f"python -m benchmarks.papers.stabilized{' --quick' if given.quick else ''}"
        )
    )
    print(
        f"{found['seconds']:.0f} s, written to {(place / 'stabilized.md').relative_to(clock.ROOT)}"
    )


def _run(given, stored: Path, runs, promise, matched) -> None:
    """Run all, and store what there is after each set."""
    begin = time.perf_counter()
    folder = Path(given.data) if given.data else None
    if folder is None:
        print(
            "No folder of data: set TAMIS_DATA or pass --data. Only the synthetic set is run.",
            flush=True,
        )
    found: dict = {"promise": promise.keep_promise(given.quick, given.jobs)}
    found["matched"] = [] if given.sets else matched.match(folder, given.quick, given.jobs)

    def store(entries):
        found.update(entries=entries, seconds=time.perf_counter() - begin)
        stored.write_text(json.dumps(found, indent=1))

    runs.run_all(folder, given.quick, given.sets, given.jobs, store)


if __name__ == "__main__":
    main()
