"""What a fitted sieve holds, in the units of X and y, and what it shows of that."""

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from tamis.methods.sieve.size_path import SizePath
from tamis.system.schema import array, count, indices, listing, part, plain, size

NOTHING_FOUND = "nothing in these {columns:,} columns predicts y better than {prior}"


@dataclass(eq=False)
class Result:
    """A fitted sieve in the units of X and y: its columns, their weights, the intercepts and the
    columns' standard deviations; the columns that any fold fit keeps at the chosen size and the
    share of those that do, an output each; how the size was chosen; errors and paths to other
    sizes, one a support.
    """

    n_columns: int
    columns: np.ndarray
    weights: np.ndarray
    bias: np.ndarray
    column_std: np.ndarray
    ever_selected: np.ndarray
    selection_frequency: np.ndarray
    sizes: Any
    history: list
    resolved: Any
    n_iter: int
    error: np.ndarray
    standard_error: np.ndarray
    baseline_error: np.ndarray
    size_paths: list[SizePath]
    _contents: ClassVar[dict] = {
        "n_columns": size("columns"),
        "columns": indices("selected", below="columns", increasing=True),
        "weights": array("f8", "selected", "outputs", order=None),
        "bias": array("f8", "outputs"),
        "column_std": array("f8", "selected", least=0.0),
        "ever_selected": indices("ever_selected", below="columns", increasing=True),
        "selection_frequency": array(
            "f8", "ever_selected", "outputs", least=0.0, most=1.0, order=None
        ),
        "sizes": plain(),
        "history": plain(),
        "resolved": plain(),
        "n_iter": count(),
        "error": plain(),
        "standard_error": plain(),
        "baseline_error": plain(),
        "size_paths": listing(part(SizePath, "columns")),
    }

    @classmethod
    def of_nothing(cls, n_columns: int, n_outputs: int) -> "Result":
        """The model of no rows."""
        none, unknown = np.zeros(0, dtype=np.int64), np.full(1, np.nan)
        return cls(
            n_columns,
            columns=none,
            weights=np.zeros((0, n_outputs)),
            bias=np.zeros(n_outputs),
            column_std=np.zeros(0),
            ever_selected=none,
            selection_frequency=np.zeros((0, n_outputs)),
            sizes=dict.fromkeys(("size", "error", "standard_error", "soft_error"), np.zeros(0)),
            history=[],
            resolved={"n_features": 0, "level": 0, "threshold": np.nan},
            n_iter=0,
            error=unknown,
            standard_error=unknown,
            baseline_error=unknown,
            size_paths=[],
        )

    @property
    def n_outputs(self) -> int:
        """Number of linear functions."""
        return len(self.bias)

    @property
    def always(self) -> int:
        """Number of the columns that always stay."""
        return max((path.always for path in self.size_paths), default=0)

    def is_judged(self) -> bool:
        """Whether rows could be held out, so that sizes have errors."""
        return not np.isnan(self.error).any()

    def is_empty(self) -> bool:
        """Whether nothing was found, beside what is always kept."""
        resolved = self.resolved if isinstance(self.resolved, list) else [self.resolved]
        return self.n_iter > 0 and not any(one["n_features"] for one in resolved)

    def support(self) -> np.ndarray:
        """The columns with a weight; groups, and columns that always stay, are whole."""
        if any(path.is_grouped or path.always for path in self.size_paths):
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

    def all_columns(self, at: np.ndarray, values: np.ndarray) -> np.ndarray:
        """Values of some columns as an array over all, (outputs, columns)."""
        spread = np.zeros((self.n_outputs, self.n_columns))
        spread[:, at] = values.T
        return spread


def joined(results: list[Result]) -> Result:
    """The outputs of several results, one each, side by side."""
    columns, ever = (
        np.unique(np.concatenate([getattr(one, name) for one in results]))
        for name in ("columns", "ever_selected")
    )
    weights, frequency = np.zeros((len(columns), len(results))), np.zeros((len(ever), len(results)))
    column_std = np.zeros(len(columns))
    for c, one in enumerate(results):
        at = np.searchsorted(columns, one.columns)
        weights[at, c], column_std[at] = one.weights[:, 0], one.column_std
        at = np.searchsorted(ever, one.ever_selected)
        frequency[at, c] = one.selection_frequency[:, 0]
    return Result(
        results[0].n_columns,
        columns,
        weights,
        np.concatenate([one.bias for one in results]),
        column_std,
        ever,
        frequency,
        [one.sizes for one in results],
        [one.history for one in results],
        [one.resolved for one in results],
        max(one.n_iter for one in results),
        np.concatenate([one.error for one in results]),
        np.concatenate([one.standard_error for one in results]),
        np.concatenate([one.baseline_error for one in results]),
        [path for one in results for path in one.size_paths],
    )


def resized(result: Result, k: int, models: list[dict]) -> Result:
    """A result with the models of another size, given by their fields, one a support; its errors
    are those of that size, which was not chosen by looking at errors.
    """
    several = isinstance(result.sizes, list)
    sizes: Any = result.sizes if several else [result.sizes]
    resolved: Any = result.resolved if several else [result.resolved]
    history = result.history if several else [result.history]
    results = []
    for c, fields in enumerate(models):
        level = int(np.flatnonzero(sizes[c]["size"] >= k)[-1])
        results.append(
            Result(
                **fields,
                sizes=sizes[c],
                history=history[c],
                resolved={**resolved[c], "n_features": k, "level": level, "threshold": np.nan},
                n_iter=result.n_iter,
                error=sizes[c]["error"][[level]],
                standard_error=sizes[c]["standard_error"][[level]],
                baseline_error=result.baseline_error[[c]],
                size_paths=[result.size_paths[c]],
            )
        )
    return joined(results) if several else results[0]


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
        result = self._shown("coef_")
        return self._targets.shaped(result.all_columns(result.columns, result.weights))

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
        result = self._shown("selection_probability_")
        frequency = result.all_columns(result.ever_selected, result.selection_frequency)
        return self._targets.shaped(frequency)

    @property
    def sizes_(self):
        """Sizes of the path, with the held-out errors at each."""
        return self._shown("sizes_").sizes

    @property
    def importance_(self):
        """Size of the weights times the spread of their columns; the shape is that of `coef_`."""
        result = self._shown("importance_")
        importance = np.abs(result.weights) * result.column_std[:, None]
        return self._targets.shaped(result.all_columns(result.columns, importance))

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
