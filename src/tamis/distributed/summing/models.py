"""Which models are made of sums, and how; the others are refused in words."""

from collections.abc import Callable
from contextlib import nullcontext
from typing import Any

from sklearn.base import clone

from tamis.distributed.checkpoint import Rounds
from tamis.distributed.placing import Places
from tamis.distributed.summing import averaging, factoring, gram, low_rank
from tamis.distributed.summing.tree import Sums
from tamis.methods.batch_confidence_weighted.bcw import BCWClassifier
from tamis.methods.low_rank_lasso.estimator import LowRankModel
from tamis.methods.low_rank_lasso.factorization import LowRankFactorization
from tamis.methods.low_rank_lasso.rank_one import RankOneLasso
from tamis.methods.sparse_online.estimator import FirstOrder
from tamis.system.files import StrPath
from tamis.system.threads import one_thread

HAVE = (
    "RDAClassifier, RDARegressor, OnlineClassifier and OnlineRegressor with "
    "optimizer='dual_averaging', BCWClassifier, LowRankFactorization, LowRankLasso, "
    "LowRankClassifier and RankOneLasso"
)
AT_ONCE: list[tuple[type, Callable, Callable]] = [
    (BCWClassifier, gram.objection, gram.learn),
    (LowRankFactorization, lambda model: "", factoring.learn),
    (RankOneLasso, lambda model: "", low_rank.learn_rank_one),
    (LowRankModel, low_rank.objection, low_rank.learn),
]


def check(model: Any, sweeps: int, checkpoint: StrPath | None) -> None:
    """Refuse models that are no sum, and what has no meaning for those that are."""
    name = type(model).__name__
    found = next((one for one in AT_ONCE if isinstance(model, one[0])), None)
    if found is None and not isinstance(model, FirstOrder):
        raise TypeError(f"how='sum' is for models that sums make: {HAVE}. Got {name}.")
    said = averaging.objection(model) if found is None else found[1](model)
    if said:
        raise ValueError(f"how='sum' does not go with this {name}: {said}. It is for {HAVE}.")
    if found is not None and sweeps != 1:
        raise ValueError(
            f"sweeps={sweeps}: how='sum' takes all rows of {name} as one batch, as its fit does, "
            "which reads them as often as it needs to. Pass sweeps=1."
        )
    if found is not None and checkpoint is not None:
        raise ValueError(
            f"checkpoint: how='sum' of {name} has no state between its rounds that could be kept."
        )


def begun(model: Any) -> Any:
    """The model that partitions are surveyed for: one that forgets, where it takes all at once."""
    return model if isinstance(model, FirstOrder) else clone(model)


def learn(
    model: Any, places: Places, sweeps: int, checkpoint: StrPath | None, task: dict, shown: Any
) -> Any:
    """A fitted model from all partitions."""
    sums = Sums(places)
    with one_thread():
        for kind, _, way in AT_ONCE:
            if isinstance(model, kind):
                return way(clone(model), sums)
        with nullcontext() if checkpoint is None else Rounds(checkpoint, 1) as folder:
            return averaging.learn(model, sums, sweeps, folder, task, shown)
