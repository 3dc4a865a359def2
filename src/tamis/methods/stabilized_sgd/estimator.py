"""Stabilized truncated descent: many paths, bursts, votes, and features that leave for good."""

from tamis.base.estimators.classifier import ClassStream, LikelyClassifier
from tamis.base.estimators.regressor import NumberStream
from tamis.base.parameters import (
    ABOVE,
    AUTO,
    BOOL,
    NUMBER,
    SHARE,
    Auto,
    TermLike,
    estimator,
    is_auto,
    loss_parameter,
    parameter,
)
from tamis.methods.stabilized_sgd.partitions import fit_partitions
from tamis.methods.stabilized_sgd.stream import Setting, Stabilized


@estimator(kw_only=True)
class StabilizedSGD(Stabilized):
    r"""Stabilized models whose constants the user gives.

    Choose this {kind} to know which features survive under many orders of the rows
    (`selection_probability_`), or to compare with published work. It costs `n_paths` times a
    descent, and much of its accuracy comes from averaging the paths. Its weights are those of a
    truncated descent, hence shrunk; refit on `support_` where their size matters. For very sparse
    models `rejection`, `purge` and `burn_in` must be tuned (`StabilizedSGD{Kind}CV`), and
    `RDA{Kind}` keeps the same features more often.

    Several paths of descent walk the rows, each in its own order. After each burst of rows a path
    truncates the weights of the features met in it,

    .. math:: w_j \leftarrow \mathrm{sign}(w_j) \max(0, |w_j| - k_j g) ,

    where :math:`k_j` is the number of rows of the burst that have feature j: rare features are not
    pulled while they are away. After each stage of bursts the paths vote: a feature whose weight
    survived too seldom leaves all paths for good, and the gravity :math:`g` becomes a quantile of
    the stage's displacements :math:`|\Delta w_j| / k_j`. The model is the mean of the paths. No
    objective is minimised.

    {parameters}

    {attributes}

    See Also
    --------
    StabilizedSGD{Kind}CV : Tunes it inside the training rows.
    TruncatedGradient{Kind} : One path, one gravity, all features pulled alike.
    RDA{Kind} : Follows the mean of all gradients.

    Notes
    -----
    The burn-in is not in the paper, which treats classification; without it the model is often
    empty. A feature joins when it is first met and never comes back once purged. Several outputs
    (classes, one against the rest, labels or targets) are learnt each with its own features.

    References
    ----------
    Y. Ma and T. Zheng, "Stabilized Sparse Online Learning for Sparse Data", Journal of Machine
    Learning Research 18, 2017, algorithm 3.
    """

    rejection: float = parameter(
        0.7,
        [SHARE],
        "Gravity is set so that it exceeds this share of the last stage's displacements a row.",
    )
    purge: float = parameter(
        0.7,
        [SHARE],
        "A feature leaves for good if, of the bursts of a stage that met it, over all paths, less "
        "than this share left its weight nonzero.",
    )
    burn_in: float = parameter(
        1.0,
        [NUMBER],
        "Passes of plain descent before the first truncation; in a stream, whose length nobody "
        "knows, thousands of rows.",
    )
    eta: float | Auto = parameter(
        "auto",
        [ABOVE, AUTO],
        'Size of the steps, the same all along. "auto" is, over the squared mean norm of the '
        "path's rows so far (or the row's own, if that is longer), 16 for losses of bounded slope "
        "(hinge, logistic), and for others and in regression 0.5 over the loss's curvature. The "
        "intercept's is a 16th of that, without the norm.",
    )
    warm_start: bool = parameter(
        False, [BOOL], "Whether `fit` goes on from the present state; what was purged stays out."
    )

    def _setting(self) -> Setting:
        eta = None if is_auto(self.eta) else float(self.eta)
        return Setting(1.0, self.burn_in, self.rejection, self.purge, eta)

    def _fit_partitions(self, partitions, names, sweeps: int, stages: int | None) -> None:
        """Learn from all rows of partitions so many times, each visit in so many stages."""
        engine = fit_partitions(self, partitions, sweeps, stages)
        self.n_iter_, self.n_features_in_ = sweeps, engine.features
        self._targets, self._engine = partitions.counts.targets, engine
        for bundle in engine.bundles:
            self._check_finite(bundle)
        if not engine.count():
            self._warn_empty()


@estimator(kw_only=True)
class StabilizedSGDClassifier(ClassStream, LikelyClassifier, StabilizedSGD):
    """Sparse online classifier by stabilized truncated stochastic gradient descent.

    {family}

    Examples
    --------
    >>> from tamis import StabilizedSGDClassifier
    >>> from tamis.datasets import make_text
    >>> X, y, planted = make_text(n_samples=2000, n_features=5000, random_state=0)
    >>> model = StabilizedSGDClassifier(loss="hinge", rejection=0.95, random_state=0)
    >>> model.fit(X[:1500], y[:1500]).score(X[1500:], y[1500:]) > 0.7
    True
    >>> model.history_[-1]["kept"] < model.history_[0]["kept"]
    True
    >>> bool((model.selection_probability_[0, model.support_] > 0).all())
    True
    """

    loss: TermLike = loss_parameter("logistic")


@estimator(kw_only=True)
class StabilizedSGDRegressor(NumberStream, StabilizedSGD):
    """Sparse online regressor by stabilized truncated stochastic gradient descent.

    {family}

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

    loss: TermLike = loss_parameter(
        "squared_error",
        '"squared_error", "huber", "epsilon_insensitive", or a term of `tamis.terms`. The '
        'automatic step of "epsilon_insensitive" is in units of the target.',
    )
    _residual_loss = True
