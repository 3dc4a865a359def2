"""Streams that are looked at after every block of 100 rows: how often the share of false features
goes wrong, and what is found when. `python -m benchmarks anytime`.

The e-values of `FDRStream` stand beside the fixed-n test on the very same products of residuals,
and beside two other processes that may be peeked at (peeking.py).
"""

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
import scipy.sparse as sp
from scipy.special import expit, ndtr

from benchmarks.clock import timed
from benchmarks.pages import Goal, Page, Table, verdict
from benchmarks.papers.anytime.peeking import FIXED, OURS, SIGNS, UNIVERSAL, Watched
from benchmarks.papers.guarantees import columns
from tamis.selection.anytime.evidence import BLOCK_ROWS, PendingRows, StreamEvidence
from tamis.selection.false_discovery.multiple_testing import (
    benjamini_hochberg,
    evalue_pvalues,
    find_representatives,
)

Q, SEEDS, QUICK = 0.1, 20, 2
ROWS, FIRST, WIDTH, REAL = 6000, 1000, 500, 15
SOFT = 0.5
FIXED_ALL = "fixed n, all columns"


class Design(NamedTuple):
    """A law of columns, kind of target, and kind of claim."""

    law: Callable
    logistic: bool = False
    substitutes: float | None = None
    heavy: bool = False
    strength: float = 1.0
    rows: int = ROWS


ZIPF = columns.zipf(0.5, 0.5)
DESIGNS = {
    "independent": Design(columns.independent),
    "chain .8": Design(columns.chain(0.8)),
    "chain .8, groups": Design(columns.chain(0.8), substitutes=SOFT),
    "equal .3": Design(columns.equal(0.3)),
    "t3 columns and noise": Design(columns.heavy, heavy=True),
    "independent, classes": Design(columns.independent, logistic=True),
    "chain .8, classes, groups": Design(columns.chain(0.8), logistic=True, substitutes=SOFT),
    "Zipf, sparse, classes": Design(ZIPF, logistic=True),
}
LONG = {
    "equal .3, weak": Design(columns.equal(0.3), strength=0.4, rows=20_000),
    "chain .8, weak": Design(columns.chain(0.8), strength=0.4, rows=20_000),
}


def drawn(design: Design, seed: int, null: bool):
    """A stream, its real columns, and which columns are near each of them."""
    random = np.random.default_rng([18, seed])
    draw, correlations = design.law(random, WIDTH)
    X = sp.csr_array(draw(random, design.rows))
    # Rare columns at the end of Zipf's law cannot be found in so few rows.
    among = WIDTH // 3 if design.law is ZIPF else WIDTH
    real = np.sort(random.choice(among, REAL, replace=False))
    size = design.strength * np.sqrt(2.0 * np.log(WIDTH) / FIRST)
    effects = size * random.uniform(0.5, 1.25, REAL) * random.choice([-1.0, 1.0], REAL)
    score = np.zeros(design.rows) if null else X[:, real] @ effects
    if design.logistic:
        y = (random.random(design.rows) < expit(2.0 * score)).astype(float)
    elif design.heavy:
        y = score + random.standard_t(3, design.rows) / np.sqrt(3.0)
    else:
        y = score + random.standard_normal(design.rows)
    return X, y, real, np.abs(correlations(real)) > SOFT


def rates(stage: StreamEvidence, name: str, value: np.ndarray, groups: bool) -> np.ndarray:
    """The rate at which each test would be kept, under one of the methods."""
    fixed = name in (FIXED, FIXED_ALL)
    size = np.abs(value) if fixed else value
    own = np.arange(len(size))
    if groups:
        members = [stage.group(k) for k in own]
        own = own[find_representatives(-size, stage.outputs, stage.tests, members) == own]
    found = np.ones(len(size))
    family = WIDTH if name == FIXED_ALL else len(size)
    pvalues = 2.0 * ndtr(-size[own]) if fixed else evalue_pvalues(value[own])
    found[own] = benjamini_hochberg(pvalues, family)
    return found


class Outcome:
    """What one method did in one stream."""

    def __init__(self) -> None:
        self.first: float | None = None
        self.ever = False
        self.worst = self.last = self.power = 0.0
        self.when: dict[int, int] = {}

    def look(self, kept: np.ndarray, good: np.ndarray, found: np.ndarray, rows: int) -> None:
        """After a block: tests that are kept, those that would be right, real columns found."""
        false = np.count_nonzero(~good[kept]) / max(len(kept), 1)
        self.first = false if self.first is None and len(kept) else self.first
        self.worst, self.last = max(self.worst, false), false
        self.ever |= false > 0.0
        self.power = float(found.mean())
        for k in np.flatnonzero(found):
            self.when.setdefault(int(k), rows)


def stream(design: Design, seed: int, null: bool) -> dict[str, Outcome]:
    """One stream, looked at after every block."""
    X, y, real, near = drawn(design, seed, null)
    first = PendingRows(sp.csr_array(X[:FIRST]), y[:FIRST, None])
    groups = design.substitutes is not None
    stage = Watched.from_first_rows(first, design.logistic, design.substitutes, 60, 10)
    if not (null or design.logistic or design in LONG.values()):
        stage.watch(first)
    hits = near[:, stage.tests] if groups else real[:, None] == stage.tests
    good = hits.any(axis=0) & (not null)
    found: dict[str, Outcome] = {}
    for _ in stage.learn(sp.csr_array(X[FIRST:]), y[FIRST:, None]):
        looks = stage.looks()
        for name, value in {**looks, FIXED_ALL: looks[FIXED]}.items():
            kept = np.flatnonzero(rates(stage, name, value, groups) <= Q)
            one = found.setdefault(name, Outcome())
            one.look(kept, good, hits[:, kept].any(axis=1), stage.n_tested)
    return found


def _mean(outcomes: list[Outcome], of: Callable) -> float:
    return float(np.mean([of(one) for one in outcomes]))


def _row(name: str, method: str, outcomes: list[Outcome], noise: list[Outcome]) -> list[str]:
    times = [rows for one in outcomes for rows in one.when.values()]
    shares = [
        _mean(outcomes, lambda one: one.first or 0.0),
        _mean(outcomes, lambda one: one.worst),
        _mean(outcomes, lambda one: one.last),
    ]
    return [
        name,
        method,
        *(f"{share:.3f}" for share in shares),
        f"{_mean(noise, lambda one: one.ever):.2f}" if noise else "-",
        f"{_mean(outcomes, lambda one: one.power):.2f}",
        f"{np.median(times):,.0f}" if times else "-",
    ]


HEAD = [
    "design",
    "method",
    "false share at the first selection",
    "largest at any look",
    "at the end",
    "noise: any selection ever",
    "power at the end",
    "rows to a discovery",
]


def table(designs: dict[str, Design], seeds: int, caption: str, null: bool, note: str):
    """All streams of some designs; and the two figures that a promise is about."""
    lines, found = [], {}
    for name, design in designs.items():
        with timed(name):
            real = [stream(design, seed, False) for seed in range(seeds)]
            noise = [stream(design, seed, True) for seed in range(seeds if null else 0)]
        for method in (FIXED, FIXED_ALL, OURS, SIGNS, UNIVERSAL):
            if method in real[0]:
                outcomes = [one[method] for one in real]
                others = [one[method] for one in noise if method in one]
                lines.append(_row(name, method, outcomes, others))
                found[name, method] = max(
                    _mean(outcomes, lambda one: one.first or 0.0),
                    _mean(others, lambda one: one.ever) if others else 0.0,
                )
    return Table(caption, HEAD, lines, note), found


def run(quick: bool) -> Page:
    """All designs, with real features and without."""
    seeds = QUICK if quick else SEEDS
    some = dict(list(DESIGNS.items())[4:6]) if quick else DESIGNS
    note = f"""Means over {seeds} seeds. Noise: the same columns and a target that has nothing to do
        with them. Rows to a discovery: tested rows at the first look at which a real feature is
        kept, in the middle of all that were found."""
    main, found = table(
        some, seeds, f"Looked at after every {BLOCK_ROWS} rows, q = {Q}", True, note
    )
    tables = [main] if quick else [main, _long(seeds // 2)]
    held = [found[name, OURS] for name in some]
    broken = [found[name, FIXED] for name in some]
    goals = [
        Goal(
            "e-values: false share at the first selection, and share of noise streams with any "
            f"selection ever, at most {Q}",
            f"at most {max(held):.3f} in {len(held)} designs",
            verdict(max(held) <= Q),
        ),
        Goal(
            "where the fixed-n test that is looked at after every block fails",
            f"above {Q} in {sum(share > Q for share in broken)} of {len(broken)} designs, up to "
            f"{max(broken):.2f}",
            verdict(min(broken) > Q),
        ),
    ]
    return Page("anytime", "Evidence at any time", _opening(), tables, goals)


def _long(seeds: int) -> Table:
    note = f"""{seeds} seeds, 20,000 rows, effects of 0.4 times those above: the screen on {FIRST:,}
        rows misses most real features, so that they are not among the controls, and what was
        screened instead of them may lean on them. No method that fixes its controls on the first
        rows can tell; raise `n_screen`."""
    return table(LONG, seeds, "Where the screen misses what is real", False, note)[0]


def _opening() -> str:
    return f"""Streams of {ROWS:,} rows and {WIDTH} columns, {REAL} of them real with effects of
        +-U(.5, 1.25) sqrt(2 log p / {FIRST}). The first {FIRST:,} rows choose candidates and
        controls and are no evidence; all methods then see the same products of residuals, of fits
        to the rows before each block, and are looked at after every block of {BLOCK_ROWS} rows. The
        worst that peeking can do is to stop at the first look that shows anything: the false share
        there is what a promise is about. The largest at any look, which nobody can stop at who
        does not know the truth, is promised by none of them.

        "{FIXED}" is the test of `FDRSelector` on the tested rows, Benjamini and Hochberg's
        procedure over the candidates, "{FIXED_ALL}" the same over all {WIDTH}; "{OURS}" is
        `FDRStream`: a normal mixture of the self-normalised sum, e-BH over the candidates.
        Tried beside it: "{SIGNS}", a bet on the signs of the products (exact for symmetric noise,
        nothing for classes), and "{UNIVERSAL}" inference (likelihood of a running fit with the
        column over the best fit without it: exact for normal noise, and it pays for every control).
        """
