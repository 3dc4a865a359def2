"""Run the benchmarks: all of them, or the parts that are named.

A part that fails is told at the end and stops no other; `--resume` goes on where the last run of
all parts ended, `--list` says what there is.
"""

import argparse
import importlib
import json
import resource
import sys
import time
import traceback

from benchmarks import HOMES, PARTS, clock

DONE = clock.ROOT / "build" / "benchmarks_done.json"


def main() -> None:
    """Parse the command line and run."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description=__doc__)
    parser.add_argument("parts", nargs="*", metavar="part", help="all, if none is named")
    parser.add_argument(
        "--quick", action="store_true", help="a small smoke run; its pages go to build"
    )
    parser.add_argument("--list", action="store_true", help="say what the parts are, and end")
    parser.add_argument(
        "--resume", action="store_true", help="leave out what a run of all parts has done before"
    )
    given = parser.parse_args()
    unknown = [part for part in given.parts if part not in PARTS]
    if unknown:
        parser.error(f"no part is called {unknown[0]!r}; the parts are {', '.join(PARTS)}.")
    clock.one_thread()
    if given.list:
        tell(given.quick)
        return
    done = json.loads(DONE.read_text()) if given.resume and DONE.exists() else []
    failed = []
    for part in given.parts or [part for part in PARTS if part not in done]:
        try:
            run_part(part, given.quick)
        except Exception:
            traceback.print_exc()
            print(f"{part} failed; the others go on.", flush=True)
            failed.append(part)
            continue
        if not given.parts:
            done.append(part)
            DONE.parent.mkdir(exist_ok=True)
            DONE.write_text(json.dumps(done))
    if failed:
        sys.exit(f"failed: {', '.join(failed)}")


def run_part(part: str, quick: bool) -> None:
    """One part: its page, with the wall and CPU time that all of it took."""
    from benchmarks import pages

    begin = time.perf_counter(), _cpu()
    page = importlib.import_module(f"benchmarks.{HOMES.get(part, part)}").run(quick)
    page.spent = time.perf_counter() - begin[0], _cpu() - begin[1]
    pages.show(page)
    pages.write(page, quick)
    where = pages.folder(quick, page.room).relative_to(pages.ROOT)
    print(f"{part}: {page.spent[0]:.0f} s, written to {where}/{part}.md", flush=True)


def _cpu() -> float:
    """CPU seconds of this process and of its children that have ended."""
    used = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    return sum(one.ru_utime + one.ru_stime for one in used)


def tell(quick: bool) -> None:
    """The parts: what each is about, and the verdicts of its page, if it has one."""
    from benchmarks import pages

    store = pages.folder(quick) / "goals.json"
    known = json.loads(store.read_text()) if store.exists() else {}
    for part, what in PARTS.items():
        goals = known.get(part, {}).get("goals", [])
        met = sum(goal["verdict"] == pages.MET for goal in goals)
        said = f"{met} of {len(goals)} goals met" if part in known else "no page yet"
        print(f"{part:14}{said:24}{what}")


if __name__ == "__main__":
    main()
