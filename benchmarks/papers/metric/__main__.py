"""Run: ``python -m benchmarks.papers.metric [--data FOLDER] [--seconds S] [--processes N]
[--rewrite] [--quick]``; stopped runs are taken up again.
"""

import argparse
import itertools
import os
from pathlib import Path

from benchmarks import clock
from benchmarks.papers import processes


def main() -> None:
    """Parse the command line, run, write the page."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.papers.metric", description=__doc__)
    parser.add_argument(
        "--data",
        type=Path,
        default=os.environ.get("TAMIS_DATA"),
        help="folder of data; default: the variable TAMIS_DATA",
    )
    parser.add_argument(
        "--seconds",
        type=float,
        default=float("inf"),
        help="begin no cell after so many; the next run goes on",
    )
    parser.add_argument("--rivals", type=int, default=20, help="repeats of the dense rivals")
    parser.add_argument(
        "--rewrite", action="store_true", help="only write the page anew, from the figures so far"
    )
    parser.add_argument(
        "--quick", action="store_true", help="one repeat; the page goes to build/papers"
    )
    processes.option(parser)
    given = parser.parse_args()
    clock.one_thread()
    from benchmarks.papers.metric import fourier, page, runs, text

    build = clock.ROOT / "build" / "papers"
    build.mkdir(parents=True, exist_ok=True)
    store = runs.Store(build / f"metric{'_quick' if given.quick else ''}.json", given.seconds)
    if not given.rewrite:
        folder = Path(given.data) if given.data else None
        repeats = 1 if given.quick else runs.REPEATS
        processes.made_here("metric", given.processes)
        jobs = itertools.chain(
            fourier.jobs(1 if given.quick else 10),
            text.jobs(folder),
            runs.figures(folder, 1 if given.quick else 5),
            runs.tables(folder, repeats, min(given.rivals, repeats), given.quick),
        )
        store.fill(jobs, given.processes)
    place = build if given.quick else clock.ROOT / "docs" / "papers"
    place.mkdir(parents=True, exist_ok=True)
    (place / "metric.md").write_text(
        page.write(
            store.found,
            place,
            f"python -m benchmarks.papers.metric{' --quick' if given.quick else ''}",
        )
    )
    print(f"{len(store.found)} results, written to {(place / 'metric.md').relative_to(clock.ROOT)}")


if __name__ == "__main__":
    main()
