"""Intervals of effects: how often those of 95 % hold the true one."""

import warnings

import numpy as np

from benchmarks.pages import Table
from benchmarks.papers.guarantees import designs
from benchmarks.papers.guarantees.designs import Design
from benchmarks.papers.guarantees.methods import EXACT, OURS, Q
from tamis import FDRSelector

EFFECTS = "effects"
NOTE = """Of true features: the share of the 95 % intervals that hold the weight that the feature
    has among all true ones (for classes, in the log odds); *claimed*: those at q = .1 alone, which
    were chosen for being large; *estimate*: over the true one, in the middle of the claimed. The
    estimate is given the controls, and for classes given what else is claimed: odds given part of
    what tells are nearer to 1 than odds given all of it, so that intervals fall short where much of
    it is not found."""


def asked() -> list[Design]:
    """The designs whose true features have one effect each."""
    return [*designs.SMALL.values(), *designs.LARGE.values()]


def held(one: Design, claim: str, seed: int) -> dict:
    """Of a sample: intervals, those that hold, and estimates over the true effect."""
    data = one.sample(seed)
    model = FDRSelector(
        q=Q, substitutes=None if claim == EXACT else 0.5, targets=one.kind, n_jobs=1
    )
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model.fit(data.X, data.y)
    true = dict(zip(data.truth.tolist(), data.effects.tolist(), strict=True))
    rows = [row for row in model.table_ if row["column"] in true]
    good = [bool(row["low"] <= true[row["column"]] <= row["high"]) for row in rows]
    first = sum(row["qvalue"] <= Q for row in rows)
    ratios = [row["estimate"] / true[row["column"]] for row in rows[:first]]
    return {"count": len(rows), "held": sum(good), "claimed": first,
            "claimed_held": sum(good[:first]), "ratios": ratios}  # fmt: skip


def table(store) -> Table:
    """Shares over all seeds."""
    rows = []
    for one in asked():
        for claim in OURS:
            found = store.of(EFFECTS, one.name, claim)
            count, claimed = (sum(run[key] for run in found) for key in ("count", "claimed"))
            if not claimed:
                continue
            shares = [
                f"{sum(run[mark + 'held'] for run in found) / total:.2f} of {total}"
                for mark, total in (("", count), ("claimed_", claimed))
            ]
            ratio = np.median([ratio for run in found for ratio in run["ratios"]])
            rows.append([one.name, claim.split(", ")[1], *shares, f"{ratio:.2f}"])
    head = ["design", "claim", "all tested that tell", "claimed", "estimate"]
    return Table("Intervals of effects", head, rows, NOTE)
