"""The held-out error of a sieve, with the errors of the prior and of other sizes, in the sentences
of the command line and of the page.
"""

import math
from typing import Any, NamedTuple

import numpy as np
from sklearn.base import is_classifier

from tamis.reporting.page.plot_data import output_names


class SizePath(NamedTuple):
    """Held-out errors of a sieve along its sizes.

    `error`, `standard_error` and `soft_error` belong to `sizes`, `baseline_error` to the prior
    without features. `chosen` is the chosen size and `threshold` the largest soft error that it may
    have (nan if the user set the size). `name` is that of the output.
    """

    sizes: np.ndarray
    error: np.ndarray
    standard_error: np.ndarray
    soft_error: np.ndarray
    baseline_error: float
    chosen: int
    threshold: float
    name: str = ""

    def cost(self, fraction: float, tolerance: float = 1.5) -> tuple[int, float] | None:
        """Return the size nearest to a fraction of the chosen one, and by how much its error is
        larger, or None if all sizes are off by more than the factor `tolerance`.
        """
        at_chosen, at_smaller = (
            int(np.argmin(np.abs(np.log(self.sizes / (f * self.chosen))))) for f in (1.0, fraction)
        )
        distance = abs(math.log(self.sizes[at_smaller] / (fraction * self.chosen)))
        increase = float(self.error[at_smaller] - self.error[at_chosen])
        is_far = distance > math.log(tolerance)
        if is_far or at_chosen == at_smaller or not math.isfinite(increase):
            return None
        return int(self.sizes[at_smaller]), increase


def size_paths(model: Any) -> list[SizePath]:
    """Return the size path of a sieve, one an output if outputs have supports of their own.

    The list is empty for other models, and for a sieve that could not hold out a row.
    """
    sizes, resolved = getattr(model, "sizes_", None), getattr(model, "resolved_params_", None)
    if isinstance(sizes, dict):
        sizes, resolved = [sizes], [resolved]
    elif not isinstance(sizes, list) or not isinstance(resolved, list):
        return []
    baselines = np.atleast_1d(model.baseline_error_)
    names = output_names(model, len(sizes))
    paths = []
    for columns, params, baseline, name in zip(sizes, resolved, baselines, names, strict=True):
        is_positive = columns["size"] > 0  # a logarithmic scale has no place for 0
        if np.isfinite(columns["error"][is_positive]).any():
            size, error, standard_error, soft_error = (
                columns[key][is_positive]
                for key in ("size", "error", "standard_error", "soft_error")
            )
            chosen, threshold = int(params["n_features"]), float(params["threshold"])
            errors = (error, standard_error, soft_error, float(baseline))
            paths.append(SizePath(size, *errors, chosen, threshold, name))
    return paths


def error_name(classes: bool) -> str:
    """Return the name of a sieve's error for an axis."""
    return "held-out error" if classes else "held-out error, 1 − R²"


class HeldOutError(NamedTuple):
    """The held-out error of a sieve, its standard error, the error of the prior, and size paths.

    Errors are means over the outputs if outputs have supports of their own. `classes` is True for a
    classifier.
    """

    error: float
    standard_error: float
    baseline_error: float
    paths: list[SizePath]
    classes: bool
    n_columns: int

    @property
    def measure(self) -> str:
        """The name of the stated number."""
        return "error" if self.classes else "R2"

    def describe(self) -> str:
        """Return the error with its standard error and the error of the prior, as text."""
        if not math.isfinite(self.error):
            return "not known: no row could be held out"
        mean = f", the mean over {len(self.paths)} outputs" if len(self.paths) > 1 else ""
        error, standard_error = self._format(self.error), self._round(self.standard_error)
        prior = "shares of the classes" if self.classes else "mean"
        return (
            f"{error} ± {standard_error}{mean} "
            f"(guessing by the {prior}: {self._format(self.baseline_error)})"
        )

    def describe_other_sizes(self) -> str:
        """Return as text what fewer features would cost, or "" if the paths have no such sizes."""
        clauses, last_verb = [], ""
        for words, fraction in (("half as many features", 0.5), ("a tenth", 0.1)):
            costs = [path.cost(fraction) for path in self.paths if path.chosen]
            known = [cost for cost in costs if cost is not None]
            if known and len(known) == len(costs):
                size = f" ({known[0][0]:,})" if len(self.paths) == 1 else ""
                # An output that selects no feature has nothing to lose, so it counts as 0.
                increase = sum(increase for _, increase in known) / len(self.paths)
                verb, amount = self._describe_change(increase)
                unit = f" {'points' if self.classes else 'of R2'}" if amount else ""
                is_repeated = verb == last_verb and amount
                clauses.append(
                    f"{words}{size} {amount if is_repeated else f'{verb}{amount}{unit}'}"
                )
                last_verb = verb
        return "; ".join(clauses)

    def is_empty(self) -> bool:
        """Return whether the sieve chose to select no feature, since no size beat the prior."""
        return bool(self.paths) and all(
            not path.chosen and math.isfinite(path.threshold) for path in self.paths
        )

    def describe_empty(self) -> str:
        """Return the sentence about a model that selects no feature."""
        from tamis.methods.sieve.result import NOTHING_SELECTED_MESSAGE

        prior = "the share of the classes" if self.classes else "its mean"
        return NOTHING_SELECTED_MESSAGE.format(columns=self.n_columns, prior=prior)

    def _describe_change(self, increase: float) -> tuple[str, str]:
        """Return a verb for a change of the error, and its amount."""
        amount = self._round(abs(increase))
        if not float(amount):
            return "cost nothing", ""
        return ("cost " if increase > 0.0 else "gain "), amount

    def _format(self, error: float) -> str:
        """Return an error in percent, or as R2."""
        if self.classes:
            return f"{self._round(error)} %"
        return self._round(1.0 - error) if error != 1.0 else "0"

    def _round(self, value: float) -> str:
        """Return a number with the decimals that its standard error supports."""
        factor, min_decimals = (100.0, 1) if self.classes else (1.0, 2)
        error = factor * self.standard_error
        decimals = -math.floor(math.log10(error)) if error > 0.0 else min_decimals
        return f"{factor * value:.{min(max(decimals, min_decimals), 4)}f}"


def held_out_error(model: Any) -> HeldOutError | None:
    """Return a model's own held-out error, or None if it has none."""
    if getattr(model, "sizes_", None) is None:
        return None
    error, standard_error, baseline_error = (
        float(np.mean(getattr(model, f"{name}error_"))) for name in ("", "standard_", "baseline_")
    )
    paths, classes = size_paths(model), bool(is_classifier(model))
    n_columns = int(model.n_features_in_)
    return HeldOutError(error, standard_error, baseline_error, paths, classes, n_columns)
