"""Run: ``python -m benchmarks.papers.structured [--data FOLDER] [--quick]``."""

import argparse
import os
import time
from pathlib import Path

from benchmarks import clock

OPENING = """\
Accuracy and F1 on the synthetic groups of the slides, and the School exams, after H. Yang's slides "Sparse Learning Under Regularization Framework"
(online group lasso, ICML 2010; online multi-task selection, CIKM 2010). Batch methods of tamis. On the synthetic set alpha is a fraction of each
method's own alpha_max, chosen by accuracy on fresh rows; the weights are drawn anew in every run."""


def main() -> None:
    """Parse the command line, run, write the page."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.papers.structured", description=__doc__)
    parser.add_argument("--data", type=Path, default=os.environ.get("TAMIS_DATA"), help="folder of npz files; default: the variable TAMIS_DATA")
    parser.add_argument("--quick", action="store_true", help="few runs; the page goes to build/papers")
    given = parser.parse_args()
    clock.one_thread()
    from benchmarks.pages import machine, versions
    from benchmarks.papers.stabilized.page import pipe
    from benchmarks.papers.structured import school, synthetic

    begin = time.perf_counter()
    entries, exams = synthetic.tables(given.quick), school.run(Path(given.data) if given.data else None, given.quick)
    rows = [
        [
            f"{e['rows']:,}",
            e["method"],
            str(e["runs"]),
            "-" if e["slide"] is None else "{:.1f} ±{:.1f}".format(*e["slide"]),
            "{:.1f} ±{:.1f}".format(*e["accuracy"]),
            f"{e['f1']:.1f}",
            *(f"{a:.1f} / {f:.1f}" for a, f in e["fixed"]),
        ]
        for e in entries
    ]
    head = ["rows", "method", "runs", "slides, accuracy %", "accuracy %", "F1 %", *(f"at {f:g}, accuracy / F1" for f in synthetic.FRACTIONS)]
    lines = ["# Structured sparsity", "", OPENING, "", "## Synthetic groups", "", *pipe(head, rows)]
    if exams:
        rows = [[e["method"], str(e["splits"]), "{:.1f} ±{:.1f}".format(*e["ev"]), "{:.0f} ±{:.0f}".format(*e["nonzeros"])] for e in exams]
        lines += ["## School", "", *pipe(["method", "splits", "explained variance %", "nonzero weights"], rows)]
    command = f"python -m benchmarks.papers.structured{' --quick' if given.quick else ''}"
    lines += ["## How this was made", "", f"`{command}`, {time.perf_counter() - begin:.0f} s on {machine()}.", "", f"{versions()}.", ""]
    place = clock.ROOT / ("build" if given.quick else "docs") / "papers"
    place.mkdir(parents=True, exist_ok=True)
    (place / "structured.md").write_text("\n".join(lines))
    print("\n".join(lines))


if __name__ == "__main__":
    main()
