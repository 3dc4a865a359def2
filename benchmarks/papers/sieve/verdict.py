"""Figures of all runs of a pick, and how often the sieve wins, ties and loses."""

import numpy as np

from benchmarks.papers.sieve.methods import ABESS, FIRST, FTRL, L1, LEAST, OWN, SIEVE, SPARSE
from benchmarks.papers.sieve.runs import SET
from benchmarks.papers.stabilized.verdict import beyond
from tamis import selection_kappa

RIVALS = ((L1, LEAST), (L1, SPARSE), (FTRL, LEAST), (FTRL, SPARSE), (ABESS, OWN), (FIRST, OWN))
SLACK = 0.03  # kappas nearer than this are equal


def figures(store, name: str, method: str, pick: str) -> dict | None:
    """Means over the runs, the deviation of the error, and kappa; None where nothing ran."""
    lines = [line for line in store.of(SET, name, method) if "picks" in line]
    if not lines:
        return None
    found = [line["picks"][pick] for line in lines]
    supports = [np.asarray(one["support"], int) for one in found]
    stated = [one["stated"] for one in found if one["stated"] is not None]
    kappa = selection_kappa(supports, lines[0]["width"]) if len(supports) > 1 else np.nan
    return {
        "error": float(np.mean([one["error"] for one in found])),
        "error_sd": float(np.std([one["error"] for one in found], ddof=min(1, len(found) - 1))),
        "size": float(np.mean([len(support) for support in supports])),
        "kappa": kappa,
        "seconds": float(np.mean([one["seconds"] for one in found])),
        "stated": float(np.mean(stated)) if stated else None,
        "runs": len(found),
    }


def signs(mine: dict, other: dict) -> dict[str, int]:
    """-1 where the sieve is better, 1 where it is worse, else 0."""
    gap = other["kappa"] - mine["kappa"]
    return {
        "error": beyond(mine, other, min(mine["runs"], other["runs"])),
        "size": int(np.sign(mine["size"] - other["size"])),
        "kappa": 0 if abs(gap) <= SLACK else int(np.sign(gap)),
    }


def tally(found: list[int]) -> str:
    """Wins, ties and losses."""
    return "/".join(str(found.count(sign)) for sign in (-1, 0, 1))


def against(store, names, method: str, pick: str) -> dict | None:
    """The count against one rival over sets, and the median ratio of the times."""
    pairs = [
        (figures(store, name, SIEVE, OWN), figures(store, name, method, pick)) for name in names
    ]
    both = [(mine, other) for mine, other in pairs if mine and other]
    if not both:
        return None
    found = [signs(mine, other) for mine, other in both]
    ratios = [other["seconds"] / max(mine["seconds"], 1e-3) for mine, other in both]
    counts = {key: tally([sign[key] for sign in found]) for key in ("error", "size", "kappa")}
    return {"sets": len(both), "ratio": float(np.median(ratios)), **counts}


def optimism(store, names, method: str) -> tuple[float, float, int] | None:
    """The mean over sets of stated minus test error, its standard error, and how many sets."""
    found = [figures(store, name, method, OWN) for name in names]
    gaps = [one["stated"] - one["error"] for one in found if one and one["stated"] is not None]
    if len(gaps) < 2:
        return None
    return float(np.mean(gaps)), float(np.std(gaps, ddof=1) / np.sqrt(len(gaps))), len(gaps)
