"""``tamis demo``: generate data with rare but important words, compare methods, write a page."""

import argparse
import tempfile
from pathlib import Path

import numpy as np
import scipy.sparse as sp

from tamis.cli.commands import compare
from tamis.cli.data import open_source, survey_rows
from tamis.cli.messages import print_line
from tamis.cli.methods import METHODS, build
from tamis.cli.output import FeatureWeights, print_json, print_weights, rank_weights
from tamis.data.source import MAX_CACHED_BYTES
from tamis.datasets import make_text
from tamis.reporting.evaluation.report import Report, report
from tamis.training.trainer import train

N_ROWS, N_WORDS, N_INFORMATIVE = 3000, 20_000, 40
N_TEST = 1000  # further rows, for the error of the model
RARE_FREQUENCY = 0.02  # a word in a smaller fraction of the rows is rare
COMPARED = ("sieve", "truncated", "rda", "ftrl")
GRIDS = {
    "truncated": {"gravity": [1e-4, 3e-4, 1e-3]},
    "rda": {"alpha": [3e-4, 1e-3, 3e-3]},
    "ftrl": {"alpha": [1e-4, 3e-4, 1e-3]},
}


def run(args: argparse.Namespace) -> None:
    """Generate the data, compare the methods, fit a sieve, and print and write the results."""
    X, y, informative = make_text(
        N_ROWS + N_TEST, N_WORDS, n_informative=N_INFORMATIVE, noise=0.05, random_state=args.seed
    )
    test_rows = {"X": X[N_ROWS:], "y": y[N_ROWS:]}
    X, y = X[:N_ROWS], y[:N_ROWS]
    frequency = np.bincount(X.indices, minlength=N_WORDS) / N_ROWS
    rare = informative[frequency[informative] < RARE_FREQUENCY]
    if not args.json:
        print_line(
            f"{N_ROWS:,} rows over {N_WORDS:,} words, and {N_TEST:,} to judge by. {N_INFORMATIVE} "
            f"words decide the class, {len(rare)} of them in fewer than one row in "
            f"{1 / RARE_FREQUENCY:.0f}."
        )
    with tempfile.TemporaryDirectory(prefix="tamis-") as folder:
        path = Path(folder) / "demo.svm"
        write_svmlight(X, y, path)
        rows = open_source([str(path)], _reading_args())
        survey = survey_rows(rows, columns=True, memory=MAX_CACHED_BYTES)
        # Starting processes would take longer than the fits.
        args.runs, args.threads = 4, args.threads or 1
        methods = [method for method in COMPARED if method in METHODS]
        X, y = compare.read_all(rows)
        record = compare.compare_methods(methods, "classify", X, y, args, {}, GRIDS)
        model = train(
            build("sieve", "classify", seed=args.seed, threads=args.threads), rows, progress=False
        )
        limit = 20 if args.json else 10
        weights = rank_weights(model, lambda columns: [f"word {c}" for c in columns], limit)
        evaluation = report(model, **test_rows)
        counts = {
            "kept": len(model.support_),
            "planted": int(np.isin(informative, model.support_).sum()),
            "rare": int(np.isin(rare, model.support_).sum()),
        }
        names = [f"word {k}" for k in range(N_WORDS)]
        history = model.train_history_
        compare.write_report(args, record, rows, survey, model, names, history, **test_rows)
        page = str(Path(args.report).resolve())
    if args.json:
        fit = {**counts, "error": evaluation.error, "top": weights.lines}
        print_json({"record": record.to_dict(), "fit": fit, "report": page})
        return
    report_path, args.report = args.report, None  # the page is named last
    compare.print_record(record, args)
    args.report = report_path
    _print_model(evaluation, weights, counts, len(rare))
    print_line(f"page: {page}")


def _print_model(
    evaluation: Report, weights: FeatureWeights, counts: dict[str, int], n_rare: int
) -> None:
    """Print the evaluation of the sieve, its weights, and the numbers of words it selected."""
    for line in ("The sieve, learnt from all of them:", *evaluation.sentences):
        print_line(line)
    print_weights(weights)
    selected = (
        f"{counts['planted']} of the {N_INFORMATIVE} that decide and {counts['rare']} of the "
        f"{n_rare} rare ones among them"
    )
    print_line(f"The sieve kept {counts['kept']} words, {selected}.")


def _reading_args() -> argparse.Namespace:
    return argparse.Namespace(
        format="svmlight", on_bad="error", chunk_rows=16384, max_line_bytes=2**26
    )


def write_svmlight(X: sp.csr_array, y: np.ndarray, path: Path) -> None:
    """Write rows as svmlight text: columns count from 1, numbers keep all bits."""
    with path.open("w", encoding="utf-8") as file:
        for i, target in enumerate(np.asarray(y).tolist()):
            row = slice(X.indptr[i], X.indptr[i + 1])
            entries = zip(X.indices[row].tolist(), X.data[row].tolist(), strict=True)
            file.write(f"{target} " + " ".join(f"{j + 1}:{x!r}" for j, x in entries) + "\n")
