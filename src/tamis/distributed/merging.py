"""One model from several: the mean score of paths, and what partitions have learnt apart."""

import copy
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from tamis.base.estimators.mean import MeanState
from tamis.base.targets import ClassTargets
from tamis.distributed.worker_tasks import Partition, PathState, learn_partition
from tamis.solvers.first_order.state import FirstOrderState
from tamis.solvers.second_order.state import ConfidenceState
from tamis.terms.optimizers import Averaged, CappedDescent

MERGES = ("mean", "precision")


# --------------------------------------------------------------------------- paths
def has_mean(model: Any) -> bool:
    """Whether the mean of several models of this class is a model of this class."""
    contents = [
        vars(base).get("_contents", {}).get("_solver_state") for base in type(model).__mro__
    ]
    declared = next((one for one in contents if one is not None), None)
    return any(getattr(one, "cls", None) is MeanState for one in getattr(declared, "contents", ()))


def mean_of(models: list[Any]) -> Any:
    """One model with the mean score of several, which it holds as `paths_`."""
    if len(models) == 1:
        return models[0]
    mean = copy.copy(models[0])
    engines = [model._solver_state for model in models]
    mean._solver_state = MeanState(engines)
    nonzero_counts = np.zeros_like(mean._solver_state.table)
    for engine in engines:
        nonzero_counts += engine.weights() != 0.0
    mean.selection_probability_ = mean._targets.shape_coef(nonzero_counts / len(engines))
    mean.paths_ = models
    return mean


# --------------------------------------------------------------------------- partitions
@dataclass
class LearntApart:
    """What some partitions have learnt from a common start: a node of the merge tree."""

    path: PathState
    rows: int
    gained_precision: Any = None  # over the start, of all of them together
    mean_precision: Any = None  # sum of the precisions that weight the means


def refuse_mix(model: Any, merge: str) -> str:
    """Why such models cannot be mixed; empty where they can."""
    engine: Any = getattr(model, "_solver_state", None)
    if type(engine) not in (FirstOrderState, ConfidenceState):
        return "its state has no mean that is a state again"
    if isinstance(engine, ConfidenceState):
        if engine.full:
            return "full covariances have no plain mean; pass covariance='diagonal'"
        if engine.kept.size:
            return "partitions keep different features"
        return ""
    optimizer = engine.terms[2]
    if isinstance(optimizer, Averaged):
        return "its averages are kept a feature's stay each; pass average=False"
    if isinstance(getattr(optimizer, "optimizer", optimizer), CappedDescent):
        return "each weight remembers what it has paid; pass theta=inf"
    if merge == "precision":
        return "merge='precision' is for confidence-weighted models, which have precisions"
    return ""


def learn_apart(start: PathState, partition: Partition, merge: str) -> LearntApart:
    """Learn a partition from the common start, apart from the other partitions."""
    path = learn_partition(PathState(start.model), partition)
    if reason := refuse_mix(path.model, merge):
        name = type(path.model).__name__
        raise ValueError(f"how='mix' does not go with this {name}: {reason}. Or use how='walk'.")
    model = copy.copy(path.model)
    model._solver_state = engine = model._solver_state.flushed()
    learnt = LearntApart(replace(path, model=model), path.rows)
    if merge == "precision":
        start_engine = getattr(start.model, "_solver_state", None)
        precision = engine.state[:, engine.outputs :]
        before = 0.0 if start_engine is None else start_engine.state[:, engine.outputs :]
        learnt.gained_precision = precision - before
        learnt.mean_precision = engine.flags[1] + precision
    return learnt


def merge_learnt(left: LearntApart, right: LearntApart) -> LearntApart:
    """Merge two nodes into one, their models by a mean that is weighted by rows."""
    rows = left.rows + right.rows
    fraction = right.rows / rows if rows else 0.0
    model, other = copy.copy(left.path.model), right.path.model
    model._solver_state = model._solver_state.weighted_mean_with(other._solver_state, fraction)
    model._targets = _mixed_targets(left.path.model._targets, other._targets, fraction)
    path = PathState(
        model,
        left.path.visited + right.path.visited,
        left.path.rows + right.path.rows,
        left.path.steps + right.path.steps,
        left.path.seconds + right.path.seconds,
    )
    merged = LearntApart(path, rows)
    if left.mean_precision is not None:
        _weight_by_precision(model._solver_state, left, right, merged)
    return merged


def _weight_by_precision(
    engine: ConfidenceState, left: LearntApart, right: LearntApart, merged: LearntApart
) -> None:
    """Replace the plain mean of the weights by one that is weighted by precision."""
    outputs = engine.outputs
    means = [one.path.model._solver_state.state[:, :outputs] for one in (left, right)]
    total = left.mean_precision + right.mean_precision
    merged.mean_precision = total
    merged.gained_precision = left.gained_precision + right.gained_precision
    weighted = left.mean_precision * means[0] + right.mean_precision * means[1]
    engine.state[:, :outputs] = weighted / total


def finish_mix(start: PathState, root: LearntApart) -> PathState:
    """The path after a sweep, from the root of the merge tree."""
    path = root.path
    if root.gained_precision is not None:
        engine = path.model._solver_state = copy.copy(path.model._solver_state)
        engine.state = engine.state.copy()
        start_engine = getattr(start.model, "_solver_state", None)
        before = 0.0 if start_engine is None else start_engine.state[:, engine.outputs :]
        engine.state[:, engine.outputs :] = before + root.gained_precision
    visited, rows = start.visited + path.visited, start.rows + path.rows
    return PathState(path.model, visited, rows, start.steps + path.steps, path.seconds)


def _mixed_targets(one: Any, other: Any, fraction: float) -> Any:
    """Targets with a mean of the class counts, where classes are counted."""
    if getattr(one, "counts", None) is None:
        return one
    counts = (1.0 - fraction) * one.counts + fraction * other.counts
    return ClassTargets(one.classes, one.labels, counts)
