"""``tamis demo``: made data with rare features that matter, methods compared, a model, a page."""

import argparse
import tempfile
from pathlib import Path

import numpy as np
import scipy.sparse as sp

from tamis.cli.commands import compare
from tamis.cli.data import source_of, survey_of
from tamis.cli.messages import say
from tamis.cli.methods import METHODS, build
from tamis.cli.output import kept, print_json, show_kept
from tamis.data.source import SMALL_BYTES
from tamis.datasets import make_text
from tamis.reporting.evaluation.report import report
from tamis.training.walk import train

ROWS, WORDS, PLANTED = 3000, 20_000, 40
UNSEEN = 1000  # rows beside them that judge the model
RARE = 0.02  # share of rows below which a word is rare
COMPARED = ("sieve", "truncated", "rda", "ftrl")
GRIDS = {
    "truncated": {"gravity": [1e-4, 3e-4, 1e-3]},
    "rda": {"alpha": [3e-4, 1e-3, 3e-3]},
    "ftrl": {"alpha": [1e-4, 3e-4, 1e-3]},
}


def run(given: argparse.Namespace) -> None:
    """Make, compare, fit, show, write."""
    X, y, planted = make_text(
        ROWS + UNSEEN, WORDS, n_informative=PLANTED, noise=0.05, random_state=given.seed
    )
    unseen = {"X": X[ROWS:], "y": y[ROWS:]}
    X, y = X[:ROWS], y[:ROWS]
    share = np.bincount(X.indices, minlength=WORDS) / ROWS
    rare = planted[share[planted] < RARE]
    if not given.json:
        say(
            f"{ROWS:,} rows over {WORDS:,} words, and {UNSEEN:,} to judge by. {PLANTED} words "
            f"decide the class, {len(rare)} of them in fewer than one row in {1 / RARE:.0f}."
        )
    with tempfile.TemporaryDirectory(prefix="tamis-") as folder:
        path = Path(folder) / "demo.svm"
        write_svmlight(X, y, path)
        rows = source_of([str(path)], _reading())
        survey = survey_of(rows, columns=True, memory=SMALL_BYTES)
        # New processes would take longer to start than this takes.
        given.runs, given.threads = 4, given.threads or 1
        methods = [word for word in COMPARED if word in METHODS]
        X, y = compare.gather(rows)
        record = compare.compared(methods, "classify", X, y, given, {}, GRIDS)
        model = train(
            build("sieve", "classify", seed=given.seed, threads=given.threads), rows, progress=False
        )
        shown = 20 if given.json else 10
        found = kept(model, lambda columns: [f"word {c}" for c in columns], shown)
        verdict = report(model, **unseen)
        facts: dict[str, float] = {
            "kept": len(model.support_),
            "planted": int(np.isin(planted, model.support_).sum()),
        }
        facts["rare"] = int(np.isin(rare, model.support_).sum())
        facts["error"] = verdict.error
        written = _page(given, record, rows, survey, model, unseen)
    if given.json:
        print_json(
            {"record": record.to_dict(), "fit": {**facts, "top": found.lines}, "report": written}
        )
        return
    given_report, given.report = given.report, None
    compare.show(record, given)
    given.report = given_report
    for line in ("The sieve, learnt from all of them:", *verdict.sentences):
        say(line)
    show_kept(found)
    found_words = (
        f"{facts['planted']} of the {PLANTED} that decide and {facts['rare']} of the "
        f"{len(rare)} rare ones among them"
    )
    say(f"The sieve kept {facts['kept']} words, {found_words}.")
    say(f"page: {written}")


def _reading() -> argparse.Namespace:
    return argparse.Namespace(
        format="svmlight", on_bad="error", chunk_rows=16384, max_line_bytes=2**26
    )


def _page(given, record, rows, survey, model, unseen) -> str:
    """Write the page; where it is."""
    names = [f"word {k}" for k in range(WORDS)]
    compare.report(given, record, rows, survey, model, names, model.train_history_, **unseen)
    return str(Path(given.report).resolve())


def write_svmlight(X: sp.csr_array, y: np.ndarray, path: Path) -> None:
    """Rows as svmlight text, columns counted from 1, numbers to the last bit."""
    with path.open("w", encoding="utf-8") as file:
        for i, target in enumerate(np.asarray(y).tolist()):
            span = slice(X.indptr[i], X.indptr[i + 1])
            pairs = zip(X.indices[span].tolist(), X.data[span].tolist(), strict=True)
            file.write(f"{target} " + " ".join(f"{j + 1}:{x!r}" for j, x in pairs) + "\n")
