"""Online group lasso: dual averaging under a penalty of groups of columns."""

from functools import partial
from typing import ClassVar

import numpy as np

from tamis.base.estimators.classifier import ProbabilisticClassifier, StreamingClassifier
from tamis.base.estimators.group_stream import OnlineAlphaMixin, OnlineGroupModel
from tamis.base.estimators.regressor import StreamingRegressor
from tamis.base.estimators.stream import EarlyStoppingModel
from tamis.base.parameters import TermLike, estimator, loss_parameter
from tamis.methods.group_lasso.group_parameters import (
    FeatureGroupParameters,
    GroupWeightParameters,
    make_blocks,
)


@estimator
class _OnlineGroupLasso(
    GroupWeightParameters,
    OnlineAlphaMixin,
    FeatureGroupParameters,
    EarlyStoppingModel,
    OnlineGroupModel,
):
    r"""Online models with groups of columns.

    Choose this {kind} for streams, and for rows that are sparse or do not fit into memory, where
    columns belong together: dummies of a category, bins of a number, words of a topic. On dense
    data that fits into memory a batch solver is faster and more exact.

    Minimises over the rows of a stream

    .. math:: \frac{1}{n} \sum_i \ell(w^T x_i + b, y_i)
       + \alpha \sum_g \big(a_g \|w_g\|_2 + r_g \|w_g\|_1\big)

    by dual averaging: with the sum of all gradients :math:`U`, the soft threshold :math:`T`,
    :math:`\beta_t = \sqrt{t + t_0} / \eta` and :math:`\rho` the `fading_threshold`,

    .. math:: c_g = T\big(U_g,\; \alpha r_g t + \rho \beta_t\big), \qquad
       w_g = -\frac{1}{\beta_t} \Big[1 - \frac{\alpha a_g t}{\|c_g\|_2}\Big]_+ c_g .

    Groups are selected as a whole; where :math:`r_g > 0`, single columns of selected groups may be
    0 too. A step costs O(nonzeros of the row) or, with :math:`r_g` or :math:`\rho` above 0,
    O(columns of the groups of the row), and is exact. Groups may overlap: a weight is then the sum
    of one weight for each of its groups, and no column is copied.

    {parameters}

    {attributes}

    See Also
    --------
    GroupLasso{Kind} : The same penalty for tables that fit into memory.
    RDA{Kind} : Dual averaging of single columns, at half the cost.
    groups_from_names : Groups from column names; see also groups_from_dummies and
        groups_by_correlation.

    References
    ----------
    H. Yang, Z. Xu, I. King and M. R. Lyu, "Online Learning for Group Lasso", ICML 2010, algorithm 1
    and its sparse and enhanced variants.

    L. Jacob, G. Obozinski and J.-P. Vert, "Group Lasso with Overlap and Graph Lasso", ICML 2009,
    equation 6.
    """

    _attributes: ClassVar[str] = """\
        feature_groups_ : list of ndarray
            The groups as arrays of columns: those of the user, then columns of no group, then
            columns that are not penalised.
        group_support_ : ndarray of int
            Indices of the selected groups."""

    def _model(self):
        has_l1 = bool(self.l1_ratio) or self.l1_weights is not None
        return self._dual_averaging(partial(make_blocks, self), has_l1)

    @property
    def feature_groups_(self):
        """The groups, as arrays of columns."""
        solver_state = self._fitted_state("feature_groups_")
        return np.split(
            solver_state.members.astype(np.int64), solver_state.starts[1:-1].astype(np.int64)
        )

    @property
    def group_support_(self):
        """Indices of the groups with nonzero weights."""
        return np.flatnonzero(self._fitted_state("group_support_").factors())


@estimator
class OnlineGroupLassoClassifier(StreamingClassifier, ProbabilisticClassifier, _OnlineGroupLasso):
    """Online classifier that keeps or drops groups of columns (DA-GL, DA-SGL).

    {family}

    Examples
    --------
    >>> import numpy as np
    >>> from tamis import OnlineGroupLassoClassifier
    >>> rng = np.random.default_rng(0)
    >>> X, groups = rng.normal(size=(1000, 40)), np.arange(40) // 4
    >>> y = X[:, :4].sum(axis=1) + rng.normal(size=1000) > 0
    >>> model = OnlineGroupLassoClassifier(groups, alpha=0.05, random_state=0).fit(X, y)
    >>> model.group_support_.tolist()
    [0]
    >>> model.support_.tolist()
    [0, 1, 2, 3]
    """

    loss: TermLike = loss_parameter(
        "logistic",
        '"hinge", "squared_hinge", "logistic" (or "log_loss"), "squared_error", "huber", '
        '"epsilon_insensitive", or a term of `tamis.terms`. Several classes share their blocks; '
        "under the logistic loss they are one softmax, else one against the rest.",
    )
    _is_multinomial = True


@estimator
class OnlineGroupLassoRegressor(StreamingRegressor, _OnlineGroupLasso):
    """Online regressor that keeps or drops groups of columns (DA-GL, DA-SGL).

    {family}

    Examples
    --------
    >>> import numpy as np
    >>> from tamis import OnlineGroupLassoRegressor
    >>> rng = np.random.default_rng(0)
    >>> X, groups = rng.normal(size=(1000, 40)), np.arange(40) // 4
    >>> y = X[:, :4].sum(axis=1) + 0.1 * rng.normal(size=1000)
    >>> model = OnlineGroupLassoRegressor(groups, alpha=0.1, random_state=0).fit(X, y)
    >>> model.group_support_.tolist()
    [0]
    >>> model.support_.tolist()
    [0, 1, 2, 3]
    """

    loss: TermLike = loss_parameter("squared_error")
