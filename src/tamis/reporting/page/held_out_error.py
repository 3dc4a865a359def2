"""What a sieve says of its own error, beside that of the prior and at other sizes, in words that
the terminal and the page share.
"""

import math
from typing import Any, NamedTuple

import numpy as np
from sklearn.base import is_classifier

from tamis.reporting.page.plot_data import output_names

NEAR = math.log(1.5)  # how far a size of the ladder may lie from "half as many"
SHARES = (("half as many features", 0.5), ("a tenth", 0.1))


class SizePath(NamedTuple):
    """Held-out errors at each size of a ladder, the error of no feature at all, the size that was
    chosen, and the soft error that it might have.
    """

    sizes: np.ndarray
    error: np.ndarray
    standard_error: np.ndarray
    soft_error: np.ndarray
    baseline_error: float
    chosen: int
    threshold: float
    name: str = ""

    def cost(self, share: float) -> tuple[int, float] | None:
        """The size nearest to that share of the chosen one, and how much more error it makes; None
        where the ladder has no such size.
        """
        here, there = (
            int(np.argmin(np.abs(np.log(self.sizes / (part * self.chosen)))))
            for part in (1.0, share)
        )
        far = abs(math.log(self.sizes[there] / (share * self.chosen))) > NEAR
        more = float(self.error[there] - self.error[here])
        if far or here == there or not math.isfinite(more):
            return None
        return int(self.sizes[there]), more


def size_paths(model: Any) -> list[SizePath]:
    """The ladder of a sieve, one an output where each has its own; empty for other models and where
    no row was held out.
    """
    sizes, resolved = getattr(model, "sizes_", None), getattr(model, "resolved_params_", None)
    if isinstance(sizes, dict):
        sizes, resolved = [sizes], [resolved]
    elif not isinstance(sizes, list) or not isinstance(resolved, list):
        return []
    baselines = np.atleast_1d(model.baseline_error_)
    names = output_names(model, len(sizes))
    found = []
    for ladder, chosen, baseline, name in zip(sizes, resolved, baselines, names, strict=True):
        some = ladder["size"] > 0  # no feature is no place on a logarithmic scale
        if np.isfinite(ladder["error"][some]).any():
            size, error, spread, soft = (
                ladder[key][some] for key in ("size", "error", "standard_error", "soft_error")
            )
            kept, threshold = int(chosen["n_features"]), float(chosen["threshold"])
            found.append(
                SizePath(size, error, spread, soft, float(baseline), kept, threshold, name)
            )
    return found


def error_name(classes: bool) -> str:
    """What a sieve's error is."""
    return "held-out error" if classes else "held-out error, 1 − R²"


class HeldOutError(NamedTuple):
    """The error to expect of a sieve, its standard error and that of the prior alone (means where
    outputs have supports of their own), and its ladders.
    """

    error: float
    standard_error: float
    baseline_error: float
    paths: list[SizePath]
    classes: bool
    n_columns: int

    @property
    def measure(self) -> str:
        """What the error is told as."""
        return "error" if self.classes else "R2"

    def stated(self) -> str:
        """The error beside that of the prior."""
        if not math.isfinite(self.error):
            return "not known: no row could be held out"
        whose = f", the mean over {len(self.paths)} outputs" if len(self.paths) > 1 else ""
        error, spread = self._told(self.error), self._figure(self.standard_error)
        prior = "shares of the classes" if self.classes else "mean"
        return (
            f"{error} ± {spread}{whose} "
            f"(guessing by the {prior}: {self._told(self.baseline_error)})"
        )

    def other_sizes(self) -> str:
        """What fewer features would cost; empty where the ladder does not say."""
        said, last = [], ""
        for words, share in SHARES:
            costs = [path.cost(share) for path in self.paths if path.chosen]
            found = [cost for cost in costs if cost is not None]
            if found and len(found) == len(costs):
                size = f" ({found[0][0]:,})" if len(self.paths) == 1 else ""
                # An output that keeps nothing has nothing to lose.
                verb, amount = self._priced(sum(more for _, more in found) / len(self.paths))
                unit = f" {'points' if self.classes else 'of R2'}" if amount else ""
                again = verb == last and amount
                said.append(f"{words}{size} {amount if again else f'{verb}{amount}{unit}'}")
                last = verb
        return "; ".join(said)

    def is_empty(self) -> bool:
        """Whether no size was found to beat the prior (and none was asked for)."""
        return bool(self.paths) and all(
            not path.chosen and math.isfinite(path.threshold) for path in self.paths
        )

    def nothing(self) -> str:
        """What is said of an empty model."""
        from tamis.methods.sieve.result import NOTHING_FOUND

        prior = "the share of the classes" if self.classes else "its mean"
        return NOTHING_FOUND.format(columns=self.n_columns, prior=prior)

    def _priced(self, more: float) -> tuple[str, str]:
        """A verb, and how much."""
        amount = self._figure(abs(more))
        if not float(amount):
            return "cost nothing", ""
        return ("cost " if more > 0.0 else "gain "), amount

    def _told(self, error: float) -> str:
        """An error as it is told: a share, or R2."""
        if self.classes:
            return f"{self._figure(error)} %"
        return self._figure(1.0 - error) if error != 1.0 else "0"

    def _figure(self, value: float) -> str:
        """A number with as many decimals as its standard error is sure of."""
        factor, least = (100.0, 1) if self.classes else (1.0, 2)
        spread = factor * self.standard_error
        places = -math.floor(math.log10(spread)) if spread > 0.0 else least
        return f"{factor * value:.{min(max(places, least), 4)}f}"


def held_out_error(model: Any) -> HeldOutError | None:
    """What a model says of its own error, or None where it says nothing."""
    if getattr(model, "sizes_", None) is None:
        return None
    error, spread, baseline = (
        float(np.mean(getattr(model, f"{name}error_"))) for name in ("", "standard_", "baseline_")
    )
    paths, classes = size_paths(model), bool(is_classifier(model))
    return HeldOutError(error, spread, baseline, paths, classes, int(model.n_features_in_))
