"""What users say about groups of columns: the declared parameters, and the blocks made of them."""

from typing import Any

from tamis.base.feature_groups import groups_parameter, take_groups
from tamis.base.parameters import ARRAY, NUMBER, SHARE, estimator, parameter
from tamis.solvers.path.loop import Blocks

WEIGHTS = "float, array-like of shape (n_groups,) or None"


@estimator
class GroupsOf:
    """Models whose columns are in groups."""

    feature_groups: Any = groups_parameter("is not penalised")


@estimator
class GroupWeights:
    """Models whose groups have weights; stands left of `GroupsOf`."""

    l1_ratio: float = parameter(
        0.0,
        [SHARE],
        r"Share of L1: :math:`a_g = (1 - s) \sqrt{d_g}` and :math:`r_g = s` for a group of "
        r":math:`d_g` columns. 0 is the group lasso, 1 the lasso, and in between the sparse group "
        "lasso.",
    )
    group_weights: Any = parameter(
        None,
        [ARRAY, NUMBER, None],
        r"Weights :math:`a_g` of the norms in place of :math:`\sqrt{d_g}`; 0 spares a group.",
        WEIGHTS,
    )
    l1_weights: Any = parameter(
        None,
        [ARRAY, NUMBER, None],
        "Weights :math:`r_g` of L1 inside the groups, beside the whole :math:`a_g`; `l1_ratio` "
        "must then be 0. 1 is the published sparse group lasso.",
        WEIGHTS,
    )


def blocks_of(model, n_columns: int) -> Blocks:
    """The blocks that a model's parameters make of its columns."""
    names = getattr(model, "feature_names_in_", None)
    ratio = float(model.l1_ratio)
    return take_groups(
        model.feature_groups, n_columns, names, model.group_weights, ratio, model.l1_weights
    )
