"""The fitted sieve in the units of X and y, and the attributes that show it."""

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from tamis.methods.sieve.size_path import SizePath
from tamis.system.schema import array, count, indices, list_of, nested_object, plain_data, size

NOTHING_SELECTED_MESSAGE = "nothing in these {columns:,} columns predicts y better than {prior}"


@dataclass(eq=False)
class SieveResult:
    """A fitted sieve in the units of X and y.

    It has the columns, their weights and standard deviations, the intercepts, the columns that any
    fold fit selects at the chosen size with the fraction of the fits that select them (for each
    output), the history and the errors of the choice, and a `SizePath` for each support.
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
        "column_std": array("f8", "selected", minimum=0.0),
        "ever_selected": indices("ever_selected", below="columns", increasing=True),
        "selection_frequency": array(
            "f8", "ever_selected", "outputs", minimum=0.0, maximum=1.0, order=None
        ),
        "sizes": plain_data(),
        "history": plain_data(),
        "resolved": plain_data(),
        "n_iter": count(),
        "error": plain_data(),
        "standard_error": plain_data(),
        "baseline_error": plain_data(),
        "size_paths": list_of(nested_object(SizePath, "columns")),
    }

    @classmethod
    def empty(cls, n_columns: int, n_outputs: int) -> "SieveResult":
        """Return the model of no rows."""
        no_columns, not_available = np.zeros(0, dtype=np.int64), np.full(1, np.nan)
        return cls(
            n_columns,
            columns=no_columns,
            weights=np.zeros((0, n_outputs)),
            bias=np.zeros(n_outputs),
            column_std=np.zeros(0),
            ever_selected=no_columns,
            selection_frequency=np.zeros((0, n_outputs)),
            sizes=dict.fromkeys(("size", "error", "standard_error", "soft_error"), np.zeros(0)),
            history=[],
            resolved={"n_features": 0, "level": 0, "threshold": np.nan},
            n_iter=0,
            error=not_available,
            standard_error=not_available,
            baseline_error=not_available,
            size_paths=[],
        )

    @property
    def n_outputs(self) -> int:
        """Number of linear functions."""
        return len(self.bias)

    @property
    def n_unpenalized(self) -> int:
        """Number of the unpenalized columns."""
        return max((path.always for path in self.size_paths), default=0)

    def has_errors(self) -> bool:
        """Return whether rows could be held out, so that sizes have errors."""
        return not np.isnan(self.error).any()

    def is_empty(self) -> bool:
        """Return whether the fit selected no penalized column."""
        resolved = self.resolved if isinstance(self.resolved, list) else [self.resolved]
        return self.n_iter > 0 and not any(entry["n_features"] for entry in resolved)

    def support(self) -> np.ndarray:
        """Return the columns with a weight; feature groups and unpenalized columns are complete."""
        if any(path.is_grouped or path.always for path in self.size_paths):
            return self.columns.copy()
        return self.columns[self.weights.any(axis=1)]

    def weight_rows(self) -> np.ndarray:
        """Return the row of `padded_weights` for each column."""
        weight_row = np.full(self.n_columns, len(self.columns), dtype=np.uint32)
        weight_row[self.columns] = np.arange(len(self.columns), dtype=np.uint32)
        return weight_row

    def padded_weights(self) -> np.ndarray:
        """Return the weights of the selected columns, and a row of zeros for all others."""
        return np.vstack([self.weights, np.zeros((1, self.n_outputs))])

    def expand_columns(self, columns: np.ndarray, values: np.ndarray) -> np.ndarray:
        """Return values of some columns as an array over all columns, (outputs, columns)."""
        expanded = np.zeros((self.n_outputs, self.n_columns))
        expanded[:, columns] = values.T
        return expanded


def concatenate_outputs(results: list[SieveResult]) -> SieveResult:
    """Return one result with the outputs of several results."""
    columns, ever_selected = (
        np.unique(np.concatenate([getattr(result, name) for result in results]))
        for name in ("columns", "ever_selected")
    )
    weights, frequency = (
        np.zeros((len(columns), len(results))),
        np.zeros((len(ever_selected), len(results))),
    )
    column_std = np.zeros(len(columns))
    for c, result in enumerate(results):
        positions = np.searchsorted(columns, result.columns)
        weights[positions, c], column_std[positions] = result.weights[:, 0], result.column_std
        positions = np.searchsorted(ever_selected, result.ever_selected)
        frequency[positions, c] = result.selection_frequency[:, 0]
    return SieveResult(
        results[0].n_columns,
        columns,
        weights,
        np.concatenate([result.bias for result in results]),
        column_std,
        ever_selected,
        frequency,
        [result.sizes for result in results],
        [result.history for result in results],
        [result.resolved for result in results],
        max(result.n_iter for result in results),
        np.concatenate([result.error for result in results]),
        np.concatenate([result.standard_error for result in results]),
        np.concatenate([result.baseline_error for result in results]),
        [path for result in results for path in result.size_paths],
    )


def with_size(result: SieveResult, k: int, models: list[dict]) -> SieveResult:
    """Return a result with the models of another size, given by their fields, one a support.

    Its errors are the held-out errors of that size, which was not chosen by them.
    """
    per_output = isinstance(result.sizes, list)
    sizes: Any = result.sizes if per_output else [result.sizes]
    resolved: Any = result.resolved if per_output else [result.resolved]
    history = result.history if per_output else [result.history]
    results = []
    for c, fields in enumerate(models):
        level = int(np.flatnonzero(sizes[c]["size"] >= k)[-1])
        results.append(
            SieveResult(
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
    return concatenate_outputs(results) if per_output else results[0]


class FittedAttributes:
    """Mixin with the attributes of a fitted sieve: the fields of `_result` in the shapes of the
    targets.
    """

    _result: SieveResult
    _targets: Any

    def _fitted_result(self, name: str) -> SieveResult:
        """Return the present model."""
        if "_result" not in vars(self):
            raise AttributeError(f"{type(self).__name__} has no attribute {name!r} before fit.")
        return self._result

    @property
    def coef_(self):
        """Weights, of shape (n_outputs, n_features), computed on each access."""
        result = self._fitted_result("coef_")
        return self._targets.shape_coef(result.expand_columns(result.columns, result.weights))

    @property
    def intercept_(self):
        """Intercepts, one an output."""
        return self._fitted_result("intercept_").bias.copy()

    @property
    def support_(self):
        """Indices of the selected features; for several outputs the union."""
        return self._fitted_result("support_").support()

    @property
    def selection_probability_(self):
        """Fraction of the fold fits that select a feature at the chosen size, of the shape of
        `coef_`.
        """
        result = self._fitted_result("selection_probability_")
        frequency = result.expand_columns(result.ever_selected, result.selection_frequency)
        return self._targets.shape_coef(frequency)

    @property
    def sizes_(self):
        """Sizes of the path, with the held-out errors at each."""
        return self._fitted_result("sizes_").sizes

    @property
    def importance_(self):
        """Absolute weight times the standard deviation of the column, of the shape of `coef_`."""
        result = self._fitted_result("importance_")
        importance = np.abs(result.weights) * result.column_std[:, None]
        return self._targets.shape_coef(result.expand_columns(result.columns, importance))

    @property
    def error_(self):
        """Expected error of the model on new rows."""
        return _scalar_or_copy(self._fitted_result("error_").error)

    @property
    def standard_error_(self):
        """Standard error of `error_`."""
        return _scalar_or_copy(self._fitted_result("standard_error_").standard_error)

    @property
    def baseline_error_(self):
        """Error of the prior alone."""
        return _scalar_or_copy(self._fitted_result("baseline_error_").baseline_error)

    @property
    def history_(self):
        """Size, passes, strength and step of the paths over all rows at each level."""
        return self._fitted_result("history_").history

    @property
    def n_iter_(self):
        """Number of passes of each path over all rows."""
        return int(self._fitted_result("n_iter_").n_iter)

    @property
    def resolved_params_(self):
        """The chosen candidate and size, and their constants."""
        return self._fitted_result("resolved_params_").resolved


def _scalar_or_copy(errors: np.ndarray):
    """Return the error of the only output as a number, or a copy of all errors."""
    return float(errors[0]) if len(errors) == 1 else errors.copy()
