"""Run: ``python -m benchmarks.papers.sieve [--data FOLDER] [--only METHOD ...] [--sets SET ...]``.

Results are kept as they come: a run that was stopped goes on, and only what is missing is run;
--only runs its methods anew (with --resume: what they lack) and takes the others as they are.
"""

import argparse
import os
from pathlib import Path

from benchmarks import clock


def _given() -> argparse.Namespace:
    """The command line."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.papers.sieve", description=__doc__)
    parser.add_argument(
        "--data",
        type=Path,
        default=os.environ.get("TAMIS_DATA"),
        help="folder of npz files; default: the variable TAMIS_DATA",
    )
    parser.add_argument("--only", nargs="+", default=[], metavar="METHOD", help="run these anew")
    parser.add_argument("--resume", action="store_true", help="with --only: keep what there is")
    parser.add_argument("--sets", nargs="+", default=[], metavar="SET", help="only these sets")
    parser.add_argument("--runs", type=int, default=0, help="subsamples of each set; default 3")
    parser.add_argument("--cache", type=Path, help="file of results; the page goes to build/papers")
    parser.add_argument("--rewrite", action="store_true", help="run nothing, write the page anew")
    parser.add_argument(
        "--quick", action="store_true", help="few sets, two runs; the page goes to build/papers"
    )
    parser.add_argument("--edition", help=argparse.SUPPRESS)  # how the first edition is called
    return parser.parse_args()


def main() -> None:
    """Run what is missing, write the page."""
    given = _given()
    clock.one_thread()
    from benchmarks.papers.sieve import page, sets
    from benchmarks.papers.sieve.store import Store

    build = clock.ROOT / "build" / "papers"
    build.mkdir(parents=True, exist_ok=True)
    mark = "_quick" if given.quick else ""
    store = Store(given.cache or build / f"sieve{mark}.jsonl")
    folder = Path(given.data) if given.data else None
    wanted = given.sets or (sets.SMALL if given.quick else ())
    there = sets.available(folder)
    missing = [name for name in given.sets if name not in there]
    if missing:
        raise SystemExit(f"no set is called {missing[0]!r}; there are: {'; '.join(there)}.")
    if folder is None:
        print("No folder of data: set TAMIS_DATA or pass --data. Only simulations are run.")
    names = [name for name in there if not wanted or name in wanted]
    runs = given.runs or (2 if given.quick else 3)
    reasons = {} if given.rewrite else _run(given, store, folder, names, runs)
    if given.edition:
        return
    place = build if given.quick or given.sets or given.cache else clock.ROOT / "docs" / "papers"
    command = f"python -m benchmarks.papers.sieve{' --quick' if given.quick else ''}"
    (place / "sieve.md").write_text(page.write(store, names, runs, reasons, command))
    print(f"{len(store.found)} results, written to {(place / 'sieve.md').relative_to(clock.ROOT)}")


def _run(given, store, folder, names, runs) -> dict[str, str]:
    """All contestants; what could not run, and why."""
    from benchmarks.papers.sieve import first
    from benchmarks.papers.sieve.methods import FIRST, FIXED, METHODS, SIEVE, absent
    from benchmarks.papers.sieve.runs import Runs, quiet

    known = [*METHODS, FIRST]
    unknown = [name for name in given.only if name not in known]
    if unknown:
        raise SystemExit(f"no method is called {unknown[0]!r}; they are {', '.join(known)}.")
    quiet()
    chosen, reasons = given.only or known, absent()
    if given.only and not given.edition and not given.resume:
        fixed = [FIXED.replace(SIEVE, name) for name in chosen if name in (SIEVE, FIRST)]
        store.forget([*chosen, *fixed], given.sets)
    work = Runs(store, folder, given.edition or SIEVE, runs)
    # The sieve first: it is what one waits for.
    work.all_sets(names, [name for name in METHODS if name in chosen and name not in reasons])
    if SIEVE in chosen:
        work.units(names)
        if not given.sets:
            work.noise(given.quick)
    if FIRST in chosen:
        options = ["--sets", *given.sets] if given.sets else []
        options += ["--quick"] if given.quick else []
        options += ["--data", str(folder)] if folder else []
        reason = first.run([*options, "--runs", str(runs), "--cache", str(store.path.resolve())])
        reasons |= {FIRST: reason} if reason else {}
        store.read()
    return reasons


if __name__ == "__main__":
    main()
