"""The runs: for every set and loss, tuned picks over orders, and the same picks over subsamples of
80 %.
"""

import time
from pathlib import Path

import joblib

from benchmarks.papers.stabilized import sets
from benchmarks.papers.stabilized.methods import LOSSES, methods
from tamis import Record, compare

RUNS, FOLDS, SHARE = 8, 4, 0.8


def run_all(folder: Path | None, quick: bool, only: list[str], jobs: int, store) -> list[dict]:
    """One entry a set and loss: records over orders and over subsamples, as plain data; `store` is
    given what there is after each.
    """
    names = [name for name in sets.available(folder) if not only or name in only]
    found = []
    for name in names[:: max(1, len(names) // 2)] if quick else names:
        split = sets.read(name, folder)
        for loss in LOSSES[1:] if quick else LOSSES:
            begin = time.perf_counter()
            orders, shares = _run(split, loss, quick, jobs)
            entry = {
                "set": name,
                "loss": loss,
                "words": split.words(),
                "orders": orders.to_dict(),
                "subsamples": shares.to_dict(),
            }
            if split.planted is not None:
                entry["planted"] = _recall(split, orders)
            _forget(entry["orders"])
            found.append(entry)
            store(found)
            print(f"{name}, {loss}: {time.perf_counter() - begin:.0f} s", flush=True)
            print(orders.table(), flush=True)
    return found


def _run(split, loss: str, quick: bool, jobs: int) -> tuple[Record, Record]:
    """Orders with tuning, then subsamples with the settings found."""
    large = split.X.nnz > sets.LARGE
    contestants = {name: m for name, m in methods(loss, large).items() if not (m.heavy and large)}
    given = {
        "X_test": split.X_test,
        "y_test": split.y_test,
        "random_state": 0,
        "n_jobs": jobs,
        "runs": 3 if quick else RUNS,
    }
    tune = {name: m.grid for name, m in contestants.items() if m.grid}
    models = {name: m.model for name, m in contestants.items()}
    with joblib.parallel_config(backend="threading"):  # the loops release the lock
        orders = compare(
            models,
            split.X,
            split.y,
            tune=tune,
            folds=2 if quick else 3 if large else FOLDS,
            keep_supports=split.planted is not None,
            **given,
        )
        picked = {
            f"{row['model']}|{row['pick']}": _set(models[row["model"]], row["params"])
            for row in orders.rows
        }
        shares = compare(picked, split.X, split.y, subsample=SHARE, **given)
    for row in shares.rows:
        row["model"], row["pick"] = row["model"].split("|")
    return orders, shares


def _set(model, params):
    from sklearn.base import clone

    return clone(model).set_params(**params)


def _forget(record: dict) -> None:
    """Supports are large, and have been counted."""
    for run in record["runs"]:
        run.pop("support", None)


def _recall(split, record: Record) -> list[dict]:
    """Planted features found, rare and frequent, and false ones kept, per method and pick."""
    rare = sets.rare_planted(split)
    lines = []
    for row in record.rows:
        supports = [
            set(run["support"])
            for run in record.runs
            if (run["model"], run["pick"]) == (row["model"], row["pick"])
        ]
        hits = [[int(j) in support for j in split.planted] for support in supports]
        share = {kind: _share(hits, mask) for kind, mask in (("rare", rare), ("frequent", ~rare))}
        false = sum(
            len(support) - sum(hit) for support, hit in zip(supports, hits, strict=True)
        ) / len(supports)
        kept = sum(map(len, supports)) / len(supports)
        lines.append(
            {
                "model": row["model"],
                "pick": row["pick"],
                **share,
                "false": false,
                "kept": kept,
                "error": row["error"],
            }
        )
    return lines


def _share(hits, mask) -> float:
    """Mean share of the planted features of one kind that the runs found."""
    return float(
        sum(hit for found in hits for hit, wanted in zip(found, mask, strict=True) if wanted)
        / len(hits)
        / mask.sum()
    )
