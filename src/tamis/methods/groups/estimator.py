"""Batch group lasso and sparse group lasso."""

from tamis.solvers.block_descent.estimator import GROUPING, SOLVING, GroupedColumns
from tamis.solvers.block_descent.targets import CLASS_WEIGHT, BatchClasses, BatchNumbers

NUMBERS = {**SOLVING, **GROUPING}
CLASSES = {**NUMBERS, **CLASS_WEIGHT}


class GroupLassoClassifier(BatchClasses, GroupedColumns):
    r"""Batch classifier that keeps or drops whole groups of columns (group lasso, sparse group
    lasso).

    Minimises

    .. math:: \frac{1}{\sum_i s_i} \sum_i s_i\, \ell(w^T x_i + b, y_i) + \alpha \sum_g \big(a_g
    \|w_g\|_2 + r_g \|w_g\|_1\big)

    with :math:`a_g = (1 - \rho) \sqrt{d_g}` and :math:`r_g = \rho` (`l1_ratio`) for a group of
    :math:`d_g` columns. With several classes a group holds the weights of all of them. Where groups
    overlap, weights are sums of one vector a group, each with its own norm (the latent form): a
    union of groups is kept. The duality gap certifies the solution.

    Choose it for tables that fit into memory: one-hot columns, lags, pathways, where members stand
    or fall together. For streams, files and very wide sparse rows there is
    `OnlineGroupLassoClassifier`. Columns are not scaled: scale them if their units differ.

    Parameters
    ----------
    groups : list of array-like, array-like of shape (n_features,) or None, default=None
        Groups of columns: a list of arrays of column numbers or names, which may overlap; one label
        a column (-1: a group of its own; None: not penalised); or prefixes of the column names of a
        DataFrame. None makes every column a group.
    alpha : float or "auto", default="auto"
        Strength of the penalty. "auto" is a tenth of the smallest strength that keeps nothing.
    l1_ratio : float, default=0.0
        Share of L1: the norm of a group weighs ``(1 - l1_ratio) * sqrt(size)``, L1 inside it
        `l1_ratio`.
    group_weights : array-like of shape (n_groups,), float or None, default=None
        Weights :math:`a_g` of the norms, in place of the roots of the sizes.
    l1_weights : array-like of shape (n_groups,), float or None, default=None
        Weights :math:`r_g` of L1 inside the groups, in place of `l1_ratio`.
    loss : str or term, default="logistic"
        "logistic" (or "log_loss"; multinomial for several classes), "squared_hinge" or
        "squared_error" (one against the rest), or a smooth term of `tamis.terms`.
    tol : float, default=1e-6
        The fit ends when the duality gap is at most `tol` times the loss of the best intercept
        alone.
    max_iter : int, default=100
        Most iterations: looks at all columns, each followed by a solve of a working set.
    positive : bool, default=False
        Whether weights must not be negative.
    fit_intercept : bool, default=True
        Whether to learn an intercept; it is never penalised.
    solver : {"auto", "fista", "blocks"}, default="auto"
        "blocks": working sets of groups, solved by block coordinate descent and Newton steps on the
        support, or by FISTA where they have too many weights of several outputs. "fista":
        accelerated proximal gradient steps with restart on all groups not yet screened. "auto" is
        "blocks".
    warm_start : bool, default=False
        Whether `fit` begins at the last solution, where it has as many weights.
    class_weight : dict, "balanced" or None, default=None
        Weights of the classes, multiplied into the row weights.

    Attributes
    ----------
    coef_ : ndarray of shape (n_outputs, n_features)
        Weights; zeros are exact.
    intercept_ : ndarray of shape (n_outputs,)
        Intercepts.
    support_ : ndarray of int
        Indices of the kept features; for several outputs the union.
    groups_ : list of ndarray
        Columns of each group, those of one column that no group names at the end.
    group_support_ : ndarray of int
        Numbers of the kept groups.
    alpha_, alpha_max_ : float
        Strength used, and the smallest that keeps nothing.
    dual_gap_, objective_ : float
        Duality gap and objective at the solution.
    n_iter_ : int
        Iterations made.
    history_ : list of dict
        Per iteration: objective, duality gap, groups with weights, groups screened.
    classes_ : ndarray
        Class labels; for a matrix of labels, their numbers.
    multilabel_ : bool
        Whether the targets were a 0/1 matrix of labels.
    n_features_in_ : int
        Number of columns.
    feature_names_in_ : ndarray of str
        Names of the columns, where X had them.

    See Also
    --------
    GroupLassoClassifierCV : Chooses the strength by cross-validation.
    GroupLassoRegressor : The same for numbers.

    References
    ----------
    M. Yuan and Y. Lin, "Model selection and estimation in regression with grouped variables",
    Journal of the Royal Statistical Society B 68, 2006, equation 2.1; N. Simon, J. Friedman, T.
    Hastie and R. Tibshirani, "A Sparse-Group Lasso", Journal of Computational and Graphical
    Statistics 22, 2013, equation 3; E. Ndiaye, O. Fercoq, A. Gramfort and J. Salmon, "Gap Safe
    Screening Rules for Sparsity Enforcing Penalties", Journal of Machine Learning Research 18,
    2017, theorem 6; G. Obozinski, L. Jacob and J.-P. Vert, "Group Lasso with Overlaps: the Latent
    Group Lasso approach", 2011, equation 4.

    Examples
    --------
    >>> import numpy as np
    >>> from tamis import GroupLassoClassifier
    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(200, 12))
    >>> y = X[:, :3].sum(axis=1) + 0.5 * rng.normal(size=200) > 0
    >>> model = GroupLassoClassifier(groups=np.arange(12) // 3, alpha=0.05).fit(X, y)
    >>> model.group_support_.tolist()
    [0]
    """

    _parameter_constraints: dict = CLASSES

    def __init__(
        self,
        groups=None,
        alpha="auto",
        l1_ratio=0.0,
        group_weights=None,
        l1_weights=None,
        *,
        loss="logistic",
        tol=1e-6,
        max_iter=100,
        positive=False,
        fit_intercept=True,
        solver="auto",
        warm_start=False,
        class_weight=None,
    ):
        self.groups = groups
        self.alpha = alpha
        self.l1_ratio = l1_ratio
        self.group_weights = group_weights
        self.l1_weights = l1_weights
        self.loss = loss
        self.tol = tol
        self.max_iter = max_iter
        self.positive = positive
        self.fit_intercept = fit_intercept
        self.solver = solver
        self.warm_start = warm_start
        self.class_weight = class_weight


class GroupLassoRegressor(BatchNumbers, GroupedColumns):
    r"""Batch regressor that keeps or drops whole groups of columns (group lasso, sparse group
    lasso).

    Minimises

    .. math:: \frac{1}{\sum_i s_i} \sum_i s_i\, \ell(w^T x_i + b, y_i) + \alpha \sum_g \big(a_g
    \|w_g\|_2 + r_g \|w_g\|_1\big)

    with :math:`a_g = (1 - \rho) \sqrt{d_g}` and :math:`r_g = \rho` (`l1_ratio`) for a group of
    :math:`d_g` columns. With several targets a group holds the weights of all of them. Where groups
    overlap, weights are sums of one vector a group, each with its own norm (the latent form): a
    union of groups is kept. The duality gap certifies the solution.

    Choose it for tables that fit into memory: one-hot columns, lags, pathways, where members stand
    or fall together. For streams, files and very wide sparse rows there is
    `OnlineGroupLassoRegressor`. Columns are not scaled: scale them if their units differ.

    Parameters
    ----------
    groups : list of array-like, array-like of shape (n_features,) or None, default=None
        Groups of columns: a list of arrays of column numbers or names, which may overlap; one label
        a column (-1: a group of its own; None: not penalised); or prefixes of the column names of a
        DataFrame. None makes every column a group.
    alpha : float or "auto", default="auto"
        Strength of the penalty. "auto" is a tenth of the smallest strength that keeps nothing.
    l1_ratio : float, default=0.0
        Share of L1: the norm of a group weighs ``(1 - l1_ratio) * sqrt(size)``, L1 inside it
        `l1_ratio`.
    group_weights : array-like of shape (n_groups,), float or None, default=None
        Weights :math:`a_g` of the norms, in place of the roots of the sizes.
    l1_weights : array-like of shape (n_groups,), float or None, default=None
        Weights :math:`r_g` of L1 inside the groups, in place of `l1_ratio`.
    loss : str or term, default="squared_error"
        "squared_error", "huber", or a smooth term of `tamis.terms`.
    tol : float, default=1e-6
        The fit ends when the duality gap is at most `tol` times the loss of the best intercept
        alone.
    max_iter : int, default=100
        Most iterations: looks at all columns, each followed by a solve of a working set.
    positive : bool, default=False
        Whether weights must not be negative.
    fit_intercept : bool, default=True
        Whether to learn an intercept; it is never penalised.
    solver : {"auto", "fista", "blocks"}, default="auto"
        "blocks": working sets of groups, solved by block coordinate descent and Newton steps on the
        support, or by FISTA where they have too many weights of several outputs. "fista":
        accelerated proximal gradient steps with restart on all groups not yet screened. "auto" is
        "blocks".
    warm_start : bool, default=False
        Whether `fit` begins at the last solution, where it has as many weights.

    Attributes
    ----------
    coef_ : ndarray of shape (n_features,) or (n_targets, n_features)
        Weights; zeros are exact.
    intercept_ : ndarray of shape (n_outputs,)
        Intercepts.
    support_ : ndarray of int
        Indices of the kept features; for several outputs the union.
    groups_ : list of ndarray
        Columns of each group, those of one column that no group names at the end.
    group_support_ : ndarray of int
        Numbers of the kept groups.
    alpha_, alpha_max_ : float
        Strength used, and the smallest that keeps nothing.
    dual_gap_, objective_ : float
        Duality gap and objective at the solution.
    n_iter_ : int
        Iterations made.
    history_ : list of dict
        Per iteration: objective, duality gap, groups with weights, groups screened.
    n_features_in_ : int
        Number of columns.
    feature_names_in_ : ndarray of str
        Names of the columns, where X had them.

    See Also
    --------
    GroupLassoRegressorCV : Chooses the strength by cross-validation.
    GroupLassoClassifier : The same for classes.

    References
    ----------
    M. Yuan and Y. Lin, "Model selection and estimation in regression with grouped variables",
    Journal of the Royal Statistical Society B 68, 2006, equation 2.1; N. Simon, J. Friedman, T.
    Hastie and R. Tibshirani, "A Sparse-Group Lasso", Journal of Computational and Graphical
    Statistics 22, 2013, equation 3; E. Ndiaye, O. Fercoq, A. Gramfort and J. Salmon, "Gap Safe
    Screening Rules for Sparsity Enforcing Penalties", Journal of Machine Learning Research 18,
    2017, theorem 6; G. Obozinski, L. Jacob and J.-P. Vert, "Group Lasso with Overlaps: the Latent
    Group Lasso approach", 2011, equation 4.

    Examples
    --------
    >>> import numpy as np
    >>> from tamis import GroupLassoRegressor
    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(100, 12))
    >>> y = X[:, :3] @ [1.0, -2.0, 1.5] + 0.1 * rng.normal(size=100)
    >>> model = GroupLassoRegressor(groups=np.arange(12) // 3, alpha=0.1).fit(X, y)
    >>> model.group_support_.tolist(), model.support_.tolist()
    ([0], [0, 1, 2])
    """

    _parameter_constraints: dict = NUMBERS

    def __init__(
        self,
        groups=None,
        alpha="auto",
        l1_ratio=0.0,
        group_weights=None,
        l1_weights=None,
        *,
        loss="squared_error",
        tol=1e-6,
        max_iter=100,
        positive=False,
        fit_intercept=True,
        solver="auto",
        warm_start=False,
    ):
        self.groups = groups
        self.alpha = alpha
        self.l1_ratio = l1_ratio
        self.group_weights = group_weights
        self.l1_weights = l1_weights
        self.loss = loss
        self.tol = tol
        self.max_iter = max_iter
        self.positive = positive
        self.fit_intercept = fit_intercept
        self.solver = solver
        self.warm_start = warm_start
