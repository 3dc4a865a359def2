"""Penalties of a feature over the tasks: the declared parameters, and the blocks made of them."""

from tamis.base.feature_groups import take_groups
from tamis.base.parameters import NUMBER, TermLike, estimator, one_of, parameter
from tamis.solvers.path.loop import Blocks

# weights of a feature's norm over the tasks and of L1 inside it; None is `l1_weight`
PENALTIES = {"individual": (0.0, 1.0), "shared": (1.0, 0.0), "shared+sparse": (1.0, None)}


MEANINGS = (
    '"individual": every task keeps its own features (:math:`a = 0, r = 1`; iMTFS). "shared": a '
    "feature is kept for all tasks or for none (:math:`a = 1, r = 0`; aMTFS). "
    '"shared+sparse": shared features, of which a task may drop some (:math:`a = 1, r =` '
    "`l1_weight`; MTFTS)."
)


@estimator
class TaskPenalty:
    """Models of several tasks."""

    penalty: TermLike = parameter("shared", [one_of(*PENALTIES)], MEANINGS)


@estimator
class L1Weight:
    """The rest of the penalty; stands left of `TaskPenalty`."""

    l1_weight: float = parameter(0.3, [NUMBER], 'Weight :math:`r` of L1 under "shared+sparse".')


def prices(model) -> tuple[float, float]:
    """Weights of a feature's norm over the tasks and of L1 inside it."""
    norm, inside = PENALTIES[model.penalty]
    return norm, float(model.l1_weight) if inside is None else inside


def blocks_of(model, n_columns: int) -> Blocks:
    """One block a feature, over all tasks."""
    norm, inside = prices(model)
    return take_groups(None, n_columns, group_weights=norm, l1_weights=inside)
