"""A verdict from the numbers alone."""

import numpy as np

from benchmarks.papers.metric.methods import METHODS, SIZES, THESIS


def values(found: dict, cell: str, method: str, key: str = "error") -> np.ndarray:
    """The results of a method in a cell, repeat by repeat."""
    return np.array(
        [
            found[name][key]
            for repeat in range(100)
            if (name := f"{cell}/{method}/{repeat}") in found
        ]
    )


def mean(found: dict, cell: str, method: str, key: str = "error") -> float:
    """Their mean."""
    seen = values(found, cell, method, key)
    return float(seen.mean()) if len(seen) else float("nan")


def cells(found: dict) -> list[str]:
    """All cells that have results."""
    return list(dict.fromkeys(name.split("/")[0] for name in found))


def paired(found: dict, cell: str, mine: str, theirs: str, key: str = "error") -> str | None:
    """`lower`, `equal` or `higher`: beyond two standard errors of the difference over common
    repeats; None below three.
    """
    names = [(f"{cell}/{mine}/{r}", f"{cell}/{theirs}/{r}") for r in range(100)]
    apart = np.array([found[a][key] - found[b][key] for a, b in names if a in found and b in found])
    if len(apart) < 3:
        return None
    slack = 2.0 * apart.std(ddof=1) / np.sqrt(len(apart))
    return "lower" if apart.mean() < -slack else "higher" if apart.mean() > slack else "equal"


def _madelon(found) -> list[str]:
    lines = []
    for method, goal in (("sDist", 0.13), ("sDist, tuned", 0.11)):
        seen = values(found, "madelon", method)
        if len(seen):
            word = "reached" if seen.mean() <= goal else "not reached"
            text = (
                f"- Madelon, {method}: {seen.mean():.3f} over {len(seen)} splits (goal {goal}: "
                f"{word}; thesis 0.09)"
            )
            lines.append(
                f"{text}, with {100 * mean(found, 'madelon', method, 'share'):.1f} % of the "
                "columns."
            )
    named = {
        "sDist, plain steps": "plain steps",
        "3-NN": "3-NN",
        "3-NN, raw": "3-NN on raw columns",
        "3-NN on the true columns": "3-NN on the 20 true columns",
        "control: correlation": "the label-free correlation control",
        "control: labels permuted": "labels permuted",
    }
    parts = _told(found, "madelon", named)
    if parts:
        lines.append(
            f"- On Madelon: {parts}. A label-free screen does as well: Madelon tests whether "
            "columns are found, not how."
        )
    return lines


def _told(found, cell: str, named: dict, key: str = "error") -> str:
    """Means of the methods that were run, in words."""
    means = {words: mean(found, cell, method, key) for method, words in named.items()}
    return ", ".join(f"{words} {figure:.3f}" for words, figure in means.items() if figure >= 0.0)


def _simulated(found, design: str) -> list[str]:
    near, far, plain = [], [], []
    for shape in ("rings", "xor"):
        for n, p in SIZES:
            cell = f"{design} {shape} {n} {p}"
            best, mine, old = (
                mean(found, cell, m)
                for m in ("3-NN on the true columns", "sDist", "sDist, plain steps")
            )
            if not np.isnan(mine):
                (near if mine <= best + 0.03 else far).append(f"{shape} {n} x {p} ({mine:.3f})")
                plain += [old > best + 0.1] if old >= 0.0 else []
    if not near and not far:
        return []
    text = (
        f"- {design}: sDist is within 0.03 of 3-NN on the true columns in {len(near)} of "
        f"{len(near) + len(far)} cells"
    )
    text += f"; not in {', '.join(far)}" if far else ""
    if plain:
        text += f". With plain steps it is more than 0.1 above in {sum(plain)} of {len(plain)}"
    return [f"{text}."]


def _thesis(found) -> list[str]:
    lines = []
    for design in ("fixed2", "fixed5"):
        good, all_ = 0, 0
        for shape in ("rings", "xor"):
            for n, p in SIZES:
                mine = mean(found, f"{design} {shape} {n} {p}", "sDist")
                if not np.isnan(mine):
                    all_ += 1
                    good += mine <= THESIS[(shape, n, p)]["sDist"] + 0.02
        if all_:
            lines.append(
                f"- Against the thesis' own errors, {design}: {good} of {all_} cells are at most "
                "0.02 above them."
            )
    return lines


def _rivals(found) -> list[str]:
    lines = []
    for rival in ("NCA", "LMNN", "PGDM", "SMLsm", "SMLlp"):
        words = [
            w
            for cell in cells(found)
            if not cell.startswith("figure") and (w := paired(found, cell, "sDist", rival))
        ]
        if words:
            tally = ", ".join(
                f"{word} {words.count(word)}" for word in ("lower", "equal", "higher")
            )
            lines.append(
                f"- Error of sDist against {rival} (beyond two standard errors, cells with 3 "
                f"repeats or more): {tally} of {len(words)}."
            )
    return lines


def _others(found) -> list[str]:
    lines = []
    mine, second = mean(found, "ionosphere", "sDist"), mean(found, "ionosphere", "sDist, order 2")
    if not np.isnan(mine):
        least = np.nanmin([mean(found, "ionosphere", method) for method in METHODS])
        word = "reproduced" if np.nanmin([mine, second]) <= 0.055 else "not reproduced"
        products = "" if np.isnan(second) else f", with products {second:.3f}"
        lines.append(
            f"- Ionosphere: {mine:.3f}{products}; least of all methods {least:.3f}. The thesis' "
            f"0.05 is {word}."
        )
    if "secom" in cells(found):
        names = ("3-NN", "sDist", "sDist, order 2", "control: labels permuted")
        parts = _told(found, "secom", {name: name for name in names}, "balanced")
        word = (
            " Nothing is learnt from this quarter of it."
            if mean(found, "secom", "sDist", "balanced") > 0.45
            else ""
        )
        lines.append(f"- SECOM, balanced error (0.5 is chance): {parts}.{word}")
    return lines


def judge(found: dict) -> list[str]:
    """The verdict as a list."""
    return [
        *_madelon(found),
        *_simulated(found, "fixed2"),
        *_simulated(found, "fixed5"),
        *_thesis(found),
        *_rivals(found),
        *_others(found),
    ]
