"""Write the table of files in docs/walk.md from a trace: ``python docs/make_walk.py``."""

import ast
import os
import re
import sys
from pathlib import Path

os.environ["NUMBA_DISABLE_JIT"] = "1"  # compiled loops run as Python, so that the trace sees them

import numpy as np
import scipy.sparse as sp

import tamis

PACKAGE = Path(tamis.__file__).parent
PAGE = Path(__file__).parent / "walk.md"
BETWEEN_MARKERS = re.compile(r"(?s)(?<=<!-- trace -->\n).*(?=<!-- end of trace -->)")


def trace_files(function) -> dict[str, str]:
    """Run a function; return the files of tamis that it enters, in their order, and for each the
    first function that is called there.
    """
    first_calls: dict[str, str] = {}

    def record_call(frame, event, argument):
        path, name = Path(frame.f_code.co_filename), frame.f_code.co_qualname
        if event == "call" and path.is_relative_to(PACKAGE) and "<" not in name:
            first_calls.setdefault(path.relative_to(PACKAGE).as_posix(), name)

    sys.setprofile(record_call)
    try:
        function()
    finally:
        sys.setprofile(None)
    return first_calls


def trace_one_row() -> dict[str, str]:
    """Files that the second row of the page passes, after the first row has been learnt."""
    X = sp.csr_array(np.array([[2.0, 0.0, 1.0, 0.0, 1.0], [0.0, 2.0, 0.0, 1.0, 1.0]]))
    y = np.array([1, 0])
    model = tamis.FOBOSClassifier(alpha=0.1, eta=0.5, learning_rate="constant")
    model.partial_fit(X[[0]], y[[0]], classes=[0, 1])
    return trace_files(lambda: model.partial_fit(X[[1]], y[[1]]))


def first_sentence(path: str) -> str:
    """The first sentence of a module's docstring."""
    text = ast.get_docstring(ast.parse((PACKAGE / path).read_text())) or ""
    return re.split(r"[.:;](?:\s|$)", " ".join(text.split()))[0]


def table(first_calls: dict[str, str]) -> str:
    """The files as a Markdown table."""
    rows = [
        f"| `{path}` | {first_sentence(path)} | `{name}` |" for path, name in first_calls.items()
    ]
    head = [
        "| file of `src/tamis` | what it holds | first function called |",
        "| --- | --- | --- |",
    ]
    return "\n".join([*head, *rows, ""])


if __name__ == "__main__":
    PAGE.write_text(BETWEEN_MARKERS.sub(lambda _: table(trace_one_row()), PAGE.read_text()))
