"""A verdict from the numbers alone: which claims of the paper hold on the sets at hand, and which
do not.
"""

import numpy as np

PASSES = ("BCW, hinge", "BCW, squared")
RIVALS = ("AROW", "SCW-I", "SCW-II", "NAROW")
SBCW = "SBCW"


def packed(wrong: np.ndarray) -> str:
    """Which test rows were judged wrongly, as text for a file."""
    return np.packbits(wrong).tobytes().hex()


def unpacked(text: str, test: int) -> np.ndarray:
    """The same as 0 and 1."""
    return np.unpackbits(np.frombuffer(bytes.fromhex(text), np.uint8))[:test].astype(float)


def against(mine: dict, theirs: dict, test: int) -> str:
    """`lower`, `equal` or `higher`: my error against theirs on the same test rows, beyond two
    standard errors of the difference.
    """
    apart = unpacked(mine["wrong"], test) - unpacked(theirs["wrong"], test)
    gap, slack = apart.mean(), 2.0 * apart.std() / np.sqrt(test)
    return "lower" if gap < -slack else "higher" if gap > slack else "equal"


def row_of(entry: dict, method: str) -> dict | None:
    """The figures of a method."""
    return next((row for row in entry["rows"] if row["method"] == method), None)


def better_pass(entry: dict) -> dict:
    """The one-pass BCW of lower error."""
    return min((row_of(entry, name) for name in PASSES), key=lambda row: row["error"])


def tally(words: list[str]) -> str:
    """Counts of the three words."""
    return (
        f"lower {words.count('lower')}, equal {words.count('equal')}, higher "
        f"{words.count('higher')} of {len(words)}"
    )


def _table(entries: list[dict], widths: list[dict]) -> list[str]:
    lines = []
    for rivals, words in (
        (RIVALS, "AROW, NAROW and SCW"),
        (("DCD, hinge", "DCD, squared"), "converged DCD"),
        (("ridge",), "ridge regression"),
    ):
        found = [
            against(better_pass(e), row, e["test"])
            for e in entries
            for r in rivals
            if (row := row_of(e, r))
        ]
        if found:
            lines.append(
                f"- One pass of BCW (the better loss) against {words}, error: {tally(found)}."
            )
    apart = [abs(better_pass(e)["error"] - row_of(e, "ridge")["error"]) for e in entries]
    lines.append(
        f"- Ridge regression is within {max(apart):.4f} of it on every set: a benchmark of BCW "
        "without ridge shows little."
    )
    spread = [row_of(e, name)["error_sd"] for e in entries for name in PASSES]
    lines.append(
        "- BCW hardly depends on the order of the rows: its error has a deviation of at most "
        f"{max(spread):.4f} over orders."
    )
    accurate = [
        against(row_of(e, "BCW, squared, C/100"), row_of(e, "DCD, squared"), e["test"])
        for e in entries
    ]
    lines.append(
        "- With cov_C = C/100 and solved, BCW against converged DCD with the squared loss: "
        f"{tally(accurate)}."
    )
    for rival, words in (("AROW", "AROW with full covariance"), ("DCD, hinge", "DCD (liblinear)")):
        ratios = [
            row["seconds"] / row_of(e, "BCW, hinge")["seconds"]
            for e in entries
            if (row := row_of(e, rival)) and row["seconds"] > 0.02
        ]
        if ratios:
            lines.append(
                f"- Time of {words} over that of one BCW pass: {min(ratios):.1f} to "
                f"{max(ratios):.1f} (sets above 0.02 s)."
            )
            lines += _columns(widths) if rival == "AROW" and widths else []
    return lines


def _columns(entries: list[dict]) -> list[str]:
    """AROW's time over BCW's, by columns."""
    ratios = [e["seconds"]["AROW"] / e["seconds"]["BCW, hinge"] for e in entries]
    said = [f"{ratio:.0f} at {int(e['set']):,}" for ratio, e in zip(ratios, entries, strict=True)]
    return [
        f"- That ratio depends on the number of columns: {', '.join(said)} columns, on "
        f"{entries[0]['rows']:,} made-up rows."
    ]


def _figure(entries: list[dict]) -> list[str]:
    lines = []
    pairs = [
        (SBCW, "L1-SVM", "SBCW (defaults) against an L1-regularised SVM of as many features"),
        (SBCW, "SOFS", "SBCW against SOFS"),
        (SBCW, "sparDCA", "SBCW against sparDCA"),
        (SBCW, "FGM", "What the covariance gives, SBCW against FGM"),
        (
            "SBCW, cov_C = C",
            "L1-SVM",
            "SBCW with one C for loss and covariance, as in the paper, but solved, against L1-SVM",
        ),
        ("SBCW as printed", "L1-SVM", "The algorithm as printed against L1-SVM"),
    ]
    for mine, theirs, words in pairs:
        found, gains = [], []
        for entry in entries:
            for row in entry["rows"]:
                other = next(
                    (
                        o
                        for o in entry["rows"]
                        if o["method"] == theirs and o["size"] == row["size"]
                    ),
                    None,
                )
                if row["method"] == mine and other:
                    found.append(against(row, other, entry["test"]))
                    gains.append(row["accuracy"] - other["accuracy"])
        if found:
            lines.append(
                f"- {words}, error: {tally(found)}; mean gain in accuracy "
                f"{sum(gains) / len(gains):+.4f}."
            )
    ratios = [
        row["seconds"] / other["seconds"]
        for entry in entries
        for row in entry["rows"]
        for other in entry["rows"]
        if (row["method"], other["method"]) == (SBCW, "L1-SVM")
        and row["size"] == other["size"]
        and other["seconds"] > 0.0
    ]
    if ratios:
        text = "one fit of L1-SVM, the search for its strength left out"
        lines.append(
            f"- Time of SBCW over that of {text}: {min(ratios):.1f} to {max(ratios):.1f}, median "
            f"{np.median(ratios):.1f}."
        )
    return lines


def judge(found: dict) -> list[str]:
    """The verdict as a list."""
    return [
        *(_table(found["table"], found.get("columns", [])) if found["table"] else []),
        *(_figure(found["figure"]) if found["figure"] else []),
    ]
