"""Several models as one: the mean score of paths, and what partitions have learnt apart."""

import copy
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from tamis.base.estimators.mean import Mean
from tamis.base.targets import ClassTargets
from tamis.distributed.visits import Partition, Path, visit
from tamis.solvers.first_order.state import Engine
from tamis.solvers.second_order.state import ConfidenceEngine
from tamis.terms.optimizers import Averaged, CappedDescent

MERGES = ("mean", "precision")


# --------------------------------------------------------------------------- paths
def has_mean(model: Any) -> bool:
    """Whether several paths of a model have a mean that is such a model again."""
    contents = [vars(base).get("_contents", {}).get("_engine") for base in type(model).__mro__]
    declared = next((one for one in contents if one is not None), None)
    return any(getattr(one, "cls", None) is Mean for one in getattr(declared, "contents", ()))


def mean_of(models: list[Any]) -> Any:
    """One model of the mean score of several, which it holds as `paths_`."""
    if len(models) == 1:
        return models[0]
    found = copy.copy(models[0])
    engines = [model._engine for model in models]
    found._engine = Mean(engines)
    kept = np.zeros_like(found._engine.table)
    for engine in engines:
        kept += engine.weights() != 0.0
    found.selection_probability_ = found._targets.shaped(kept / len(engines))
    found.paths_ = models
    return found


# --------------------------------------------------------------------------- partitions
@dataclass
class Node:
    """What some partitions have learnt from a common start, on its way up the tree."""

    path: Path
    rows: int
    gained: Any = None  # precision, over the start, of all of them together
    below: Any = None  # sum of the precisions that the means are weighted by


def objection(model: Any, merge: str) -> str:
    """Why what partitions have learnt cannot be merged; nothing where it can."""
    engine: Any = getattr(model, "_engine", None)
    if type(engine) not in (Engine, ConfidenceEngine):
        return "its state has no mean that is a state again"
    if isinstance(engine, ConfidenceEngine):
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


def learn_apart(start: Path, partition: Partition, merge: str) -> Node:
    """What a partition has to teach a model that has learnt of no other since the start."""
    path = visit(Path(start.model), partition)
    if said := objection(path.model, merge):
        name = type(path.model).__name__
        raise ValueError(f"how='mix' does not go with this {name}: {said}. Or use how='walk'.")
    model = copy.copy(path.model)
    model._engine = engine = model._engine.flushed()
    node = Node(replace(path, model=model), path.rows)
    if merge == "precision":
        begun = getattr(start.model, "_engine", None)
        gained = engine.state[:, engine.outputs :]
        node.gained = gained - begun.state[:, engine.outputs :] if begun is not None else gained
        node.below = engine.flags[1] + gained
    return node


def join(left: Node, right: Node) -> Node:
    """Two branches as one; the mean goes by rows."""
    rows = left.rows + right.rows
    share = right.rows / rows if rows else 0.0
    model, other = copy.copy(left.path.model), right.path.model
    model._engine = model._engine.mixed(other._engine, share)
    model._targets = _mixed_targets(left.path.model._targets, other._targets, share)
    path = Path(
        model,
        left.path.visited + right.path.visited,
        left.path.rows + right.path.rows,
        left.path.steps + right.path.steps,
        left.path.taken + right.path.taken,
    )
    node = Node(path, rows)
    if left.below is not None:
        _by_precision(model._engine, left, right, node)
    return node


def _by_precision(engine: ConfidenceEngine, left: Node, right: Node, node: Node) -> None:
    """Means weighted by precision, in place of plain ones."""
    outputs = engine.outputs
    means = [one.path.model._engine.state[:, :outputs] for one in (left, right)]
    node.below = left.below + right.below
    node.gained = left.gained + right.gained
    engine.state[:, :outputs] = (left.below * means[0] + right.below * means[1]) / node.below


def finish(start: Path, node: Node) -> Path:
    """The path after a sweep: what the tree has brought together."""
    path = node.path
    if node.gained is not None:
        engine = path.model._engine = copy.copy(path.model._engine)
        engine.state = engine.state.copy()
        begun = getattr(start.model, "_engine", None)
        before = 0.0 if begun is None else begun.state[:, engine.outputs :]
        engine.state[:, engine.outputs :] = before + node.gained
    visited, rows = start.visited + path.visited, start.rows + path.rows
    return Path(path.model, visited, rows, start.steps + path.steps, path.taken)


def _mixed_targets(one: Any, other: Any, share: float) -> Any:
    """Targets with a mean of the classes' counts, where they are counted."""
    if getattr(one, "counts", None) is None:
        return one
    counts = (1.0 - share) * one.counts + share * other.counts
    return ClassTargets(one.classes, one.labels, counts)
