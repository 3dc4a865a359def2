"""Stabilized truncated descent: many paths, bursts, votes, and features that leave for good."""

from tamis.base.classifier import Classes
from tamis.base.regressor import Numbers
from tamis.methods.stabilized.stream import StabilizedLinear, constructed


@constructed(loss="logistic")
class StabilizedSGDClassifier(Classes, StabilizedLinear):
    r"""Sparse online classifier by stabilized truncated stochastic gradient descent.

    Several paths of descent walk the rows, each in its own order. After each burst of rows a path
    truncates the weights of the features met in it,

    .. math:: w_j \leftarrow \mathrm{sign}(w_j) \max(0, |w_j| - k_j g) ,

    where :math:`k_j` is the number of rows of the burst that have feature j: rare features are not
    pulled while they are away. After each stage of bursts the paths vote: a feature whose weight
    survived too seldom leaves all paths for good, and the gravity :math:`g` becomes a quantile of
    the stage's displacements :math:`|\Delta w_j| / k_j`. The model is the mean of the paths. No
    objective is minimised.

    Choose it to know which features survive under many orders of the rows
    (`selection_probability_`), or to compare with published work. It costs `n_paths` times a
    descent. Much of its accuracy comes from averaging the paths; for very sparse models
    `rejection`, `purge` and `burn_in` must be tuned (`StabilizedSGDClassifierCV`), and
    `RDAClassifier` keeps the same features more often.

    Parameters
    ----------
    loss : str or term, default="logistic"
        "hinge", "squared_hinge", "logistic" (or "log_loss"), "squared_error", "huber",
        "epsilon_insensitive", or a term of `tamis.terms`.
    {shared}

    Attributes
    ----------
    {attributes}

    See Also
    --------
    StabilizedSGDClassifierCV : Tunes it inside the training rows.
    TruncatedGradientClassifier : One path, one gravity, all features pulled alike.
    RDAClassifier : Follows the mean of all gradients.

    Notes
    -----
    The burn-in is not in the paper; without it the model is often empty. A feature joins when it is
    first met and never comes back once purged. Several classes are learnt one against the rest,
    each with its own features.

    References
    ----------
    Y. Ma and T. Zheng, "Stabilized Sparse Online Learning for Sparse Data", Journal of Machine
    Learning Research 18, 2017, algorithm 3.

    Examples
    --------
    >>> from tamis import StabilizedSGDClassifier
    >>> from tamis.datasets import make_text
    >>> X, y, planted = make_text(n_samples=2000, n_features=5000, random_state=0)
    >>> model = StabilizedSGDClassifier(loss="hinge", rejection=0.95, random_state=0).fit(X[:1500], y[:1500])
    >>> model.score(X[1500:], y[1500:]) > 0.7
    True
    >>> model.history_[-1]["kept"] < model.history_[0]["kept"]
    True
    >>> bool((model.selection_probability_[0, model.support_] > 0).all())
    True
    """


@constructed(loss="squared_error")
class StabilizedSGDRegressor(Numbers, StabilizedLinear):
    r"""Sparse online regressor by stabilized truncated stochastic gradient descent.

    Several paths of descent walk the rows, each in its own order. After each burst of rows a path
    truncates the weights of the features met in it,

    .. math:: w_j \leftarrow \mathrm{sign}(w_j) \max(0, |w_j| - k_j g) ,

    where :math:`k_j` is the number of rows of the burst that have feature j: rare features are not
    pulled while they are away. After each stage of bursts the paths vote: a feature whose weight
    survived too seldom leaves all paths for good, and the gravity :math:`g` becomes a quantile of
    the stage's displacements :math:`|\Delta w_j| / k_j`. The model is the mean of the paths. No
    objective is minimised.

    Choose it to know which features survive under many orders of the rows
    (`selection_probability_`). It costs `n_paths` times a descent, and its weights are those of a
    truncated descent, hence shrunk; refit on `support_` where their size matters.

    Parameters
    ----------
    loss : str or term, default="squared_error"
        "squared_error", "huber", "epsilon_insensitive", or a term of `tamis.terms`. The automatic
        step of "epsilon_insensitive" is in units of the target.
    {shared}

    Attributes
    ----------
    {attributes}

    See Also
    --------
    StabilizedSGDRegressorCV : Tunes it inside the training rows.
    TruncatedGradientRegressor : One path, one gravity, all features pulled alike.
    RDARegressor : Follows the mean of all gradients.

    Notes
    -----
    The burn-in is not in the paper, which treats classification. A feature joins when it is first
    met and never comes back once purged.

    References
    ----------
    Y. Ma and T. Zheng, "Stabilized Sparse Online Learning for Sparse Data", Journal of Machine
    Learning Research 18, 2017, algorithm 3.

    Examples
    --------
    >>> import numpy as np
    >>> from tamis import StabilizedSGDRegressor
    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(500, 100))
    >>> y = 3 * X[:, 0] - 2 * X[:, 1] + 0.1 * rng.normal(size=500)
    >>> model = StabilizedSGDRegressor(random_state=0).fit(X, y)
    >>> model.coef_[:2].round(1).tolist()
    [3.0, -2.0]
    >>> len(model.support_) < 50
    True
    """
