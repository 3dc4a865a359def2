"""Parameters of groups of columns, and the blocks of coefficients that they define."""

from typing import Any

from tamis.base.feature_groups import feature_groups_parameter, parse_feature_groups
from tamis.base.parameters import ARRAY_LIKE, NON_NEGATIVE, UNIT_INTERVAL, estimator, parameter
from tamis.solvers.path.loop import CoefBlocks

WEIGHTS_TYPE = "float, array-like of shape (n_groups,) or None"


@estimator
class FeatureGroupParameters:
    """Models with groups of columns."""

    feature_groups: Any = feature_groups_parameter("is not penalised")


@estimator
class GroupWeightParameters:
    """Models with weights of groups; stands left of `FeatureGroupParameters`."""

    l1_ratio: float = parameter(
        0.0,
        [UNIT_INTERVAL],
        r"Share of L1: :math:`a_g = (1 - s) \sqrt{d_g}` and :math:`r_g = s` for a group of "
        r":math:`d_g` columns. 0 is the group lasso, 1 the lasso, and in between the sparse group "
        "lasso.",
    )
    group_weights: Any = parameter(
        None,
        [ARRAY_LIKE, NON_NEGATIVE, None],
        r"Weights :math:`a_g` of the norms in place of :math:`\sqrt{d_g}`; 0 spares a group.",
        WEIGHTS_TYPE,
    )
    l1_weights: Any = parameter(
        None,
        [ARRAY_LIKE, NON_NEGATIVE, None],
        "Weights :math:`r_g` of L1 inside the groups, beside the whole :math:`a_g`; `l1_ratio` "
        "must then be 0. 1 is the published sparse group lasso.",
        WEIGHTS_TYPE,
    )


def make_blocks(model, n_columns: int) -> CoefBlocks:
    """Return the blocks of coefficients that the parameters of a model define."""
    names = getattr(model, "feature_names_in_", None)
    ratio = float(model.l1_ratio)
    return parse_feature_groups(
        model.feature_groups, n_columns, names, model.group_weights, ratio, model.l1_weights
    )
