"""Regularized dual averaging (RDA)."""

from tamis.base.model_terms import combine_terms, resolve_loss, resolve_penalty
from tamis.base.parameters import (
    AUTO,
    NON_NEGATIVE,
    POSITIVE,
    Auto,
    TermLike,
    estimator,
    is_auto,
    loss_parameter,
    parameter,
)
from tamis.methods.sparse_online.estimator import (
    FirstOrderClassifier,
    FirstOrderRegressor,
    Penalised,
)
from tamis.terms.learning_rates import InverseSqrt, descent_eta
from tamis.terms.optimizers import DualAveraging

# Rows before automatic steps start to fall. Without a delay the first rows overshoot.
AUTO_DELAY = 256.0


@estimator
class _RDA(Penalised):
    r"""Regularized dual averaging: weights are a function of the sum of all gradients.

    Choose this {kind} for very sparse models that stay the same when rows are reordered; where
    error counts more, choose `FTRL{Kind}`. Its scale matters: with the published
    :math:`\gamma = 1 / \eta = 5000` the model stays empty on rows of unit norm, so the default
    depends on the data.

    Minimises over the rows of a stream

    .. math:: \frac{1}{n} \sum_i \ell(w^T x_i + b, y_i)
       + \alpha \Big(r \|w\|_1 + \frac{1 - r}{2} \|w\|_2^2\Big)

    by dual averaging: with the sum of all gradients :math:`G_t`, :math:`\lambda = \alpha r`, the
    soft threshold :math:`T` and :math:`\rho` the `fading_threshold`,

    .. math:: w_{t+1} = -\frac{\eta}{\sqrt t}\,
       T\big(G_t,\; \lambda t + \rho \sqrt t / \eta\big)

    (a ridge adds :math:`\alpha (1 - r) t` to the divisor). A weight is a function of the sum of its
    gradients, so that no penalties are pending.

    {parameters}

    {attributes}

    See Also
    --------
    FTRL{Kind} : One rate a feature; usually the lowest error.
    FOBOS{Kind} : Descent and shrinkage at every row.

    References
    ----------
    L. Xiao, "Dual Averaging Methods for Regularized Stochastic Learning and Online Optimization",
    Journal of Machine Learning Research 11, 2010, algorithms 1 and 2.
    """

    eta: float | Auto = parameter(
        "auto",
        [POSITIVE, AUTO],
        'Size of the steps, 1 over the gamma of the paper. "auto" is 16 over the loss\'s '
        "curvature (over 1/4 where it has none) over the squared mean norm of the rows so far, "
        "and during the first 256 rows less.",
    )
    fading_threshold: float = parameter(
        0.0,
        [NON_NEGATIVE],
        r"Extra threshold (rho in the paper), large at first, that fades as :math:`1 / \sqrt t`; "
        "in units of the weights.",
    )

    def _model(self):
        loss = resolve_loss(self)
        penalty, auto_alpha = resolve_penalty(self.alpha, self.l1_ratio, self.positive)
        automatic = is_auto(self.eta)
        learning_rate = (
            InverseSqrt(descent_eta(loss), AUTO_DELAY)
            if automatic
            else InverseSqrt(float(self.eta), 1.0)
        )
        terms = loss, penalty, DualAveraging(float(self.fading_threshold)), learning_rate
        return combine_terms(self, *terms, auto_eta=automatic, auto_alpha=auto_alpha)

    @property
    def resolved_params_(self):
        """Present values of the automatic constants; `eta` is 1 over the gamma of the paper."""
        constants = super().resolved_params_
        return constants | {"eta": constants["eta"] * max(self.t_, 1) ** 0.5}


@estimator
class RDAClassifier(_RDA, FirstOrderClassifier):
    """Sparse online classifier by regularized dual averaging (RDA).

    {family}

    Examples
    --------
    >>> from tamis import RDAClassifier
    >>> from tamis.datasets import make_text
    >>> X, y, planted = make_text(n_samples=2000, n_features=5000, random_state=0)
    >>> model = RDAClassifier(alpha=1e-3, random_state=0).fit(X[:1500], y[:1500])
    >>> model.score(X[1500:], y[1500:]) > 0.8
    True
    >>> len(model.support_) < 25  # of 5000, all of them planted:
    True
    >>> bool(set(model.support_.tolist()) <= set(planted.tolist()))
    True
    """

    loss: TermLike = loss_parameter("logistic")


@estimator
class RDARegressor(_RDA, FirstOrderRegressor):
    """Sparse online regressor by regularized dual averaging (RDA).

    {family}

    Examples
    --------
    >>> import numpy as np
    >>> from tamis import RDARegressor
    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(500, 100))
    >>> y = 3 * X[:, 0] - 2 * X[:, 1] + 0.1 * rng.normal(size=500)
    >>> model = RDARegressor(random_state=0).fit(X, y)
    >>> model.coef_[:2].round(1).tolist()
    [2.9, -1.9]
    """

    loss: TermLike = loss_parameter("squared_error")
