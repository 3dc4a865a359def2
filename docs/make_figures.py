"""Make the figures of README and pages from the examples: ``python docs/make_figures.py``."""

import runpy
import sys
from pathlib import Path

import matplotlib

matplotlib.use("Agg")

HERE = Path(__file__).resolve().parent
EXAMPLES = HERE.parent / "examples"
FIGURES = {
    "believe.png": "plot_believe.py",
    "chunks.png": "plot_chunks.py",
    "price.png": "plot_price.py",
}


def make(name: str) -> Path:
    """Run the example behind a figure and save it."""
    if str(EXAMPLES) not in sys.path:
        sys.path.insert(0, str(EXAMPLES))  # run_path does not, for a single file
    figure = runpy.run_path(str(EXAMPLES / FIGURES[name]))["figure"]
    target = HERE / "figures" / name
    target.parent.mkdir(exist_ok=True)
    # No software version in the file: the same numbers give the same bytes.
    figure.savefig(target, dpi=130, metadata={"Software": None})
    return target


if __name__ == "__main__":
    for name in sys.argv[1:] or FIGURES:
        print(f"{make(name).relative_to(HERE.parent)}")
