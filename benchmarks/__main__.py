"""Run the benchmarks: all of them, or the parts that are named."""

import argparse
import importlib
import time

from benchmarks import HOMES, PARTS, clock


def main() -> None:
    """Parse the command line and run."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description=__doc__)
    parser.add_argument(
        "parts",
        nargs="*",
        metavar="part",
        help="; ".join(f"{name}: {what}" for name, what in PARTS.items()),
    )
    parser.add_argument(
        "--quick", action="store_true", help="a small smoke run; its pages go to build"
    )
    given = parser.parse_args()
    unknown = [part for part in given.parts if part not in PARTS]
    if unknown:
        parser.error(f"no part is called {unknown[0]!r}; the parts are {', '.join(PARTS)}.")
    clock.one_thread()
    from benchmarks import pages

    for part in given.parts or PARTS:
        begin = time.perf_counter()
        page = importlib.import_module(f"benchmarks.{HOMES.get(part, part)}").run(given.quick)
        pages.show(page)
        pages.write(page, given.quick)
        print(
            f"{part}: {time.perf_counter() - begin:.0f} s, written to "
            f"{pages.folder(given.quick, page.room).relative_to(pages.ROOT)}/{part}.md",
            flush=True,
        )


if __name__ == "__main__":
    main()
