"""Models that are fitted by sums over partitions; the others are refused.

A method offers `_fit_sums(sums)` and `_refuse_sums()` (see `tamis.base.partition_sums`). The
first-order models offer `_refuse_sums()` alone, and make the steps of `dual_averaging`.
"""

from contextlib import nullcontext
from typing import Any

from sklearn.base import clone

from tamis.distributed.checkpoint import PathCheckpoints
from tamis.distributed.placement import Placement
from tamis.distributed.summing import dual_averaging
from tamis.distributed.summing.sums import Sums
from tamis.system.files import StrPath
from tamis.system.threads import single_threaded_blas

SUMMED_MODELS = (
    "RDAClassifier, RDARegressor, OnlineClassifier and OnlineRegressor with "
    "optimizer='dual_averaging', BCWClassifier, LowRankFactorization, LowRankLasso, "
    "LowRankClassifier and RankOneLasso"
)


def check(model: Any, sweeps: int, checkpoint: StrPath | None) -> None:
    """Refuse models that are not fitted by sums, and parameters that do not go with them."""
    name = type(model).__name__
    if not hasattr(model, "_refuse_sums"):
        raise TypeError(f"how='sum' is for models that sums make: {SUMMED_MODELS}. Got {name}.")
    if reason := model._refuse_sums():
        raise ValueError(
            f"how='sum' does not go with this {name}: {reason}. It is for {SUMMED_MODELS}."
        )
    is_batch = hasattr(model, "_fit_sums")
    if is_batch and sweeps != 1:
        raise ValueError(
            f"sweeps={sweeps}: how='sum' takes all rows of {name} as one batch, as its fit does, "
            "which reads them as often as it needs to. Pass sweeps=1."
        )
    if is_batch and checkpoint is not None:
        raise ValueError(
            f"checkpoint: how='sum' of {name} has no state between its rounds that could be kept."
        )


def unfitted(model: Any) -> Any:
    """The model before its first row: a batch forgets what was learnt before, a stream goes on."""
    return clone(model) if hasattr(model, "_fit_sums") else model


def learn(
    model: Any,
    placement: Placement,
    sweeps: int,
    checkpoint: StrPath | None,
    task: dict,
    progress: bool | str,
) -> Any:
    """A model that is fitted on all partitions."""
    sums = Sums(placement)
    with single_threaded_blas():
        if hasattr(model, "_fit_sums"):
            model = clone(model)
            model._fit_sums(sums)
            return model
        with nullcontext() if checkpoint is None else PathCheckpoints(checkpoint, 1) as folder:
            return dual_averaging.learn(model, sums, sweeps, folder, task, progress)
