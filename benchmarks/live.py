"""One row at a time: microseconds of `tamis.live` and of `partial_fit`, beside scikit-learn and
river.
"""

import time
import warnings
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp

import tamis
from benchmarks.clock import Times, interleaved
from benchmarks.pages import Goal, Page, Table, verdict

COLUMNS, NUMBERS, BITS = 47_000, 60, 18
MAPPING, ARRAYS, ONE_ROW = 40.0, 10.0, 250.0  # goals, microseconds a row
MODELS: dict[str, tuple[Callable[[], Any], str]] = {
    "FTRL": (tamis.FTRLClassifier, "sides"),
    "FOBOS": (tamis.FOBOSClassifier, "sides"),
    "RDA": (tamis.RDAClassifier, "sides"),
    "truncated gradient": (tamis.TruncatedGradientClassifier, "sides"),
    "AROW": (tamis.AROWClassifier, "sides"),
    "FTRL, three classes": (tamis.FTRLClassifier, "classes"),
    "FTRL regressor": (tamis.FTRLRegressor, "numbers"),
}


class Rows(NamedTuple):
    """The same rows in every form that somebody takes."""

    arrays: list[tuple[np.ndarray, np.ndarray]]
    lists: list[tuple[list, list]]
    mappings: list[dict[str, float]]
    sparse: list[Any]
    dense: list[np.ndarray]
    sides: list[int]
    classes: list[int]
    numbers: list[float]


def make_rows(count: int) -> Rows:
    """Rows of as many numbers each, as a service sees them."""
    rng = np.random.default_rng(0)
    arrays, sparse = [], []
    for _ in range(count):
        indices = np.sort(rng.choice(COLUMNS, NUMBERS, replace=False)).astype(np.int32)
        values = rng.random(NUMBERS) + 0.1
        arrays.append((indices, values))
        pointers = np.array([0, NUMBERS], np.int32)
        sparse.append(sp.csr_array((values, indices, pointers), shape=(1, COLUMNS)))
    lists = [(indices.tolist(), values.tolist()) for indices, values in arrays]
    mappings = [
        {f"word {j}": x for j, x in zip(indices, values, strict=True)} for indices, values in lists
    ]
    return Rows(
        arrays,
        lists,
        mappings,
        sparse,
        [values[None] for _, values in arrays],
        rng.integers(0, 2, count).tolist(),
        rng.integers(0, 3, count).tolist(),
        rng.normal(size=count).tolist(),
    )


def over(call: Callable, given: Sequence) -> Callable[[], None]:
    """A contestant: the call on every row."""

    def run() -> None:
        for one in given:
            call(*one)

    return run


def services(rows: Rows) -> dict[str, Callable]:
    """The models in service."""
    found = {}
    for name, (make, kind) in MODELS.items():
        y = getattr(rows, kind)
        classes = None if kind == "numbers" else np.unique(y)
        service = tamis.live(make(), classes=classes, n_features=COLUMNS)
        targets = [(*row, target) for row, target in zip(rows.arrays, y, strict=True)]
        found[f"{name}, arrays"] = over(service.learn, targets)
        lists = [(*row, target) for row, target in zip(rows.lists, y, strict=True)]
        found[f"{name}, lists"] = over(service.learn, lists)
        if name == "FTRL":
            found["score, arrays"] = over(service.score, rows.arrays)
            found["predict, arrays"] = over(service.predict, rows.arrays)
            found["explain, arrays"] = over(service.explain, rows.arrays)
    hashed = tamis.live(tamis.FTRLClassifier(), classes=[0, 1], hash_bits=BITS)
    listed = tamis.live(tamis.FTRLClassifier(grow=True))
    named = list(zip(rows.mappings, rows.sides, strict=True))
    found["FTRL, mapping, hashed"] = over(hashed.learn, named)
    found["FTRL, mapping, listed"] = over(listed.learn, named)
    found["score, mapping, hashed"] = over(hashed.score, [(row,) for row in rows.mappings])
    return found


def one_row_fits(rows: Rows) -> dict[str, Callable]:
    """`partial_fit` and `predict` of single rows, of tamis."""
    found = {}
    for shape, given in (("sparse", rows.sparse), ("dense", rows.dense)):
        for name, (make, kind) in MODELS.items():
            if name not in ("FTRL", "AROW", "FTRL regressor"):
                continue
            y = np.array(getattr(rows, kind))
            model, more = make(), {} if kind == "numbers" else {"classes": [0, 1]}
            model.partial_fit(given[0], y[:1], **more)
            pairs = [(row, y[i : i + 1]) for i, row in enumerate(given)]
            found[f"{name}, {shape}"] = over(model.partial_fit, pairs)
            if name == "FTRL":
                found[f"predict, {shape}"] = over(model.predict, [(row,) for row in given])
    return found


def peers(rows: Rows) -> dict[str, Callable]:
    """What others take for the same rows; those that are not installed are left out."""
    from sklearn.linear_model import SGDClassifier

    y = np.array(rows.sides)
    found = {}
    for shape, given in (("sparse", rows.sparse), ("dense", rows.dense)):
        model = SGDClassifier(loss="log_loss").partial_fit(given[0], y[:1], classes=[0, 1])
        pairs = [(row, y[i : i + 1]) for i, row in enumerate(given)]
        found[f"scikit-learn SGD, partial_fit, {shape}"] = over(model.partial_fit, pairs)
        found[f"scikit-learn SGD, predict, {shape}"] = over(model.predict, [(r,) for r in given])
    try:
        from river import linear_model, optim
    except ImportError:
        return found
    named = list(zip(rows.mappings, map(bool, rows.sides), strict=True))
    for name, optimizer in (("FTRL", optim.FTRLProximal()), ("SGD", optim.SGD(0.1))):
        model = linear_model.LogisticRegression(optimizer=optimizer)
        found[f"river {name}, learn_one"] = over(model.learn_one, named)
    found["river SGD, predict_one"] = over(model.predict_one, [(row,) for row in rows.mappings])
    return found


def run(quick: bool) -> Page:
    """All tables of this part."""
    opening = f"""
        One row of {NUMBERS} numbers a call, of {COLUMNS:,} columns (dense rows hold the {NUMBERS}
        numbers alone). Microseconds a row of CPU time, contestants in turn, the least and the
        median of several rounds. The step itself takes one or two of them: the rest is what it
        costs to look at a row."""
    rows = make_rows(50 if quick else 500)
    contestants = {
        "tamis.live": services(rows),
        "partial_fit": one_row_fits(rows),
        "peers": peers(rows),
    }
    everyone = {(group, name): c for group, own in contestants.items() for name, c in own.items()}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # a stream of noise keeps no feature
        found = interleaved(everyone, 3 if quick else 15, warm=2, clock=time.thread_time)
    times = {key: value.over(len(rows.sides) * 1e-6) for key, value in found.items()}
    page = Page("live", "One row at a time", opening)
    captions = {
        "tamis.live": "In service: learn, score, predict and explain one row",
        "partial_fit": "`partial_fit` and `predict` of one row",
        "peers": "Others on the same rows",
    }
    head = ["contestant", "microseconds a row", "median"]
    for group, caption in captions.items():
        own = {name: t for (where, name), t in times.items() if where == group}
        listed = [[name, f"{t.least:.1f}", f"{t.median:.1f}"] for name, t in own.items()]
        page.tables.append(Table(caption, head, listed))
    if not any(name.startswith("river") for _, name in times):
        page.tables[-1].note = "river is not installed here."
    page.goals += _judge(times)
    return page


def _judge(times: dict[tuple[str, str], Times]) -> list[Goal]:
    """The slowest of each kind against what was promised."""
    learns = {name: t for (group, name), t in times.items() if group == "tamis.live"}
    fits = {name: t for (group, name), t in times.items() if group == "partial_fit"}
    kinds = {
        f"`tamis.live` learns a row of {NUMBERS} numbers in at most {ARRAYS:g} microseconds": (
            {name: t for name, t in learns.items() if name.endswith((", arrays", ", lists"))},
            ARRAYS,
        ),
        f"the same from a mapping of {NUMBERS} names in at most {MAPPING:g}": (
            {name: t for name, t in learns.items() if "mapping" in name},
            MAPPING,
        ),
        f"`partial_fit` of one row in at most {ONE_ROW:g}": (fits, ONE_ROW),
    }
    goals = []
    for promise, (own, most) in kinds.items():
        own = {name: t for name, t in own.items() if not name.startswith(("explain", "predict"))}
        slow = max(own, key=lambda name: own[name].least)
        figure = f"{own[slow].least:.1f} ({slow}, the slowest of {len(own)})"
        goals.append(Goal(promise, figure, verdict(own[slow].least <= most)))
    return goals
