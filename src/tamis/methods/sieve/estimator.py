"""The sieve: few features, chosen without tuning, and nearly the same ones whatever the order of
the rows.
"""

import numpy as np
from sklearn.utils._param_validation import StrOptions

from tamis.base.classifier import Classes
from tamis.base.regressor import Numbers
from tamis.methods.sieve.fit import class_units, number_units
from tamis.methods.sieve.model import CONSTRAINTS, SieveModel

CLASS_CONSTRAINTS = {**CONSTRAINTS, "class_weight": [dict, StrOptions({"balanced"}), None]}


class SieveClassifier(Classes, SieveModel):
    r"""Sparse linear classifier that chooses its features and their number by itself: the sieve.

    Paths of averaged stochastic gradient descent minimise

    .. math:: \frac{1}{n} \sum_i \ell(w^T z_i + b, y_i) + \frac{\lambda}{n} \sum_i \sum_j |z_{ij}
    w_j|

    where z are the columns in units of their root mean square (columns filled in more than 90 % of
    the rows are centred as well). The penalty is on *contributions*: rescaling a column changes
    nothing, and a row costs as much as its nonzeros. Down a ladder of sizes the features with the
    largest pooled weights stay and the others leave. Groups of paths that never see one fold each
    give a smooth held-out error for every size, under two base settings: calm (short steps, strong
    penalty) and bold (long steps, weak penalty, both by the share of the rarer class). The bold one
    is taken when it wins, row by row and in soft and 0/1 error, by more than a standard error; it
    runs alone, and errors are balanced over the classes, when the rarer class has less than a fifth
    of the rows. The smallest size within `se` standard errors of the least error is chosen, and
    paths over all rows go there.

    It is meant for sparse data of many columns, such as text: there, untuned and in a second or so,
    it has had lower error than cross-validated L1 with few features. Rare classes are served too,
    with more features. On dense data of few columns, such as images, a tuned `FTRLClassifier` that
    keeps most columns has lower error. Counts of words should be scaled to rows of unit length
    first.

    Its stability is that against chance: the same rows in any order give the same model to the bit,
    and other seeds nearly the same features. It does not cover a change of the data: of features
    chosen from other samples of the same source a third may differ. `StabilitySelector` looks at
    that.

    Parameters
    ----------
    loss : str or term, default="logistic"
        "logistic" (or "log_loss"), "hinge", "squared_hinge", or another loss or term of
        `tamis.terms`.
    n_features : "auto", int or float, default="auto"
        How many features to keep. "auto" takes the fewest whose held-out error is within `se`
        standard errors of the least; an int is a number of features, a float between 0 and 1 a
        share of all columns.
    se : float, default=1.0
        How many standard errors of held-out error to give up for fewer features. 0 takes the size
        of least error.
    strength : "auto" or float, default="auto"
        Penalty on contributions with all features, between 0 and 1. "auto" is 0.1 (calm base), 0.02
        (bold base) or 0.005 (bold base, more than 15 % of the entries filled).
    n_paths : "auto" or int, default="auto"
        Paths over all rows, averaged. "auto" is 8 (calm base) or 40 (bold base).
    n_folds : int, default=5
        Number of folds. The fold of a row comes from its content: equal rows share one.
    min_features : int, default=4
        Least number of features that "auto" may choose.
    per_class : bool, default=False
        With several classes or labels, whether each has a support of its own. By default one
        support serves all.
    fit_intercept : bool, default=True
        Whether to learn an intercept; it is neither penalised nor counted. Without it no column is
        centred.
    n_sample : int, default=20000
        Rows that `partial_fit` keeps for `refine`.
    class_weight : dict, "balanced" or None, default=None
        Weights of the classes, multiplied into the row weights. "balanced" counts the whole of y in
        `fit`, and in `partial_fit` the rows so far, the present one included.
    n_jobs : int or None, default=None
        Threads over the paths; the result does not depend on it.
    random_state : int, RandomState instance or None, default=None
        Seed of the paths over all rows. The fold groups, hence base and size, do not depend on it.

    Attributes
    ----------
    coef_ : ndarray of shape (n_outputs, n_features)
        Weights in the units of X; zeros are exact. Made on demand.
    intercept_ : ndarray of shape (n_outputs,)
        Intercepts.
    support_ : ndarray of int
        Indices of the kept features; for several outputs the union.
    selection_probability_ : ndarray of shape (n_outputs, n_features)
        Share of the fold groups that kept the feature at the level of the chosen size. The groups
        share most of their rows: no bound on false selections follows.
    path_ : dict of ndarray
        The ladder: "n_features", "soft_error" (which the size is chosen by) and "error" (0/1), both
        on rows that the paths did not see; nan, with a warning, where no row could be held out.
        With `per_class` a list of such dicts; so are `history_` and `resolved_params_`.
    history_ : list of dict
        What the paths over all rows did, level by level.
    n_iter_ : int
        Passes that each of them made.
    resolved_params_ : dict
        Base, constants and size that were chosen.
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
    FTRLClassifier : One pass, one rate a feature; for dense data, or if error is all that counts.
    SieveRegressor : The same for numbers.

    Notes
    -----
    `partial_fit` learns the models of the top of the ladder in one pass and keeps a bounded sample
    of the rows; the ladder itself runs on the sample, when coefficients or predictions are asked
    for and the rows have doubled, or when `refine` is called. Until the sample is full that is a
    `fit` of all distinct rows. It holds 48 bytes x (`n_folds` + 1) a column.

    References
    ----------
    The method is tamis's own. Its penalty is per occurrence, as is the truncation of Y. Ma and T.
    Zheng, "Stabilized Sparse Online Learning for Sparse Data", Journal of Machine Learning Research
    18, 2018.

    Examples
    --------
    >>> from tamis import SieveClassifier
    >>> from tamis.datasets import make_text
    >>> X, y, planted = make_text(n_samples=2000, n_features=5000, random_state=0)
    >>> model = SieveClassifier(random_state=0).fit(X[:1500], y[:1500])
    >>> model.score(X[1500:], y[1500:]) > 0.8
    True
    >>> len(model.support_) < 500
    True
    >>> model.transform(X).shape[1] == len(model.support_)
    True
    """

    _parameter_constraints: dict = CLASS_CONSTRAINTS

    def __init__(
        self,
        loss="logistic",
        n_features="auto",
        se=1.0,
        strength="auto",
        n_paths="auto",
        n_folds=5,
        min_features=4,
        *,
        per_class=False,
        fit_intercept=True,
        n_sample=20000,
        class_weight=None,
        n_jobs=None,
        random_state=None,
    ):
        self.loss = loss
        self.n_features = n_features
        self.se = se
        self.strength = strength
        self.n_paths = n_paths
        self.n_folds = n_folds
        self.min_features = min_features
        self.per_class = per_class
        self.fit_intercept = fit_intercept
        self.n_sample = n_sample
        self.class_weight = class_weight
        self.n_jobs = n_jobs
        self.random_state = random_state

    def _units(self, targets, weights):
        return class_units(self._outputs())


class SieveRegressor(Numbers, SieveModel):
    r"""Sparse linear regressor that chooses its features and their number by itself: the sieve.

    Paths of averaged stochastic gradient descent minimise

    .. math:: \frac{1}{n} \sum_i \ell(w^T z_i + b, u_i) + \frac{\lambda}{n} \sum_i \sum_j |z_{ij}
    w_j|

    where z are the columns in units of their root mean square (columns filled in more than 90 % of
    the rows are centred as well) and u is y less its median, over 1.4826 times its median absolute
    deviation: strengths, and the width of a Huber loss, are in units of the spread of y. Steps are
    held back (implicit steps) where a long one would overshoot. The rest is as in
    `SieveClassifier`; sizes are chosen by the held-out loss.

    Choose it for many columns, sparse or not, of which few matter. With few columns that all
    matter, use `FTRLRegressor` or a ridge regression. What its stability covers is said at
    `SieveClassifier`.

    Parameters
    ----------
    loss : str or term, default="squared_error"
        "squared_error", "huber", "epsilon_insensitive", or a term of `tamis.terms`.
    n_features : "auto", int or float, default="auto"
        How many features to keep. "auto" takes the fewest whose held-out loss is within `se`
        standard errors of the least; an int is a number of features, a float between 0 and 1 a
        share of all columns.
    se : float, default=1.0
        How many standard errors of held-out loss to give up for fewer features. 0 takes the size of
        least loss.
    strength : "auto" or float, default="auto"
        Penalty on contributions with all features, between 0 and 1. "auto" is 0.1 (calm base), 0.02
        (bold base) or 0.005 (bold base, more than 15 % of the entries filled).
    n_paths : "auto" or int, default="auto"
        Paths over all rows, averaged. "auto" is 8 (calm base) or 40 (bold base).
    n_folds : int, default=5
        Number of folds. The fold of a row comes from its content: equal rows share one.
    min_features : int, default=4
        Least number of features that "auto" may choose.
    per_class : bool, default=False
        With several targets, whether each has a support of its own. By default one support serves
        all.
    fit_intercept : bool, default=True
        Whether to learn an intercept; it is neither penalised nor counted. Without it nothing is
        centred.
    n_sample : int, default=20000
        Rows that `partial_fit` keeps for `refine`.
    n_jobs : int or None, default=None
        Threads over the paths; the result does not depend on it.
    random_state : int, RandomState instance or None, default=None
        Seed of the paths over all rows. The fold groups, hence base and size, do not depend on it.

    Attributes
    ----------
    coef_ : ndarray of shape (n_features,) or (n_targets, n_features)
        Weights in the units of X and y; zeros are exact. Made on demand.
    intercept_ : ndarray of shape (n_targets,)
        Intercepts.
    support_ : ndarray of int
        Indices of the kept features; for several targets the union.
    selection_probability_ : ndarray, shaped as `coef_`
        Share of the fold groups that kept the feature at the level of the chosen size.
    path_ : dict of ndarray
        The ladder: "n_features", "soft_error" (mean loss in standard units, which the size is
        chosen by) and "error" (mean absolute error), both on rows that the paths did not see; nan,
        with a warning, where no row could be held out. With `per_class` a list of such dicts.
    history_ : list of dict
        What the paths over all rows did, level by level.
    n_iter_ : int
        Passes that each of them made.
    resolved_params_ : dict
        Base, constants and size that were chosen.
    n_features_in_ : int
        Number of columns.
    feature_names_in_ : ndarray of str
        Names of the columns, where X had them.

    See Also
    --------
    FTRLRegressor : One pass, one rate a feature.
    SieveClassifier : The same for classes.

    References
    ----------
    The method is tamis's own; see `SieveClassifier`.

    Examples
    --------
    >>> import numpy as np
    >>> from tamis import SieveRegressor
    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(500, 100))
    >>> y = 3 * X[:, 0] - 2 * X[:, 1] + 0.1 * rng.normal(size=500)
    >>> model = SieveRegressor(min_features=1, random_state=0).fit(X, y)
    >>> model.support_.tolist()
    [0, 1]
    >>> model.coef_[:2].round(1).tolist()
    [3.0, -2.0]
    """

    _parameter_constraints: dict = CONSTRAINTS

    def __init__(
        self,
        loss="squared_error",
        n_features="auto",
        se=1.0,
        strength="auto",
        n_paths="auto",
        n_folds=5,
        min_features=4,
        *,
        per_class=False,
        fit_intercept=True,
        n_sample=20000,
        n_jobs=None,
        random_state=None,
    ):
        self.loss = loss
        self.n_features = n_features
        self.se = se
        self.strength = strength
        self.n_paths = n_paths
        self.n_folds = n_folds
        self.min_features = min_features
        self.per_class = per_class
        self.fit_intercept = fit_intercept
        self.n_sample = n_sample
        self.n_jobs = n_jobs
        self.random_state = random_state

    def _units(self, targets, weights):
        return number_units(np.asarray(targets), weights, self.fit_intercept)
