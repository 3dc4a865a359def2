"""Nanoseconds per nonzero and pass: tamis, its peers, and a plain read of the same arrays."""

import warnings

from benchmarks.clock import Times
from benchmarks.pages import MET, MISSED, Goal, Page, Table
from benchmarks.passes import (
    EXTRA,
    FAST_READ,
    LASSO,
    PLAIN,
    PLAIN_READ,
    SKLEARN,
    TAMIS,
    WABBIT,
    by_cache,
    by_fit,
    by_partial_fit,
    by_reading,
)
from benchmarks.shapes import (
    across_columns,
    across_strengths,
    across_types,
    at_the_border,
    many_classes,
    million,
)
from benchmarks.workloads import Workload, describe, make

Found = dict[str, dict[str, Times]]
VW = next(iter(WABBIT))
L1_RECIPES = ("tamis FOBOS", "tamis truncated gradient", "tamis RDA")

# Recipes, against whom, how much of that time they may take at most, and the same in words.
GOALS = (
    (
        ("tamis SGD",),
        PLAIN,
        1 / 2,
        "tamis SGD at most 1/2 of scikit-learn's SGDClassifier(penalty=None)",
    ),
    (("tamis FOBOS",), LASSO, 1 / 3, 'tamis FOBOS at most 1/3 of SGDClassifier(penalty="l1")'),
    (
        ("tamis truncated gradient",),
        LASSO,
        1 / 3,
        'tamis truncated gradient at most 1/3 of SGDClassifier(penalty="l1")',
    ),
    (("tamis RDA",), LASSO, 1 / 4, 'tamis RDA at most 1/4 of SGDClassifier(penalty="l1")'),
    (
        tuple(TAMIS),
        VW,
        1 / 6,
        "every tamis recipe at most 1/6 of Vowpal Wabbit --l1 from its cache",
    ),
    (("tamis SGD",), FAST_READ, 6.0, "tamis SGD within 6 times a streaming read"),
    (L1_RECIPES, FAST_READ, 9.0, "tamis L1 recipes within 9 times a streaming read"),
)
HEAD = [
    "logistic, float64",
    "ns",
    "median",
    "/ sklearn none",
    "/ sklearn l1",
    "/ VW --l1",
    "/ VW --sgd --l1",
    "x fast read",
    "x NumPy sums",
]
NOTES = {
    "fit": f"""Stored order; {1 + EXTRA} passes of fit less one, so that starting costs cancel: the
        loops alone, and the count of kept features that ends each pass. CPU time of the one thread,
        which is wall time on a quiet machine; Vowpal Wabbit: wall time, its reader on a second
        thread. The reads: a compiled loop over whole numbers, many at a time, and `data.sum()` with
        `indices.sum()`; the arrays fit in the processor's largest cache.""",
    "partial_fit": "Stored order; one call a pass over the whole matrix: with the border, that is "
    "with all checks of X and y.",
    "fit, rows shuffled": "As the first table, but with `shuffle=True`, the default of fit in "
    "tamis and in scikit-learn.",
}


def against_peers(quick: bool) -> tuple[list[Table], list[Goal]]:
    """One workload, all contestants, all ways of timing."""
    work = make("rcv1-like", quick)
    found = measure(work, quick)
    tables = []
    for way, note in NOTES.items():
        limits = {**found["limits"], **{name: found[way][name] for name in SKLEARN}}
        times = found[way] | (found["limits"] if way == "fit" else {})
        order = (PLAIN, LASSO, *WABBIT, FAST_READ, PLAIN_READ)
        rows = [
            [
                name,
                *(f"{1e9 * t / work.X.nnz:.2f}" for t in times[name]),
                *(f"{times[name].least / limits[limit].least:.2f}" for limit in order),
            ]
            for name in times
        ]
        tables.append(Table(f"A pass by {way}, {describe('rcv1-like')}", HEAD, rows, note))
    return tables, [_judge(found, *goal) for goal in GOALS]


def measure(work: Workload, quick: bool) -> Found:
    """Times by every way; the ways take turns too."""
    makers = {**TAMIS, **SKLEARN}
    ways = {
        "fit": lambda: by_fit(makers, work, 2 if quick else 6),
        "partial_fit": lambda: by_partial_fit(makers, work, 2 if quick else 10),
        "fit, rows shuffled": lambda: by_fit(makers, work, 2 if quick else 4, shuffle=True),
        "limits": lambda: by_cache(work, 2 if quick else 4) | by_reading(work, 5 if quick else 20),
    }
    found: Found = {way: {} for way in ways}
    for _ in range(1 if quick else 4):
        for way, action in ways.items():
            for name, times in action().items():
                found[way][name] = min(found[way].get(name, times), times)
    return found


def _judge(found: Found, recipes, limit, most, promise) -> Goal:
    """A verdict by the pass inside fit and by partial_fit with its border, in stored order."""
    words, good = {}, {}
    for way in NOTES:
        below = found[way].get(limit) or found["limits"][limit]
        ratios = {name: found[way][name].least / below.least for name in recipes}
        worst = max(ratios, key=ratios.__getitem__)
        words[way] = f"{ratios[worst]:.2f}" + (
            f" ({worst.removeprefix('tamis ')})" if len(recipes) > 1 else ""
        )
        good[way] = ratios[worst] <= most
    figure = ", ".join(f"{words[way]} by {way}" for way in NOTES)
    if limit == FAST_READ:
        share = (
            max(found["fit"][name].least for name in recipes) / found["limits"][PLAIN_READ].least
        )
        figure += f" (inside fit {share:.1f} times NumPy's two sums)"
    said = (
        MET
        if good["fit"] and good["partial_fit"]
        else "met inside fit, not by partial_fit"
        if good["fit"]
        else MISSED
    )
    return Goal(promise, figure, said)


def run(quick: bool) -> Page:
    """All tables of this part."""
    opening = """
        Nanoseconds per nonzero of one pass over the training rows, single thread, logistic loss,
        each model at its defaults (the L1 peers at the strength that tamis finds). The contestants
        take turns over many rounds; `ns` is of the quietest round, and ratios are those of the
        quietest rounds. Compare ratios inside a table, not figures between tables."""
    page = Page("speed", "Speed", opening)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for part in (
            against_peers,
            across_strengths,
            across_columns,
            at_the_border,
            many_classes,
            across_types,
            million,
        ):
            tables, goals = part(quick)
            page.tables += tables
            page.goals += goals
    return page
