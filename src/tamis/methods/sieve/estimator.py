"""The sieve: few features, chosen without tuning, and nearly the same ones whatever the order of
the rows.
"""

from tamis.base.estimators.classifier import ClassStream, LikelyClassifier
from tamis.base.estimators.regressor import NumberStream
from tamis.base.parameters import TermLike, estimator, loss_parameter
from tamis.methods.sieve.selector import Sieve


@estimator
class SieveClassifier(ClassStream, LikelyClassifier, Sieve):
    r"""Sparse linear classifier that chooses its features and their number by itself: the sieve.

    Choose it first for wide data, such as text: there, untuned and in a second or so, it has had
    lower error than cross-validated L1, with few features. Rare classes are served too. On dense
    data of few columns, such as images, a tuned `FTRLClassifier` that keeps most columns has lower
    error. Counts of words should be scaled to rows of unit length first.

    Paths of averaged stochastic gradient descent minimise

    .. math:: \frac{1}{n} \sum_i \ell(w^T z_i + b, y_i)
       + \frac{\lambda}{n} \sum_i \sum_j |z_{ij} w_j|

    where z are the columns in units of their own: those with one value in more than half of the
    rows are measured from it, by the root mean square of their other entries, the rest are
    standardised. The penalty is on *contributions*: units of a column change nothing, and a row
    costs as much as its entries. Down a path of sizes the features with the largest pooled
    weights stay and the others leave. Groups of paths that never see one fold each give held-out
    scores for every size, under two base settings: conservative (short steps, strong penalty) and
    aggressive (long steps, weak penalty, both by the share of the rarer class). A line turns the
    scores into log odds, so that intercept and scale are right; then a smooth error, which counts
    the classes alike, says which base to take (aggressive when it wins row by row by more than a
    standard error) and where to stop: at the smallest size within `se` standard errors of the least
    error, the mean of what many draws of the rows would choose. Paths over all rows go there. Where
    neither the chosen size nor many sizes together are surely better than the share of the classes
    the model is empty, with a warning that says so.

    Its stability is that against chance: the same rows in any order give the same model to the bit,
    and other seeds nearly the same features. It does not cover a change of the data: of features
    chosen from other samples of the same source a third may differ. `StabilitySelector` looks at
    that.

    {parameters}

    {attributes}

    See Also
    --------
    FTRLClassifier : One pass, one rate a feature; for dense data, or if error is all that counts.
    SieveRegressor : The same for numbers.

    Notes
    -----
    `partial_fit` learns the models of all features in one pass and keeps a sample of the
    rows, on which all else runs whenever the number of rows seen (those of weight 0 left out) has
    passed a power of two by the end of a call, or `refine` is called. How rows are cut into calls
    matters only to those moments. Until the sample is full a model is a `fit` of all distinct rows;
    then it loses accuracy, for weights are relearnt from the sample; `train`, on rows that can be
    read twice, does not. A stream holds 48 bytes x (`n_folds` + 1) a column.

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


@estimator
class SieveRegressor(NumberStream, Sieve):
    r"""Sparse linear regressor that chooses its features and their number by itself: the sieve.

    Choose it for many columns, sparse or not, of which few matter, and where noise may have heavy
    tails. With few columns that all matter, use `FTRLRegressor` or a ridge regression. What its
    stability covers, and when a stream makes its models, is said at `SieveClassifier`.

    Paths of averaged stochastic gradient descent minimise

    .. math:: \frac{1}{n} \sum_i \ell(w^T z_i + b, u_i)
       + \frac{\lambda}{n} \sum_i \sum_j |z_{ij} w_j|

    where z are the columns as in `SieveClassifier` and u is y less its median, over 1.4826 times
    its median absolute deviation: strengths, and the width of the Huber loss, are in units of the
    spread of y. Steps are held back (implicit steps) where a long one would overshoot. Columns with
    entries in fewer than ten rows are left out unless these are alike: nobody knows how large such
    a column can get. The rest is as in `SieveClassifier`; sizes are chosen by the held-out loss,
    and what may be given up is a standard error of the difference to the least, row by row.

    {parameters}

    {attributes}

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
    >>> model = SieveRegressor(random_state=0).fit(X, y)
    >>> model.support_.tolist()
    [0, 1]
    >>> model.coef_[:2].round(1).tolist()
    [3.0, -2.0]
    """

    loss: TermLike = loss_parameter("huber", residual=True)
    _residual_loss = True
