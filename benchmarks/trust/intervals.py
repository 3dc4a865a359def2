"""How often the interval of `selection_stability` holds the truth, over procedures whose stability
is known, for few and for many runs; beside it the asymptotic interval of Nogueira, Sechidis and
Brown (theorem 7), which tamis had before. `python -m benchmarks intervals`.
"""

from collections.abc import Callable

import numpy as np
import scipy.sparse as sp

from benchmarks.clock import timed
from benchmarks.pages import Goal, Page, Table, verdict
from tamis import selection_stability

RUNS = (5, 10, 20, 50)
REPEATS, QUICK = 1000, 60
MANY = 2000  # runs that a truth is read from
LEAST, MOST = 0.93, 0.97
WITHIN = 0.01  # one and a half standard errors of a share of 1,000 repeats
LEVEL = 1.959963984540054
Draw = Callable[[int], np.ndarray]


def noisy_ranking(random, width: int, size: int, strength: float) -> Draw:
    """The best `size` columns by scores with noise, as a ranker keeps them."""
    means = np.zeros(width)
    means[:size] = strength * np.linspace(1.5, 0.5, size)

    def draw(runs: int) -> np.ndarray:
        scores = means + random.normal(size=(runs, width))
        best = np.argpartition(-scores, size - 1, axis=1)[:, :size]
        kept = np.zeros((runs, width), bool)
        np.put_along_axis(kept, best, True, axis=1)
        return kept

    return draw


def each_by_itself(random, shares: np.ndarray, factors=(1.0,)) -> Draw:
    """Each column kept with its own probability; a run's factor makes small and large runs."""

    def draw(runs: int) -> np.ndarray:
        scale = random.choice(factors, size=(runs, 1))
        return random.random((runs, len(shares))) < np.clip(shares * scale, 0.0, 1.0)

    return draw


def two_ways(random, width: int, size: int, share: float) -> Draw:
    """Two selections that have half of their columns in common, the first with a given share."""

    def draw(runs: int) -> np.ndarray:
        begins = np.where(random.random(runs) < share, 0, size // 2)[:, None]
        columns = np.arange(width)
        inside = (columns >= begins) & (columns < begins + size)
        return random.random((runs, width)) < np.where(inside, 0.95, 0.05 * size / width)

    return draw


def _shares(width: int, core: int, often: float, seldom: float) -> np.ndarray:
    return np.where(np.arange(width) < core, often, seldom)


def procedures(random) -> dict[str, Draw]:
    """Those that the goal is about: 10 to 50 columns of 100 to 5,000, stable or not."""
    graded = np.clip(np.linspace(1.2, -0.2, 40), 0.004, 1.0)
    return {
        "100 columns, core of 10, very stable": each_by_itself(
            random, _shares(100, 10, 0.95, 0.003)
        ),
        "100 columns, core of 20": each_by_itself(random, _shares(100, 20, 0.7, 0.03)),
        "500 columns, shares from 1 to 0": each_by_itself(
            random, np.concatenate([graded, np.full(460, 0.004)])
        ),
        "1,000 columns, core of 30, unstable": each_by_itself(random, _shares(1000, 30, 0.3, 0.02)),
        "5,000 columns, core of 50": each_by_itself(random, _shares(5000, 50, 0.7, 0.003)),
        "150 columns, runs small or large": each_by_itself(
            random, _shares(150, 12, 0.7, 0.03), (0.4, 1.4)
        ),
        "1,000 columns, runs small or large": each_by_itself(
            random, _shares(1000, 40, 0.7, 0.005), (0.4, 1.4)
        ),
        "best 10 of 100": noisy_ranking(random, 100, 10, 2.0),
        "best 10 of 1,000": noisy_ranking(random, 1000, 10, 5.0),
        "best 30 of 1,000": noisy_ranking(random, 1000, 30, 3.0),
        "best 20 of 2,000, very stable": noisy_ranking(random, 2000, 20, 8.0),
        "best 50 of 5,000, unstable": noisy_ranking(random, 5000, 50, 2.0),
    }


def hard_procedures(random) -> dict[str, Draw]:
    """Those that few runs cannot show: rare events, two ways, and pure chance."""
    return {
        "two ways, half each": two_ways(random, 500, 20, 0.5),
        "two ways, one of them 70 %": two_ways(random, 500, 20, 0.7),
        "two ways, one of them 90 %": two_ways(random, 500, 20, 0.9),
        "20 of 1,000, one in ten runs loses one": each_by_itself(
            random, np.concatenate([np.full(20, 0.995), np.zeros(980)])
        ),
        "pure chance, 20 of 1,000": noisy_ranking(random, 1000, 20, 0.0),
    }


def swapping(
    random, modules: int, size: int, alike: float, shares: np.ndarray
) -> tuple[Draw, sp.csr_array]:
    """Columns in modules, and how alike they are; of each module that a run keeps, with its own
    probability, it keeps one column by chance.
    """
    width = modules * size

    def draw(runs: int) -> np.ndarray:
        kept = np.zeros((runs, width), bool)
        run, module = np.nonzero(random.random((runs, modules)) < shares)
        kept[run, module * size + random.integers(0, size, len(run))] = True
        return kept

    block = np.where(np.eye(size), 1.0, alike)
    return draw, sp.csr_array(sp.kron(sp.eye_array(modules), block))


def swaps(random) -> dict[str, tuple[Draw, sp.csr_array]]:
    """Procedures that take one of several alike columns, whose swaps are credited."""
    few, graded = _shares(100, 15, 0.9, 0.01), np.clip(np.linspace(1.1, 0.0, 25), 0.01, 1.0)
    graded = np.concatenate([graded, np.full(175, 0.01)])
    return {
        "100 pairs of .95, core of 15": swapping(random, 100, 2, 0.95, few),
        "100 modules of 4 at .8, core of 15": swapping(random, 100, 4, 0.8, few),
        "100 modules of 10 at .7, core of 15": swapping(random, 100, 10, 0.7, few),
        "200 modules of 4 at .8, shares from 1 to 0": swapping(random, 200, 4, 0.8, graded),
    }


def swapped(draw: Draw, alike: sp.csr_array, repeats: int) -> tuple[list[str], float]:
    """Stability without and with credit, and the share of intervals that hold the latter."""
    many = draw(MANY)
    plain = selection_stability(sp.csr_array(many)).value
    truth = selection_stability(sp.csr_array(many), similarity=alike).value
    held = {}
    for runs in RUNS:
        found = [selection_stability(draw(runs), similarity=alike) for _ in range(repeats)]
        held[runs] = float(np.mean([one.low <= truth <= one.high for one in found]))
    shown = [f"{100 * share:.1f}" for share in held.values()]
    return [f"{plain:.2f}", f"{truth:.2f}", *shown], held[10]


def theorem_seven(kept: np.ndarray) -> tuple[float, float]:
    """The interval that tamis had: the asymptotic variance of the paper, normal quantiles."""
    runs, width = kept.shape
    sizes, shares = kept.sum(axis=1), kept.mean(axis=0)
    mean = sizes.mean() / width
    chance = mean * (1.0 - mean)
    value = 1.0 - runs / (runs - 1) * (shares * (1.0 - shares)).sum() / width / chance
    own = (kept @ shares) / width - sizes / width * mean
    influence = own + value / 2 * (2 * mean * sizes / width - sizes / width - mean + 1)
    influence = influence / chance
    reach = LEVEL * 2.0 / runs * np.sqrt(((influence - influence.mean()) ** 2).sum())
    return max(value - reach, -1.0), min(value + reach, 1.0)


def truth_of(name: str, draw: Draw) -> float:
    """The stability that very many runs show; of pure chance 0."""
    if name.startswith("pure chance"):
        return 0.0
    return selection_stability(sp.csr_array(draw(MANY))).value


def cover(draw: Draw, truth: float, runs: int, repeats: int) -> tuple[float, float, float, float]:
    """Share of intervals that hold the truth and their mean width: theorem 7, and ours."""
    limits = np.empty((repeats, 2, 2))
    for repeat in range(repeats):
        kept = draw(runs)
        limits[repeat, 0] = theorem_seven(kept.astype(np.float32))
        limits[repeat, 1] = selection_stability(kept)[1:3]
    held = ((limits[..., 0] <= truth) & (truth <= limits[..., 1])).mean(axis=0)
    wide = (limits[..., 1] - limits[..., 0]).mean(axis=0)
    return float(held[0]), float(held[1]), float(wide[0]), float(wide[1])


def _cells(name: str, draw: Draw, repeats: int) -> tuple[list[str], dict[int, tuple]]:
    truth = truth_of(name, draw)
    found = {runs: cover(draw, truth, runs, repeats) for runs in RUNS}
    held = [f"{100 * old:.1f} / {100 * new:.1f}" for old, new, _, _ in found.values()]
    return [name, f"{truth:.2f}", *held, f"{found[10][2]:.2f} / {found[10][3]:.2f}"], found


def run(quick: bool) -> Page:
    """Coverage of both intervals."""
    repeats, random = QUICK if quick else REPEATS, np.random.default_rng(18)
    head = ["procedure", "stability", *(f"{runs} runs" for runs in RUNS), "width, 10 runs"]
    tables, ten = [], {}
    with timed("all intervals"):
        for caption, kind in (
            ("Coverage of nominal 95 % intervals, in %: theorem 7 / tamis", procedures),
            ("Where few runs cannot show the truth", hard_procedures),
        ):
            rows = []
            for name, draw in kind(random).items():
                cells, found = _cells(name, draw, repeats)
                rows.append(cells)
                if kind is procedures:
                    ten[name] = found[10]
            tables.append(Table(caption, head, rows))
        rows, credited = [], []
        for name, (draw, alike) in swaps(random).items():
            cells, ten_runs = swapped(draw, alike, repeats)
            rows.append([name, *cells])
            credited.append(ten_runs)
        held_by = [f"{runs} runs" for runs in RUNS]
        tables.insert(
            1,
            Table(
                "Swaps of twins credited (similarity), coverage in %",
                ["procedure", "stability without", "with", *held_by],
                rows,
            ),
        )
    tables[2].note = """Rare events: where no run shows one the interval has no width, so that it
        covers as often as one was seen (two ways 90 to 10: a third of ten runs are all of the first
        kind). Pure chance: the first-order part of the variance vanishes, and the jackknife counts
        the second-order part twice: intervals are too wide."""
    held = [new for _, new, _, _ in ten.values()]
    before = [old for old, _, _, _ in ten.values()]
    inside = sum(LEAST <= share <= MOST for share in held)
    goals = [
        Goal(
            "10 runs: 93 to 97 % of the 95 % intervals hold the truth (a point more or less is the "
            "trial's error)",
            f"{100 * min(held):.1f} to {100 * max(held):.1f} % in {len(held)} procedures, "
            f"{inside} of them within the limits (theorem 7: {100 * min(before):.1f} to "
            f"{100 * max(before):.1f} %)",
            verdict(all(LEAST - WITHIN <= share <= MOST + WITHIN for share in held)),
        ),
        Goal(
            "10 runs, swaps of twins credited: the same",
            f"{100 * min(credited):.1f} to {100 * max(credited):.1f} % in {len(credited)} "
            "procedures",
            verdict(all(LEAST - WITHIN <= share <= MOST + WITHIN for share in credited)),
        ),
    ]
    opening = f"""Runs are drawn from procedures of known stability (that of {MANY:,} runs), and
        `selection_stability` gives its 95 % interval; {repeats:,} times for each cell, whose
        standard error is about {100 * np.sqrt(0.95 * 0.05 / repeats):.1f} points. The first figure
        is the interval of theorem 7 of Nogueira, Sechidis and Brown, which tamis had before; the
        second is today's, the jackknife of the root of 1 - stability with quantiles of Student's t.

        Tried beside it, on the same procedures with other seeds, 10 runs: theorem 7 with quantiles
        of t covered 88 to 98 %; the jackknife of the value itself 92 to 97 %; of log(1 - value) and
        of its area tangent 92 to 99 %, many times wider near 1; the jackknife with its upward bias
        removed 93 to 96 %, but 90 to 95 % with 5 runs of one size."""
    return Page("intervals", "Intervals of stability", opening, tables, goals)
