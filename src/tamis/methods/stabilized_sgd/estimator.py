"""Stabilized truncated stochastic gradient descent: the public classes."""

from tamis.base.estimators.classifier import ProbabilisticClassifier, StreamingClassifier
from tamis.base.estimators.regressor import StreamingRegressor
from tamis.base.parameters import (
    AUTO,
    BOOL,
    NON_NEGATIVE,
    POSITIVE,
    UNIT_INTERVAL,
    Auto,
    TermLike,
    estimator,
    is_auto,
    loss_parameter,
    parameter,
)
from tamis.methods.stabilized_sgd.partitions import fit_partitions
from tamis.methods.stabilized_sgd.stream import Stabilized, StabilizedSetting


@estimator(kw_only=True)
class StabilizedSGD(Stabilized):
    r"""Stabilized models with fixed parameters.

    Choose this {kind} to know which features survive under many orders of the rows
    (`selection_probability_`), or to compare with published work. It costs `n_paths` times one
    descent, and much of its accuracy comes from averaging the paths. Truncation shrinks the
    weights; refit on `support_` where their size matters. For very sparse models `rejection`,
    `purge` and `burn_in` must be tuned (`StabilizedSGD{Kind}CV`), and `RDA{Kind}` selects the same
    features more often.

    Several paths of descent run over the rows, each in its own order. After each burst of rows a
    path truncates the weights of the features in it,

    .. math:: w_j \leftarrow \mathrm{sign}(w_j) \max(0, |w_j| - k_j g) ,

    where :math:`k_j` is the number of rows of the burst that have feature j: features are not
    shrunk by rows that lack them. After each stage of bursts the paths vote: a feature whose weight
    survived too few bursts is purged from all paths for good, and the gravity :math:`g` becomes a
    quantile of the stage's displacements :math:`|\Delta w_j| / k_j`. The model is the mean of the
    paths. No objective is minimised.

    {parameters}

    {attributes}

    See Also
    --------
    StabilizedSGD{Kind}CV : Tunes the parameters by cross-validation.
    TruncatedGradient{Kind} : One path, one gravity, the same shrinkage for all features.
    RDA{Kind} : Regularized dual averaging, which uses the mean of all gradients.

    Notes
    -----
    The burn-in is not in the paper, which treats classification; without it the model is often
    empty. A feature is added at its first occurrence and never returns after a purge. Each of
    several outputs (classes, one against the rest, labels or targets) has its own features.

    References
    ----------
    Y. Ma and T. Zheng, "Stabilized Sparse Online Learning for Sparse Data", Journal of Machine
    Learning Research 18, 2017, algorithm 3.
    """

    rejection: float = parameter(
        0.7,
        [UNIT_INTERVAL],
        "Gravity is the quantile of the last stage's displacements for each row at this fraction.",
    )
    purge: float = parameter(
        0.7,
        [UNIT_INTERVAL],
        "A feature is purged for good if less than this fraction of the bursts of a stage that "
        "met it, over all paths, left its weight nonzero.",
    )
    burn_in: float = parameter(
        1.0,
        [NON_NEGATIVE],
        "Passes of plain descent before the first truncation; in a stream, whose length is "
        "unknown, thousands of rows.",
    )
    eta: float | Auto = parameter(
        "auto",
        [POSITIVE, AUTO],
        'Constant step size. "auto" is 16 for losses with a bounded gradient (hinge, logistic), '
        "and 0.5 over the curvature of the loss for others and in regression, divided by the "
        "squared mean norm of the path's rows so far (or the norm of the row, if that is larger). "
        "The step of the intercept is a 16th of that, without the norm.",
    )
    warm_start: bool = parameter(
        False, [BOOL], "Whether `fit` continues from the present state; purged features stay out."
    )

    def _tunable_params(self) -> StabilizedSetting:
        """Return the user's burn-in, rejection, purge, and step size (None is automatic)."""
        eta = None if is_auto(self.eta) else float(self.eta)
        return StabilizedSetting(1.0, self.burn_in, self.rejection, self.purge, eta)

    def _fit_partitions(self, partitions, names, sweeps: int, stages: int | None) -> None:
        """Fit rows that lie in partitions, in `sweeps` passes.

        Every visit of a partition has `stages` segments (None: of about 100 rows), each of which
        ends with a vote. Column `names` have no effect.
        """
        state = fit_partitions(self, partitions, sweeps, stages)
        self.n_iter_, self.n_features_in_ = sweeps, state.features
        self._targets, self._solver_state = partitions.counts.targets, state
        for bundle in state.bundles:
            self._check_finite(bundle)
        if not state.count():
            self._warn_empty()


@estimator(kw_only=True)
class StabilizedSGDClassifier(StreamingClassifier, ProbabilisticClassifier, StabilizedSGD):
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
class StabilizedSGDRegressor(StreamingRegressor, StabilizedSGD):
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
