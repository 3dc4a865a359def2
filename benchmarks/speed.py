"""Nanoseconds per nonzero and pass: tamis, its peers, and a plain read of the same arrays."""

import functools
import warnings

from benchmarks.clock import Times
from benchmarks.floor import PASSES, SLOPES, race
from benchmarks.pages import Goal, Page, Table, verdict
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
from benchmarks.workloads import RECIPES, Workload, describe, make
from tamis import (
    AROWClassifier,
    FOBOSClassifier,
    FOBOSRegressor,
    FTRLClassifier,
    FTRLRegressor,
    OnlineClassifier,
    OnlineRegressor,
    RDAClassifier,
    RDARegressor,
)

Found = dict[str, dict[str, Times]]
VW = next(iter(WABBIT))
CLASSES = {
    "SGD": functools.partial(OnlineClassifier, penalty=None),
    "FOBOS": FOBOSClassifier,
    "RDA": RDAClassifier,
    "FTRL": FTRLClassifier,
    "AdaGrad": functools.partial(OnlineClassifier, optimizer="adagrad"),
}
NUMBERS = {
    "SGD": functools.partial(OnlineRegressor, penalty=None),
    "FOBOS": FOBOSRegressor,
    "RDA": RDARegressor,
    "FTRL": FTRLRegressor,
    "AdaGrad": functools.partial(OnlineRegressor, optimizer="adagrad"),
}
MOST = 1.25  # times the hand-written loop
ROWS = ("rcv1-like", "20 a row", "200 a row", "5 a row")
LOSSES = tuple(SLOPES)
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
    return tables, []


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


def against_floors(quick: bool) -> tuple[list[Table], list[Goal]]:
    """Every rule and loss against a hand-written loop of the same rule, in the same run."""
    works = {name: make(name, quick) for name in ROWS}
    losses, rules = (LOSSES[:2], ("SGD", "FTRL")) if quick else (LOSSES, tuple(PASSES))
    cases = [(r, x) for r in rules for x in (losses if r != "AROW" else ("hinge",))]
    rows, found = [], {}
    for rule, loss in cases:
        turns = {}
        for name, work in works.items():
            for shuffle in (False, True):
                for intercept in (False, True):
                    model = _model(rule, loss, intercept)
                    turn = race(model, rule, loss, work, shuffle, 2 if quick else 8)
                    turns[name, shuffle, intercept] = turn
        found |= {(rule, loss, *key): turn for key, turn in turns.items()}
        first = turns[ROWS[0], False, False]
        ratios = [
            max(turns[name, shuffle, intercept].ratio for intercept in (False, True))
            for name in ROWS
            for shuffle in (False, True)
        ]
        rows.append(
            [rule, loss, f"{first.hand:.2f}", f"{first.tamis:.2f}", *(f"{x:.2f}" for x in ratios)]
        )
    words = [f"{RECIPES[name].nonzeros} a row" for name in ROWS]
    head = ["rule", "loss", "by hand: ns", "tamis: ns"]
    head += [f"{word}, {way}" for word in words for way in ("stored", "shuffled")]
    note = """The first pass from empty weights, all settings automatic; ns per nonzero at 74 a row,
        stored order, no intercept; then the ratio to the loop by hand, the worse of with and
        without intercept. The loop by hand reads a permutation where rows are shuffled and fetches
        nothing ahead."""
    table = Table("Loops of tamis against hand-written ones", head, rows, note)
    judged = {key: turn.ratio for key, turn in found.items() if key[2] != "5 a row"}
    worst = max(judged, key=judged.__getitem__)
    within = sum(ratio <= MOST for ratio in judged.values())
    figure = (
        f"{within} of {len(judged)} cases; at worst {judged[worst]:.2f} ({worst[0]} {worst[1]})"
    )
    short = max(turn.ratio for key, turn in found.items() if key[2] == "5 a row")
    goal = Goal(
        f"a pass of every rule and loss within {MOST} times the hand-written loop, 20 to 200 "
        "nonzeros a row, stored and shuffled, with and without intercept",
        f"{figure}; with 5 nonzeros a row {short:.2f} at worst",
        verdict(within == len(judged)),
    )
    return [table], [goal]


def _model(rule: str, loss: str, intercept: bool):
    """The recipe for that loss: a classifier, or a regressor where the loss is one of numbers."""
    if rule == "AROW":
        return AROWClassifier(fit_intercept=intercept)
    kinds = CLASSES if "hinge" in loss or loss == "logistic" else NUMBERS
    return kinds[rule](loss=loss, fit_intercept=intercept)


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
            against_floors,
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
