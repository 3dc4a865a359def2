"""The sieve: select few features without tuning, nearly the same ones for any order of the rows."""

from tamis.base.estimators.classifier import ProbabilisticClassifier, StreamingClassifier
from tamis.base.estimators.regressor import StreamingRegressor
from tamis.base.parameters import TermLike, estimator, loss_parameter
from tamis.methods.sieve.selector import Sieve


@estimator
class SieveClassifier(StreamingClassifier, ProbabilisticClassifier, Sieve):
    r"""Sparse linear classifier that chooses its features and their number by itself: the sieve.

    Choose it first for wide data, such as text: there it has had a lower error than cross-validated
    L1, with few features, without tuning, in about a second. It also works with rare classes. On
    dense data of few columns, such as images, a tuned `FTRLClassifier` that keeps most columns has
    a lower error. Scale word counts to rows of unit length first.

    Paths of averaged stochastic gradient descent minimise

    .. math:: \frac{1}{n} \sum_i \ell(w^T z_i + b, y_i)
       + \frac{\lambda}{n} \sum_i \sum_j |z_{ij} w_j|

    where z are the scaled columns: a column with one value in more than half of the rows is shifted
    by this value and divided by the root mean square of its other entries; the other columns are
    standardised. The penalty is on *contributions*: the units of a column do not matter, and a step
    costs as much as the entries of its row. Features are eliminated down a path of sizes; those
    with the largest pooled weights stay. Groups of paths that each learn without one fold give
    held-out scores for every size, under two settings: conservative (short steps, strong penalty)
    and aggressive (long steps, weak penalty, both scaled by the fraction of the rarer class).
    Calibration turns the scores into log odds. A smooth error, which counts the classes alike, then
    chooses the setting (aggressive if its error is lower by more than a standard error of the
    paired difference) and the size: the smallest one within `se` standard errors of the smallest
    error, averaged over bootstrap draws of the rows. Paths over all rows go down to that size. If
    neither the chosen size nor the small sizes together predict significantly better than the class
    frequencies, the model is empty, with a warning.

    The selection is stable against randomness of the algorithm: the same rows in any order give
    bitwise the same model, and other seeds nearly the same features. This does not cover a change
    of the data: a third of the features may differ between samples of the same source.
    `StabilitySelector` measures that.

    {parameters}

    {attributes}

    See Also
    --------
    FTRLClassifier : One pass, one rate a feature; for dense data, or if only the error matters.
    SieveRegressor : The same for numeric targets.

    Notes
    -----
    `partial_fit` learns the models of all features in one pass and stores a sample of the rows. The
    sample is fitted at the end of a call in which the number of rows (without those of weight 0)
    has passed a power of two, and when `refine` is called. How rows are cut into calls affects
    nothing else. Until the sample is full, the model is a `fit` of all distinct rows; afterwards it
    loses accuracy, because the weights are learned from the sample. `train`, on rows that can be
    read twice, avoids this. A stream takes 48 bytes x (`n_folds` + 1) for each column.

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
class SieveRegressor(StreamingRegressor, Sieve):
    r"""Sparse linear regressor that chooses its features and their number by itself: the sieve.

    Choose it for many columns, sparse or dense, of which few matter, also where the noise has heavy
    tails. With few columns that all matter, use `FTRLRegressor` or a ridge regression. See
    `SieveClassifier` for its stability and for streams.

    Paths of averaged stochastic gradient descent minimise

    .. math:: \frac{1}{n} \sum_i \ell(w^T z_i + b, u_i)
       + \frac{\lambda}{n} \sum_i \sum_j |z_{ij} w_j|

    where z are the scaled columns as in `SieveClassifier`, and u is y minus its median, divided by
    1.4826 times its median absolute deviation: strengths, and the width of the Huber loss, do not
    depend on the scale of y. Steps are implicit where an explicit one would overshoot. Columns with
    entries in fewer than ten rows are left out unless these entries are equal, because the range of
    such a column is unknown. The rest is as in `SieveClassifier`; sizes are chosen by the held-out
    loss, and `se` counts standard errors of the paired difference to the smallest loss.

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
