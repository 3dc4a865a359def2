"""Which models are learnt in stages, and how."""

from typing import Any

from tamis.distributed.placing import Places
from tamis.distributed.staged.partitions import Partitions, even_weights, weigh


def objection(model: Any, sweeps: int, paths: int | None, checkpoint: Any) -> str:
    """Why a model cannot be learnt in stages; nothing where it can."""
    if not hasattr(model, "_fit_partitions"):
        return (
            f"how='stages' is for stabilized models and sieves, not for {type(model).__name__}. "
            "Use how='walk'."
        )
    if paths is not None:
        return "how='stages' has the paths of the model; pass n_paths to it, and no paths here."
    if checkpoint is not None:
        return "how='stages' keeps no checkpoints. Use how='walk', or no checkpoint."
    if getattr(model, "_decides_passes", False) and sweeps != 1:
        return f"a sieve knows how often it walks the rows; sweeps={sweeps} is for other models."
    return ""


def learn(model: Any, places: Places, sweeps: int, stages: int | None, segment: int, shown: Any):
    """A fresh model, learnt from all partitions; each is validated once."""
    model._validate_params()
    weights = getattr(model, "class_weight", None)
    plain = model if weights is None else _with(model, None)
    partitions = Partitions.of(places, plain, segment, shown)
    if weights is not None:
        counts = partitions.counts
        weights = even_weights(counts) if weights == "balanced" and len(counts.classes) else weights
        partitions = partitions.prepared(weigh, _with(model, weights))
    assert places.agreed is not None
    names = places.agreed.seen[places.agreed.full[0]].names
    model._fit_partitions(partitions, names, sweeps, stages)
    partitions.forget()
    return model


def _with(model: Any, class_weight: dict | None) -> Any:
    """The model with other class weights."""
    return type(model)(**{**model.get_params(), "class_weight": class_weight})
