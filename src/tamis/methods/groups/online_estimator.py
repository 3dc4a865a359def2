"""Online group lasso: dual averaging under a penalty of groups of columns."""

import numpy as np

from tamis.base.parameters import NUMBER, SHARE, STRENGTH
from tamis.base.recipe import recipe
from tamis.base.regressor import Numbers
from tamis.solvers.block_descent.groups import take_groups
from tamis.solvers.block_descent.softmax import SoftmaxClasses
from tamis.solvers.online_blocks.estimator import AVERAGING, WITHOUT, Grouped

_CONSTRAINTS = {
    **STRENGTH,
    **AVERAGING,
    "groups": ["array-like", None],
    "l1_ratio": [SHARE],
    "group_weights": ["array-like", NUMBER, None],
    "l1_weights": ["array-like", NUMBER, None],
}


class _GroupLasso(Grouped):
    """Online models with groups of columns."""

    def _trims(self):
        return bool(self.l1_ratio) or self.l1_weights is not None

    def _blocks(self, n_columns):
        return take_groups(
            self.groups,
            n_columns,
            getattr(self, "feature_names_in_", None),
            self.group_weights,
            float(self.l1_ratio),
            self.l1_weights,
        )

    @property
    def groups_(self):
        """The groups, as arrays of columns."""
        engine = self._fitted("groups_")
        return np.split(engine.members.astype(np.int64), engine.starts[1:-1].astype(np.int64))

    @property
    def group_support_(self):
        """Indices of the groups that are kept."""
        return np.flatnonzero(self._fitted("group_support_").factors())


@recipe(
    _CONSTRAINTS,
    WITHOUT,
    groups=None,
    alpha="auto",
    l1_ratio=0.0,
    rho=0.0,
    gamma="auto",
    t0="auto",
    group_weights=None,
    l1_weights=None,
    loss="logistic",
)
class OnlineGroupLassoClassifier(SoftmaxClasses, _GroupLasso):
    r"""Online classifier that keeps or drops groups of columns (DA-GL, DA-SGL).

    Minimises over the rows of a stream

    .. math:: \frac{1}{n} \sum_i \ell(w^T x_i + b, y_i) + \alpha \sum_g \big(a_g \|w_g\|_2 + r_g
    \|w_g\|_1\big)

    by dual averaging: with the sum of all slopes :math:`U`, the soft threshold :math:`T` and
    :math:`\beta_t = \gamma \sqrt{t + t_0}`,

    .. math:: c_g = T\big(U_g,\; \alpha r_g t + \rho \beta_t\big), \qquad
       w_g = -\frac{1}{\beta_t} \Big[1 - \frac{\alpha a_g t}{\|c_g\|_2}\Big]_+ c_g .

    Groups stay or leave as a whole; where :math:`r_g > 0`, single columns leave kept groups too. A
    step costs O(nonzeros of the row), with :math:`r_g` or :math:`\rho` above 0 O(columns of the
    groups that the row touches): nothing else is ever computed, and nothing is approximated. Groups
    may overlap: a weight is then the sum of its groups' parts, and no column is copied.

    Choose it for streams, and for rows that are sparse or do not fit into memory, where columns
    belong together: dummies of a category, bins of a number, words of a topic. On dense data that
    fits into memory a batch solver is faster and more exact.

    Parameters
    ----------
    groups : list of array-like, array-like of shape (n_features,), or None, default=None
        A list of arrays of column numbers or names, which may overlap; one label per column (-1 is
        a group of its own, None a column that is not penalised); or, for a DataFrame, a list of
        prefixes of column names, of which the longest that fits counts. Columns in no group are
        groups of their own. None makes each column a group. A stream keeps the groups of its first
        call.
    alpha : float or "auto", default="auto"
        Strength of the penalty, in units of the mean loss. "auto" is 1e-4 times the mean slope of
        the loss at score 0 times the mean norm of the rows so far, which follows the scale of the
        data.
    l1_ratio : float, default=0.0
        Share of L1: :math:`a_g = (1 - s) \sqrt{d_g}` and :math:`r_g = s` for a group of :math:`d_g`
        columns. 0 is the group lasso, 1 the lasso (L1-RDA), and in between the sparse group lasso.
    rho : float, default=0.0
        Extra threshold that fades as :math:`1 / \sqrt t`, in units of the weights (the enhanced
        variant).
    gamma : float or "auto", default="auto"
        Divisor of the weights. "auto" makes :math:`\beta_t = \frac12 \max_i \|x_i\|^2 \sqrt{1 + t /
        t_0}` over the rows so far (17/16 of it with an intercept, which has steps of its own),
        times the most groups that a column is in.
    t0 : float or "auto", default="auto"
        Rows before the steps begin to fall. "auto" is 30000 with an automatic `gamma` (0.3 times
        the total of rows is a good value, passes counted), else 0, the update as published.
    group_weights : float, array-like of shape (n_groups,) or None, default=None
        Weights :math:`a_g` in place of :math:`\sqrt{d_g}`; 0 spares a group.
    l1_weights : float, array-like of shape (n_groups,) or None, default=None
        Weights :math:`r_g`, beside the whole :math:`a_g`; `l1_ratio` must then be 0. 1 is the
        published sparse group lasso.
    loss : str or term, default="logistic"
        "hinge", "squared_hinge", "logistic" (or "log_loss"), "squared_error", "huber",
        "epsilon_insensitive", or a term of `tamis.terms`. Several classes share their blocks; under
        the logistic loss they are one softmax, else one against the rest.
    {shared}

    Attributes
    ----------
    {attributes}
    groups_ : list of ndarray
        The groups as arrays of columns: those given, then columns of no group, then columns that
        are not penalised.
    group_support_ : ndarray of int
        Indices of the groups that are kept.

    See Also
    --------
    RDAClassifier : Dual averaging of single columns, at half the cost.
    groups_from_names : Groups from column names; see also groups_from_dummies and
    groups_by_correlation.

    References
    ----------
    H. Yang, Z. Xu, I. King and M. R. Lyu, "Online Learning for Group Lasso", ICML 2010, algorithm 1
    and its sparse and enhanced variants.

    L. Jacob, G. Obozinski and J.-P. Vert, "Group Lasso with Overlap and Graph Lasso", ICML 2009,
    equation 6.

    Examples
    --------
    >>> import numpy as np
    >>> from tamis import OnlineGroupLassoClassifier
    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(1000, 40))
    >>> y = X[:, :4].sum(axis=1) + rng.normal(size=1000) > 0
    >>> model = OnlineGroupLassoClassifier(groups=np.arange(40) // 4, alpha=0.05, random_state=0).fit(X, y)
    >>> model.group_support_.tolist()
    [0]
    >>> model.support_.tolist()
    [0, 1, 2, 3]
    """


@recipe(
    _CONSTRAINTS,
    WITHOUT,
    groups=None,
    alpha="auto",
    l1_ratio=0.0,
    rho=0.0,
    gamma="auto",
    t0="auto",
    group_weights=None,
    l1_weights=None,
    loss="squared_error",
)
class OnlineGroupLassoRegressor(Numbers, _GroupLasso):
    r"""Online regressor that keeps or drops groups of columns (DA-GL, DA-SGL).

    Minimises over the rows of a stream

    .. math:: \frac{1}{n} \sum_i \ell(w^T x_i + b, y_i) + \alpha \sum_g \big(a_g \|w_g\|_2 + r_g
    \|w_g\|_1\big)

    by dual averaging: with the sum of all slopes :math:`U`, the soft threshold :math:`T` and
    :math:`\beta_t = \gamma \sqrt{t + t_0}`,

    .. math:: c_g = T\big(U_g,\; \alpha r_g t + \rho \beta_t\big), \qquad
       w_g = -\frac{1}{\beta_t} \Big[1 - \frac{\alpha a_g t}{\|c_g\|_2}\Big]_+ c_g .

    Groups stay or leave as a whole; where :math:`r_g > 0`, single columns leave kept groups too. A
    step costs O(nonzeros of the row), with :math:`r_g` or :math:`\rho` above 0 O(columns of the
    groups that the row touches): nothing else is ever computed, and nothing is approximated. Groups
    may overlap: a weight is then the sum of its groups' parts, and no column is copied.

    Choose it for streams, and for rows that are sparse or do not fit into memory, where columns
    belong together: dummies of a category, bins of a number, words of a topic. On dense data that
    fits into memory a batch solver is faster and more exact.

    Parameters
    ----------
    groups : list of array-like, array-like of shape (n_features,), or None, default=None
        A list of arrays of column numbers or names, which may overlap; one label per column (-1 is
        a group of its own, None a column that is not penalised); or, for a DataFrame, a list of
        prefixes of column names, of which the longest that fits counts. Columns in no group are
        groups of their own. None makes each column a group. A stream keeps the groups of its first
        call.
    alpha : float or "auto", default="auto"
        Strength of the penalty, in units of the mean loss. "auto" is 1e-4 times the mean slope of
        the loss at score 0 times the mean norm of the rows so far, which follows the scale of the
        data.
    l1_ratio : float, default=0.0
        Share of L1: :math:`a_g = (1 - s) \sqrt{d_g}` and :math:`r_g = s` for a group of :math:`d_g`
        columns. 0 is the group lasso, 1 the lasso (L1-RDA), and in between the sparse group lasso.
    rho : float, default=0.0
        Extra threshold that fades as :math:`1 / \sqrt t`, in units of the weights (the enhanced
        variant).
    gamma : float or "auto", default="auto"
        Divisor of the weights. "auto" makes :math:`\beta_t = \frac12 \max_i \|x_i\|^2 \sqrt{1 + t /
        t_0}` over the rows so far (17/16 of it with an intercept, which has steps of its own),
        times the most groups that a column is in.
    t0 : float or "auto", default="auto"
        Rows before the steps begin to fall. "auto" is 30000 with an automatic `gamma` (0.3 times
        the total of rows is a good value, passes counted), else 0, the update as published.
    group_weights : float, array-like of shape (n_groups,) or None, default=None
        Weights :math:`a_g` in place of :math:`\sqrt{d_g}`; 0 spares a group.
    l1_weights : float, array-like of shape (n_groups,) or None, default=None
        Weights :math:`r_g`, beside the whole :math:`a_g`; `l1_ratio` must then be 0. 1 is the
        published sparse group lasso.
    loss : str or term, default="squared_error"
        "squared_error", "huber", "epsilon_insensitive", or a term of `tamis.terms`. Several targets
        share their blocks.
    {shared}

    Attributes
    ----------
    {attributes}
    groups_ : list of ndarray
        The groups as arrays of columns: those given, then columns of no group, then columns that
        are not penalised.
    group_support_ : ndarray of int
        Indices of the groups that are kept.

    See Also
    --------
    RDARegressor : Dual averaging of single columns, at half the cost.
    groups_from_names : Groups from column names; see also groups_from_dummies and
    groups_by_correlation.

    References
    ----------
    H. Yang, Z. Xu, I. King and M. R. Lyu, "Online Learning for Group Lasso", ICML 2010, algorithm 1
    and its sparse and enhanced variants.

    L. Jacob, G. Obozinski and J.-P. Vert, "Group Lasso with Overlap and Graph Lasso", ICML 2009,
    equation 6.

    Examples
    --------
    >>> import numpy as np
    >>> from tamis import OnlineGroupLassoRegressor
    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(1000, 40))
    >>> y = X[:, :4].sum(axis=1) + 0.1 * rng.normal(size=1000)
    >>> model = OnlineGroupLassoRegressor(groups=np.arange(40) // 4, alpha=0.1, random_state=0).fit(X, y)
    >>> model.group_support_.tolist()
    [0]
    >>> model.support_.tolist()
    [0, 1, 2, 3]
    """
