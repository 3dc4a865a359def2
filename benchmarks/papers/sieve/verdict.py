"""Figures of all runs of a pick, and how often the sieve wins, ties and loses."""

import numpy as np

from benchmarks.pages import verdict
from benchmarks.papers.sieve.methods import (
    ABESS,
    FIRST,
    FIXED,
    FTRL,
    L1,
    LEAST,
    OWN,
    SIEVE,
    SPARSE,
)
from benchmarks.papers.sieve.runs import NOISE, NOISES, SET
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
        "rest": float(np.mean([one.get("rest", np.nan) for one in found])),
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


def optimism(store, names, method: str, where: str) -> tuple[float, float, int] | None:
    """The mean over sets of the stated error minus that on the test rows ("error") or on the
    training rows left out ("rest"), its standard error, and how many sets.
    """
    found = [figures(store, name, method, OWN) for name in names]
    gaps = [one["stated"] - one[where] for one in found if one and one["stated"] is not None]
    if len(gaps) < 2:
        return None
    return float(np.mean(gaps)), float(np.std(gaps, ddof=1) / np.sqrt(len(gaps))), len(gaps)


def size_gaps(store, names) -> dict[str, float]:
    """By set: how much kappa gains when the size is held fixed."""
    pairs = {
        name: (figures(store, name, SIEVE, OWN), figures(store, name, FIXED, OWN)) for name in names
    }
    return {
        name: fixed["kappa"] - chosen["kappa"]
        for name, (chosen, fixed) in pairs.items()
        if chosen and fixed
    }


def noise_figures(store, name: str, method: str) -> dict | None:
    """Share of empty models, and the stated errors with their standard error."""
    found = store.of(NOISE, name, method)
    if not found:
        return None
    errors = np.array([one["stated"] for one in found if one["stated"] is not None])
    several = len(errors) > 1
    return {
        "sets": len(found),
        "empty": float(np.mean([one["size"] == 0 for one in found])),
        "largest": max(one["size"] for one in found),
        "stated": float(errors.mean()) if len(errors) else None,
        "error": float(errors.std(ddof=1) / np.sqrt(len(errors))) if several else 0.0,
        "least": float(errors.min()) if len(errors) else None,
        "seconds": float(np.mean([one["seconds"] for one in found])),
    }


def goals(store, classes, rare) -> list[str]:
    """What was promised, what was found, and whether it was met."""
    lines = []
    for name in NOISES:
        found = noise_figures(store, name, SIEVE)
        if found:
            empty, stated = found["empty"], found["stated"]
            lines.append(
                f"- Noise, {name}: empty in at least 95 % of the sets: {100 * empty:.0f} %, "
                f"**{verdict(empty >= 0.95)}**."
            )
            if stated is not None:
                lines.append(
                    f"- Noise, {name}: the mean stated error within a standard error of 50 %: "
                    f"{100 * stated:.1f} ±{100 * found['error']:.1f}, "
                    f"**{verdict(abs(stated - 0.5) <= found['error'])}**."
                )
    for where, words in (("rest", "rows left out"), ("error", "test rows")):
        found = optimism(store, classes, SIEVE, where)
        if found:
            mean, error, count = found
            lines.append(
                f"- The stated error minus that on the {words}, mean over the sets of classes, "
                f"within a standard error of 0: {100 * mean:+.2f} ±{100 * error:.2f} points "
                f"({count} sets), **{verdict(abs(mean) <= error)}**."
            )
    gaps = size_gaps(store, rare)
    if gaps:
        said = ", ".join(f"{gap:+.3f} on {name}" for name, gap in gaps.items())
        lines.append(
            "- Rare classes: kappa with the size chosen within .03 of that with the size held "
            f"fixed: {said}, **{verdict(max(gaps.values()) <= SLACK)}**."
        )
    return lines
