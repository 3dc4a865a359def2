"""Batch group lasso that chooses its strength by cross-validation and the one-standard-error rule."""

from tamis.methods.groups.search import GRIDS, WITHOUT, Tuned
from tamis.solvers.block_descent.estimator import GROUPING
from tamis.solvers.block_descent.targets import CLASS_WEIGHT, BatchClasses, BatchNumbers

NUMBERS = {**GRIDS, **GROUPING, **WITHOUT}
CLASSES = {**NUMBERS, **CLASS_WEIGHT}


class GroupLassoClassifierCV(BatchClasses, Tuned):
    r"""Batch classifier that keeps or drops whole groups of columns, tuned by cross-validation
    (group lasso, sparse group lasso).

    Minimises, for every strength of a falling grid and on every fold,

    .. math:: \frac{1}{\sum_i s_i} \sum_i s_i\, \ell(w^T x_i + b, y_i) + \alpha \sum_g \big(a_g
    \|w_g\|_2 + r_g \|w_g\|_1\big)

    each solution begun at the last one, and takes the largest strength whose held-out loss is
    within `se` standard errors of the least: at the least loss itself too many groups are kept. All
    rows are then fitted along the grid.

    Choose it over `GroupLassoClassifier` whenever the groups that are kept matter. `se=0` is for
    prediction alone.

    Parameters
    ----------
    groups : list of array-like, array-like of shape (n_features,) or None, default=None
        Groups of columns: a list of arrays of column numbers or names, which may overlap; one label
        a column (-1: a group of its own; None: not penalised); or prefixes of the column names of a
        DataFrame. None makes every column a group.
    l1_ratio : float, default=0.0
        Share of L1: the norm of a group weighs ``(1 - l1_ratio) * sqrt(size)``, L1 inside it
        `l1_ratio`.
    group_weights : array-like of shape (n_groups,), float or None, default=None
        Weights :math:`a_g` of the norms, in place of the roots of the sizes.
    l1_weights : array-like of shape (n_groups,), float or None, default=None
        Weights :math:`r_g` of L1 inside the groups, in place of `l1_ratio`.
    alphas : int or array-like, default=100
        Strengths, or how many of them: geometric, from the smallest that keeps nothing to a
        hundredth of it (a twentieth with more columns than rows).
    cv : int, splitter or iterable, default=5
        Folds.
    se : float, default=1.0
        How many standard errors of held-out loss to give up for fewer groups. 0 takes the strength
        of least loss.
    n_jobs : int or None, default=None
        Folds at a time, by joblib.
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
    path_ : dict of ndarray
        Solutions of all rows along all strengths, as the method `path` gives them.
    cv_results_ : dict
        "alpha", "split_test_loss" of shape (n_alphas, n_folds), "mean_test_loss" and "limit", the
        least mean loss and `se` standard errors.
    best_index_ : int
        Place of `alpha_` among the strengths.
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
    GroupLassoClassifier : The model itself.
    GroupLassoRegressorCV : The same for numbers.

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
    >>> from tamis import GroupLassoClassifierCV
    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(200, 12))
    >>> y = X[:, :3].sum(axis=1) + 0.5 * rng.normal(size=200) > 0
    >>> model = GroupLassoClassifierCV(groups=np.arange(12) // 3, alphas=10, cv=3).fit(X, y)
    >>> 0 in model.group_support_, len(model.group_support_) < 4
    (True, True)
    """

    _parameter_constraints: dict = CLASSES

    def __init__(
        self,
        groups=None,
        l1_ratio=0.0,
        group_weights=None,
        l1_weights=None,
        alphas=100,
        cv=5,
        se=1.0,
        n_jobs=None,
        *,
        loss="logistic",
        tol=1e-6,
        max_iter=100,
        positive=False,
        fit_intercept=True,
        solver="auto",
        class_weight=None,
    ):
        self.groups = groups
        self.l1_ratio = l1_ratio
        self.group_weights = group_weights
        self.l1_weights = l1_weights
        self.alphas = alphas
        self.cv = cv
        self.se = se
        self.n_jobs = n_jobs
        self.loss = loss
        self.tol = tol
        self.max_iter = max_iter
        self.positive = positive
        self.fit_intercept = fit_intercept
        self.solver = solver
        self.class_weight = class_weight


class GroupLassoRegressorCV(BatchNumbers, Tuned):
    r"""Batch regressor that keeps or drops whole groups of columns, tuned by cross-validation (group
    lasso, sparse group lasso).

    Minimises, for every strength of a falling grid and on every fold,

    .. math:: \frac{1}{\sum_i s_i} \sum_i s_i\, \ell(w^T x_i + b, y_i) + \alpha \sum_g \big(a_g
    \|w_g\|_2 + r_g \|w_g\|_1\big)

    each solution begun at the last one, and takes the largest strength whose held-out loss is
    within `se` standard errors of the least: at the least loss itself too many groups are kept. All
    rows are then fitted along the grid.

    Choose it over `GroupLassoRegressor` whenever the groups that are kept matter. `se=0` is for
    prediction alone.

    Parameters
    ----------
    groups : list of array-like, array-like of shape (n_features,) or None, default=None
        Groups of columns: a list of arrays of column numbers or names, which may overlap; one label
        a column (-1: a group of its own; None: not penalised); or prefixes of the column names of a
        DataFrame. None makes every column a group.
    l1_ratio : float, default=0.0
        Share of L1: the norm of a group weighs ``(1 - l1_ratio) * sqrt(size)``, L1 inside it
        `l1_ratio`.
    group_weights : array-like of shape (n_groups,), float or None, default=None
        Weights :math:`a_g` of the norms, in place of the roots of the sizes.
    l1_weights : array-like of shape (n_groups,), float or None, default=None
        Weights :math:`r_g` of L1 inside the groups, in place of `l1_ratio`.
    alphas : int or array-like, default=100
        Strengths, or how many of them: geometric, from the smallest that keeps nothing to a
        hundredth of it (a twentieth with more columns than rows).
    cv : int, splitter or iterable, default=5
        Folds.
    se : float, default=1.0
        How many standard errors of held-out loss to give up for fewer groups. 0 takes the strength
        of least loss.
    n_jobs : int or None, default=None
        Folds at a time, by joblib.
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
    path_ : dict of ndarray
        Solutions of all rows along all strengths, as the method `path` gives them.
    cv_results_ : dict
        "alpha", "split_test_loss" of shape (n_alphas, n_folds), "mean_test_loss" and "limit", the
        least mean loss and `se` standard errors.
    best_index_ : int
        Place of `alpha_` among the strengths.
    n_features_in_ : int
        Number of columns.
    feature_names_in_ : ndarray of str
        Names of the columns, where X had them.

    See Also
    --------
    GroupLassoRegressor : The model itself.
    GroupLassoClassifierCV : The same for classes.

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
    >>> from tamis import GroupLassoRegressorCV
    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(100, 12))
    >>> y = X[:, :3] @ [1.0, -2.0, 1.5] + 0.1 * rng.normal(size=100)
    >>> model = GroupLassoRegressorCV(groups=np.arange(12) // 3, alphas=10, cv=3).fit(X, y)
    >>> model.group_support_.tolist(), model.support_.tolist()
    ([0], [0, 1, 2])
    """

    _parameter_constraints: dict = NUMBERS

    def __init__(
        self,
        groups=None,
        l1_ratio=0.0,
        group_weights=None,
        l1_weights=None,
        alphas=100,
        cv=5,
        se=1.0,
        n_jobs=None,
        *,
        loss="squared_error",
        tol=1e-6,
        max_iter=100,
        positive=False,
        fit_intercept=True,
        solver="auto",
    ):
        self.groups = groups
        self.l1_ratio = l1_ratio
        self.group_weights = group_weights
        self.l1_weights = l1_weights
        self.alphas = alphas
        self.cv = cv
        self.se = se
        self.n_jobs = n_jobs
        self.loss = loss
        self.tol = tol
        self.max_iter = max_iter
        self.positive = positive
        self.fit_intercept = fit_intercept
        self.solver = solver
