"""What a fit of the sieve shows, in the units of X and y; and its other sizes."""

from typing import Any, ClassVar

import numpy as np

from tamis.methods.sieve.paths import Rung
from tamis.methods.sieve.table.columns import Columns, Sample, Units
from tamis.system.schema import array, count, flag, indices, listing, part, plain, size

NOTHING_FOUND = "nothing in these {columns:,} columns predicts y better than {prior}"


class Trail:
    """The rungs of the paths over all rows, for another size from the same fit: the columns of the
    largest rung kept, and of every rung its columns (those that never leave first, then the most
    important groups), weights, intercepts, and the line that held-out scores set right. Sizes count
    groups.
    """

    _contents: ClassVar[dict] = {
        "n_outputs": size("outputs"),
        "columns": indices("trail", below="columns", distinct=True),
        "groups": array("u4", "trail"),
        "grouped": flag(),
        "always": count(),
        "scale": array("f8", "trail", least=0.0),
        "shift": array("f8", "trail"),
        "spread": array("f8", "trail", least=0.0),
        "reached": array("u1", "groups", "trail"),
        "levels": array("i8", "rungs", least=0),
        "sizes": array("i8", "rungs", least=0),
        "lengths": array("i8", "rungs", least=0),
        "turns": array("i8", "rungs", least=0),
        "order": array("u4", "entries"),
        "weights": array("f4", "entries", "outputs"),
        "biases": array("f8", "rungs", "outputs"),
        "lines": array("f8", "rungs", "outputs", 2),
        "prior": array("f8", "outputs"),
        "unit": array("f8", "outputs"),
        "center": array("f8", "outputs"),
    }

    def __init__(self, rungs: dict[int, Rung], lines: dict[int, np.ndarray], tilt, sample: Sample):
        """Columns are still numbered as in the sample; `tilt` is that of their importance."""
        table, units = sample.table, sample.units
        self.unit, self.center = units
        self.n_outputs = len(self.unit)
        self.levels = np.array(sorted(rungs), dtype=np.int64)
        found = [rungs[level] for level in self.levels]
        self.lengths = np.array([len(rung.columns) for rung in found], dtype=np.int64)
        self.turns = np.array([rung.turns for rung in found], dtype=np.int64)
        at = found[0].columns.astype(np.int64) if found else np.zeros(0, dtype=np.int64)
        ranks = [
            table.ranks(
                rung.columns,
                np.sqrt((rung.weights**2).sum(axis=1)) * table.density[rung.columns] ** tilt,
            )
            for rung in found
        ]
        orders = [np.lexsort((r.columns, rank)) for r, rank in zip(found, ranks, strict=True)]
        self.grouped, self.always = table.groups is not None, table.always
        self.groups = table.numbers(at).astype(np.uint32)
        sizes = [len(np.unique(rank)) - (table.always > 0) for rank in ranks]
        self.sizes = np.array(sizes, dtype=np.int64)
        parts = [
            np.searchsorted(at, rung.columns[o]) for rung, o in zip(found, orders, strict=True)
        ]
        self.order = np.concatenate([np.zeros(0), *parts]).astype(np.uint32)
        weights = [rung.weights[o] for rung, o in zip(found, orders, strict=True)]
        none = np.zeros((0, self.n_outputs), np.float32)
        self.weights = np.concatenate([none, *weights]).astype(np.float32)
        self.biases = np.array([rung.bias for rung in found]).reshape(-1, self.n_outputs)
        self.lines = np.array([lines[level] for level in self.levels], dtype=float)
        self.lines = self.lines.reshape(-1, self.n_outputs, 2)
        self.columns = at

    def settled(self, columns: Columns, spread: np.ndarray, survived: np.ndarray, prior) -> "Trail":
        """The same with columns numbered as in X, and with the intercepts of no column at all."""
        at, self.prior = self.columns, prior
        self.reached, self.spread = np.ascontiguousarray(survived[:, at]), spread[at]
        self.scale, self.shift = columns.scale[at], columns.shift[at]
        self.columns = columns.kept[at]
        return self

    @property
    def largest(self) -> int:
        """The largest size that it holds."""
        return int(self.sizes[0]) if len(self.sizes) else 0

    def place(self, k: int) -> int:
        """The last rung that is not smaller than `k`."""
        return int(np.flatnonzero(self.sizes >= k)[-1])

    def rung(self, k: int) -> tuple[np.ndarray, np.ndarray]:
        """The columns of the most important `k` groups, and those that never leave, as places in
        `columns`, and their weights in standard units.
        """
        r = self.place(k)
        first = int(self.lengths[:r].sum())
        order = self.order[first : first + int(self.lengths[r])].astype(np.int64)
        if self.grouped or self.always:
            changes = np.diff(self.groups[order].astype(np.int64), prepend=-1) != 0
            k = int(np.count_nonzero(np.cumsum(changes) <= k + (self.always > 0)))
        order, weights = order[:k], self.weights[first : first + k].astype(float)
        ascending = np.argsort(order)
        return order[ascending], weights[ascending]

    def part(self, k: int, n_columns: int) -> "Result":
        """The model of the most important `k` groups, as the paths left it at their rung."""
        columns = Columns(n_columns, self.columns, self.scale, self.shift)
        none = np.zeros(0, dtype=np.int64)
        if not k and not self.always:
            empty = Result(n_columns, none, np.zeros((0, self.n_outputs)), self.prior, np.zeros(0),
                           none, np.zeros((0, self.n_outputs)))  # fmt: skip
            return empty
        r, (at, weights) = self.place(k), self.rung(k)
        reached = (self.reached >= self.levels[r]).mean(axis=0) if len(self.reached) else none
        seen = np.flatnonzero(reached)
        return Result.of(
            columns, Units(self.unit, self.center), at, weights, self.biases[r], self.lines[r],
            self.spread[at], seen, reached[seen],
        )  # fmt: skip


class Result:
    """What a fit shows: kept columns, weights, intercepts, spread of the columns, selection shares,
    errors, and how the size was found.
    """

    history: list
    resolved: Any
    n_iter: int
    error: np.ndarray
    standard_error: np.ndarray
    baseline_error: np.ndarray
    trails: list
    _contents: ClassVar[dict] = {
        "n_columns": size("columns"),
        "n_outputs": size("outputs"),
        "columns": indices("kept", below="columns", increasing=True),
        "weights": array("f8", "kept", "outputs", order=None),
        "bias": array("f8", "outputs"),
        "spread": array("f8", "kept", least=0.0),
        "seen": indices("seen", below="columns", increasing=True),
        "shares": array("f8", "seen", "outputs", least=0.0, most=1.0, order=None),
        "sizes": plain(),
        "history": plain(),
        "resolved": plain(),
        "n_iter": count(),
        "error": plain(),
        "standard_error": plain(),
        "baseline_error": plain(),
        "trails": listing(part(Trail, "columns")),
    }

    def __init__(self, n_columns: int, columns, weights, bias, spread, seen, shares):
        self.n_columns, self.n_outputs = int(n_columns), len(bias)
        self.columns, self.weights, self.bias, self.spread = columns, weights, bias, spread
        self.seen, self.shares = seen, shares

    @classmethod
    def of(
        cls, columns: Columns, units: Units, at, weights, bias, line, spread, seen, shares
    ) -> "Result":
        """A model in standard units, set right by its line and told in the units of X and y.
        `spread` is that of the columns `at`; `seen` are those with a share.
        """
        right = bias * line[:, 0] + line[:, 1]
        weights = weights * line[:, 0] * columns.scale[at, None] * units.unit
        bias = right * units.unit + units.center - columns.shift[at] @ weights
        each = np.repeat(shares[:, None], len(bias), axis=1)
        order, seen_order = np.argsort(columns.kept[at]), np.argsort(columns.kept[seen])
        return cls(
            columns.n_columns,
            columns.kept[at][order],
            weights[order],
            bias,
            spread[order],
            columns.kept[seen][seen_order],
            each[seen_order],
        )

    @classmethod
    def of_nothing(cls, n_columns: int, n_outputs: int) -> "Result":
        """The model of no rows."""
        none, unknown = np.zeros(0, dtype=np.int64), np.full(1, np.nan)
        weights = np.zeros((0, n_outputs))
        sizes = dict.fromkeys(("size", "error", "standard_error", "soft_error"), np.zeros(0))
        result = cls(n_columns, none, weights, np.zeros(n_outputs), np.zeros(0), none, weights)
        result.told(sizes, [], {"n_features": 0, "level": 0, "threshold": np.nan}, 0)
        return result.judged(unknown, unknown, unknown, [])

    def told(self, sizes: Any, history: list, resolved: Any, n_iter: int) -> "Result":
        """The result with what is told of how it was found."""
        self.sizes, self.history, self.resolved, self.n_iter = sizes, history, resolved, n_iter
        return self

    def judged(self, error, standard_error, baseline_error, trails: list) -> "Result":
        """The result with its errors, one a run, and the other sizes that it holds."""
        self.error, self.standard_error = np.atleast_1d(error), np.atleast_1d(standard_error)
        self.baseline_error, self.trails = np.atleast_1d(baseline_error), trails
        return self

    def is_judged(self) -> bool:
        """Whether rows could be held out, so that sizes have errors."""
        return not np.isnan(self.error).any()

    def is_empty(self) -> bool:
        """Whether nothing was found, beside what is always kept."""
        resolved = self.resolved if isinstance(self.resolved, list) else [self.resolved]
        return self.n_iter > 0 and not any(one["n_features"] for one in resolved)

    def support(self) -> np.ndarray:
        """The columns with a weight; groups, and columns that always stay, are whole."""
        if any(trail.grouped or trail.always for trail in self.trails):
            return self.columns.copy()
        return self.columns[self.weights.any(axis=1)]

    def places(self) -> np.ndarray:
        """Row of `padded` for each column."""
        place = np.full(self.n_columns, len(self.columns), dtype=np.uint32)
        place[self.columns] = np.arange(len(self.columns), dtype=np.uint32)
        return place

    def padded(self) -> np.ndarray:
        """Weights of the kept columns, and a row of zeros for all others."""
        return np.vstack([self.weights, np.zeros((1, self.n_outputs))])

    def all_weights(self) -> np.ndarray:
        """Weights of all columns, (outputs, columns)."""
        return self._spread_out(self.columns, self.weights)

    def all_shares(self) -> np.ndarray:
        """Selection shares of all columns, (outputs, columns)."""
        return self._spread_out(self.seen, self.shares)

    def all_importance(self) -> np.ndarray:
        """Size of the weights times the columns' spread, (outputs, columns)."""
        return self._spread_out(self.columns, np.abs(self.weights) * self.spread[:, None])

    def _spread_out(self, at, values) -> np.ndarray:
        whole = np.zeros((self.n_outputs, self.n_columns))
        whole[:, at] = values.T
        return whole


def joined(parts: list[Result]) -> Result:
    """The outputs of all parts side by side."""
    columns, seen = (
        np.unique(np.concatenate([getattr(part, name) for part in parts]))
        for name in ("columns", "seen")
    )
    weights, shares = np.zeros((len(columns), len(parts))), np.zeros((len(seen), len(parts)))
    spread = np.zeros(len(columns))
    for c, one in enumerate(parts):
        at = np.searchsorted(columns, one.columns)
        weights[at, c], spread[at] = one.weights[:, 0], one.spread
        shares[np.searchsorted(seen, one.seen), c] = one.shares[:, 0]
    bias = np.concatenate([one.bias for one in parts])
    whole = Result(parts[0].n_columns, columns, weights, bias, spread, seen, shares)
    whole.told(
        [one.sizes for one in parts],
        [one.history for one in parts],
        [one.resolved for one in parts],
        max(one.n_iter for one in parts),
    )
    return whole.judged(
        np.concatenate([one.error for one in parts]),
        np.concatenate([one.standard_error for one in parts]),
        np.concatenate([one.baseline_error for one in parts]),
        [trail for one in parts for trail in one.trails],
    )


def resized(result: Result, k: int, parts: list[Result]) -> Result:
    """A result whose models are those of another size; its errors are those of that size, which was
    not chosen by looking at errors.
    """
    several = isinstance(result.sizes, list)
    told: tuple[Any, ...] = (result.sizes, result.resolved, result.history)
    sizes, resolved, history = told if several else tuple([value] for value in told)
    for c, one in enumerate(parts):
        ladder = sizes[c]["size"]
        level = int(np.flatnonzero(ladder >= k)[-1])
        chosen = {"n_features": k, "level": level, "threshold": np.nan}
        one.told(sizes[c], history[c], {**resolved[c], **chosen}, result.n_iter)
        error, standard_error = (sizes[c][name][level] for name in ("error", "standard_error"))
        one.judged(error, standard_error, result.baseline_error[c], [result.trails[c]])
    return joined(parts) if several else parts[0]


class Shows:
    """The attributes of a fitted sieve: what its `_result` holds, in the shapes of its targets."""

    _result: Result
    _targets: Any

    def _shown(self, name: str) -> Result:
        """The model that was made last."""
        if "_result" not in vars(self):
            raise AttributeError(f"{type(self).__name__} has no attribute {name!r} before fit.")
        return self._result

    @property
    def coef_(self):
        """Weights, of shape (n_outputs, n_features); made on demand."""
        weights = self._shown("coef_").all_weights()
        return self._targets.shaped(weights)

    @property
    def intercept_(self):
        """Intercepts, one an output."""
        return self._shown("intercept_").bias.copy()

    @property
    def support_(self):
        """Indices of the kept features; for several outputs the union."""
        return self._shown("support_").support()

    @property
    def selection_probability_(self):
        """Share of the fold groups that kept a feature at the level of the chosen size; the shape
        is that of `coef_`.
        """
        shares = self._shown("selection_probability_").all_shares()
        return self._targets.shaped(shares)

    @property
    def sizes_(self):
        """Sizes of the ladder, with the held-out errors at each."""
        return self._shown("sizes_").sizes

    @property
    def importance_(self):
        """Size of the weights times the spread of their columns; the shape is that of `coef_`."""
        return self._targets.shaped(self._shown("importance_").all_importance())

    @property
    def error_(self):
        """Error to expect of the model on new rows."""
        return _one(self._shown("error_").error)

    @property
    def standard_error_(self):
        """Standard error of `error_`."""
        return _one(self._shown("standard_error_").standard_error)

    @property
    def baseline_error_(self):
        """Error of the prior alone."""
        return _one(self._shown("baseline_error_").baseline_error)

    @property
    def history_(self):
        """What the paths over all rows did, level by level."""
        return self._shown("history_").history

    @property
    def n_iter_(self):
        """Passes that each path over all rows made."""
        return int(self._shown("n_iter_").n_iter)

    @property
    def resolved_params_(self):
        """The setting and the size that were chosen, and the constants behind them."""
        return self._shown("resolved_params_").resolved


def _one(errors: np.ndarray):
    """The error of the only run, or all of them."""
    return float(errors[0]) if len(errors) == 1 else errors.copy()
