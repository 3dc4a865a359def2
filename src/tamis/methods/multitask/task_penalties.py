"""Penalties of a feature over the tasks: parameters, and the blocks of coefficients."""

from tamis.base.feature_groups import parse_feature_groups
from tamis.base.parameters import NON_NEGATIVE, TermLike, estimator, one_of_strings, parameter
from tamis.solvers.path.loop import CoefBlocks

# Weights of a feature's norm over the tasks and of L1; None stands for the parameter `l1_weight`.
PENALTY_WEIGHTS = {"individual": (0.0, 1.0), "shared": (1.0, 0.0), "shared+sparse": (1.0, None)}


PENALTY_DESCRIPTION = (
    '"individual": every task keeps its own features (:math:`a = 0, r = 1`; iMTFS). "shared": a '
    "feature is kept for all tasks or for none (:math:`a = 1, r = 0`; aMTFS). "
    '"shared+sparse": shared features, of which a task may drop some (:math:`a = 1, r =` '
    "`l1_weight`; MTFTS)."
)


@estimator
class TaskPenaltyParameter:
    """Models with a named penalty over the tasks."""

    penalty: TermLike = parameter("shared", [one_of_strings(*PENALTY_WEIGHTS)], PENALTY_DESCRIPTION)


@estimator
class L1WeightParameter:
    """Models with an L1 weight in the penalty; stands left of `TaskPenaltyParameter`."""

    l1_weight: float = parameter(
        0.3, [NON_NEGATIVE], 'Weight :math:`r` of L1 under "shared+sparse".'
    )


def penalty_weights(model) -> tuple[float, float]:
    """Return the weights of a feature's norm over the tasks and of L1."""
    norm_weight, l1_weight = PENALTY_WEIGHTS[model.penalty]
    return norm_weight, float(model.l1_weight) if l1_weight is None else l1_weight


def make_blocks(model, n_columns: int) -> CoefBlocks:
    """Return one block a feature, over all tasks."""
    norm_weight, l1_weight = penalty_weights(model)
    return parse_feature_groups(None, n_columns, group_weights=norm_weight, l1_weights=l1_weight)
