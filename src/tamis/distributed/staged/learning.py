"""Which models are learnt in stages, and how."""

from typing import Any

from tamis.distributed.placing import Places
from tamis.distributed.staged.grounds import Grounds, census, counted_together
from tamis.distributed.staged.sieving import fit_sieve
from tamis.distributed.staged.voting import Voting
from tamis.methods.sieve.selector import Sieve
from tamis.methods.stabilized_sgd.estimator import StabilizedSGD


def objection(model: Any, sweeps: int, paths: int | None, checkpoint: Any) -> str:
    """Why a model cannot be learnt in stages; nothing where it can."""
    if not isinstance(model, StabilizedSGD | Sieve):
        return (
            f"how='stages' is for stabilized models and sieves, not for {type(model).__name__}. "
            "Use how='walk'."
        )
    if paths is not None:
        return "how='stages' has the paths of the model; pass n_paths to it, and no paths here."
    if checkpoint is not None:
        return "how='stages' keeps no checkpoints. Use how='walk', or no checkpoint."
    if isinstance(model, Sieve) and sweeps != 1:
        return f"a sieve knows how often it walks the rows; sweeps={sweeps} is for other models."
    return ""


def learn(model: Any, places: Places, sweeps: int, stages: int | None, segment: int, shown: Any):
    """A fresh model, learnt from all partitions."""
    model._validate_params()
    plain = model
    if getattr(model, "class_weight", None) is not None:
        plain = type(model)(**{**model.get_params(), "class_weight": None})
    counted = Grounds(places).summed(census, counted_together, plain)
    if isinstance(model, Sieve):
        return fit_sieve(model, places, counted, shown)
    return Voting(model, places, counted, sweeps, stages).run(segment, shown)
