"""Models on low-rank factors: targets lie in shards of rows, become k numbers each by sums, and are
solved in shards of targets.
"""

from collections.abc import Iterator
from typing import Any

import numpy as np
import scipy.sparse as sp
from sklearn.base import is_classifier

from tamis.distributed.summing.factoring import Asked, factor, operators
from tamis.distributed.summing.given import class_weights, columns_of, first_targets
from tamis.distributed.summing.tree import Counted, Sums, added
from tamis.methods.low_rank_lasso.compression import CANCELLED, COLUMNS, Compressed
from tamis.methods.low_rank_lasso.estimator import LowRankModel
from tamis.methods.low_rank_lasso.rank_one import Problem, RankOneLasso
from tamis.methods.low_rank_lasso.spg.solver import ROWS, TURNS, Outcome

SHARD = ROWS * TURNS  # targets that one worker solves together, as one thread does


def objection(model: Any) -> str:
    """Why a low-rank model has no sum; nothing where it has one."""
    if getattr(model, "threshold", None) == "f1":
        return "thresholds of the best F1 need the scores of all rows; pass a number as threshold"
    return ""


# --------------------------------------------------------------------------- what workers do
def _targets(asked: Asked, coded: Any) -> Iterator[tuple[slice, np.ndarray]]:
    """Targets of a block as dense columns, a few at a time."""
    columns = coded.columns
    if is_classifier(asked.model):
        columns = asked.model._numbers(asked.targets, columns)
    for at in range(0, columns.shape[1], COLUMNS):
        part = slice(at, at + COLUMNS)
        some = columns[:, part]
        some = some.toarray() if sp.issparse(some) else np.asarray(some)
        yield part, 2.0 * some - 1.0 if is_classifier(asked.model) else some


def _sums_of(blocks: Counted, asked: Asked) -> tuple[np.ndarray, float]:
    """Weighted sums of the targets, and of the weights."""
    total, weight = np.zeros(asked.targets.outputs), 0.0
    for operator, coded in operators(blocks, asked):
        weights = np.square(operator.roots, dtype=np.float64)
        weight += float(weights.sum())
        for part, some in _targets(asked, coded):
            total[part] += weights @ some
    return total, weight


def _compressed(blocks: Counted, asked: Asked, F: np.ndarray, means: np.ndarray) -> tuple:
    """C = U'y, and the squares of y, centred."""
    C, squares = np.zeros((len(means), F.shape[1])), np.zeros(len(means))
    for operator, coded in operators(blocks, asked):
        roots = operator.roots.astype(np.float64)
        U = (operator.times(F) * operator.roots[:, None]).astype(np.float64)
        for part, some in _targets(asked, coded):
            centred = some - means[part]
            C[part] += centred.T @ U
            squares[part] += roots**2 @ centred**2
    return C, squares


def _left_over(
    blocks: Counted, asked: Asked, F: np.ndarray, means: np.ndarray, C: np.ndarray
) -> tuple[np.ndarray]:
    """Squares of y - U C, term by term."""
    total = np.zeros(len(means))
    for operator, coded in operators(blocks, asked):
        roots, U = operator.roots.astype(np.float64), operator.times(F).astype(np.float64)
        for part, some in _targets(asked, coded):
            residual = roots[:, None] * (some - means[part]) - U @ C[part].T
            total[part] += np.einsum("ij,ij->j", residual, residual)
    return (total,)


def _solved(model: LowRankModel, factors: Any, packed: Compressed, radius, share) -> Outcome:
    """Some of the targets."""
    return model._solve(factors, packed, radius, share)


# --------------------------------------------------------------------------- what is done here
def learn(model: LowRankModel, sums: Sums) -> LowRankModel:
    """Factor the rows of all partitions, and fit all targets."""
    model._check()
    own = columns_of(model, sums)
    targets = sums.first(first_targets, own)
    if is_classifier(own):
        own.class_weight = class_weights(own, targets, sums)
        if own.threshold == "auto" and targets.labels:
            raise ValueError(
                f"how='sum': {type(model).__name__}(threshold='auto') of a matrix of labels goes "
                "by the best F1, which needs the scores of all rows. Pass a number as threshold."
            )
    asked = Asked(own, targets, bool(model.fit_intercept), model.dtype)
    factors = model._unfactored()
    asked, F = factor(factors, sums, asked)
    means, packed = _packed(sums, asked, F)
    found = _outcome(own, sums, factors, packed)
    shown = model._shown(found, means, packed, factors, sums.agreed.survey.rows)
    shown |= model._beside(targets, None, np.empty((0, targets.outputs)), None, shown)
    model.n_features_in_ = own.n_features_in_
    model._set_attributes(shown, targets)
    model._warn(factors)
    return model


def learn_rank_one(model: RankOneLasso, sums: Sums) -> RankOneLasso:
    """The two vectors of all partitions, and all targets, each as its share along one of them and
    the length of the rest: an angle and two lengths are all that a solution asks of it.
    """
    model._validate_params()
    own, factors = columns_of(model, sums), model._unfactored()
    targets = sums.first(first_targets, own)
    asked, F = factor(factors, sums, Asked(own, targets, bool(model.fit_intercept), "float64"))
    means, packed = _packed(sums, asked, F)
    rows, q = np.column_stack([packed.C, packed.rest]), np.append(factors.S_, 0.0)
    model.n_features_in_ = own.n_features_in_
    return model._settle(Problem(factors, model._insured(factors), targets, rows, means, q))


def _packed(sums: Sums, asked: Asked, F: np.ndarray) -> tuple[np.ndarray, Compressed]:
    """Means of the targets, and these as k numbers each; what is lost in a difference of squares is
    summed anew.
    """
    totals, weight = sums.total(_sums_of, asked)
    means = totals / weight if asked.center else np.zeros_like(totals)
    C, squares = sums.total(_compressed, asked, F, means)
    left = squares - np.einsum("ij,ij->i", C, C)
    lost = left < CANCELLED * squares
    if lost.any():
        (exact,) = sums.total(_left_over, asked, F, means, C, merge=added)
        left = np.where(lost, exact, left)
    squares[squares <= (squares + means**2 * weight) * 1e-24] = 0.0
    norms = np.sqrt(squares), np.full(len(C), -1)
    return means, Compressed(C, np.sqrt(np.maximum(left, 0.0)), *norms)


def _outcome(model: LowRankModel, sums: Sums, factors: Any, packed: Compressed) -> Outcome:
    """All targets, shard by shard."""
    count = len(packed.C)
    radius, share = model._radius(count)
    light = type(factors)(**factors.get_params())
    light.W_, light.S_, light.error_upper_ = factors.W_, factors.S_, factors.error_upper_
    cuts = [np.arange(at, min(at + SHARD, count)) for at in range(0, count, SHARD)]
    own = [(packed.picked(cut), radius[cut], share) for cut in cuts]
    parts = sums.spread(_solved, (model, light), own)
    weights = sp.csr_array(sp.vstack([part.weights for part in parts], format="csr"))
    zero = np.concatenate([part.zero for part in parts])
    closed = np.concatenate([part.closed for part in parts])
    names = parts[0].figures
    figures = {name: np.concatenate([part.figures[name] for part in parts]) for name in names}
    return Outcome(weights, zero, closed, figures)
