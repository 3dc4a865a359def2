"""Follow the regularized leader, proximal (FTRL): one learning rate a feature."""

from tamis.base.model_terms import (
    AUTO_FTRL_ETA,
    combine_terms,
    resolve_learning_rate,
    resolve_loss,
    resolve_penalty,
)
from tamis.base.parameters import (
    AUTO,
    NON_NEGATIVE,
    POSITIVE,
    Auto,
    TermLike,
    estimator,
    loss_parameter,
    parameter,
)
from tamis.methods.sparse_online.estimator import (
    FirstOrderClassifier,
    FirstOrderRegressor,
    Penalised,
)
from tamis.terms.optimizers import FTRL


@estimator
class _FTRL(Penalised):
    r"""Follow the regularized leader, proximal, with one learning rate a feature.

    Choose this {kind} first for streams: on text and other sparse data it usually has the lowest
    error of this family and few features, with its defaults. Where rows can be read more than once,
    `Sieve{Kind}` selects fewer features, and chooses their number. A step costs about twice that of
    `RDA{Kind}`, and the state takes 16 bytes a feature.

    Minimises over the rows of a stream

    .. math:: \frac{1}{n} \sum_i \ell(w^T x_i + b, y_i)
       + \alpha \Big(r \|w\|_1 + \frac{1 - r}{2} \|w\|_2^2\Big)

    by following the regularized leader with one rate a feature: with gradients :math:`g_s`,
    :math:`m_j = (\sum_s g_{sj}^2)^{1/2}`, :math:`\lambda = \alpha r` and the soft threshold
    :math:`T`,

    .. math:: w_j = \frac{-\eta\, T(z_j,\; \lambda t)}{\beta + m_j + \eta\, \alpha (1 - r)\, t},
       \qquad z_j \leftarrow z_j + g_j - \frac{m_j^{\mathrm{new}} - m_j}{\eta} w_j .

    The penalty grows with the number of rows, as in the objective. The paper on ad clicks has a
    constant penalty, which is ``alpha=lambda_1 / n_rows`` here.

    {parameters}

    {attributes}

    See Also
    --------
    RDA{Kind} : One rate for all features; cheaper, steadier selections.
    Online{Kind} : Any loss, penalty, optimizer and learning rate, among them AdaGrad.

    References
    ----------
    H. B. McMahan, "Follow-the-Regularized-Leader and Mirror Descent: Equivalence Theorems and L1
    Regularization", AISTATS 2011.

    H. B. McMahan et al., "Ad Click Prediction: a View from the Trenches", KDD 2013, algorithm 1.
    """

    eta: float | Auto = parameter(
        "auto",
        [POSITIVE, AUTO],
        'Step size (`alpha` in the papers). "auto" is the mean slope of the loss at score 0 over '
        "the mean norm of the rows so far.",
    )
    beta: float = parameter(
        0.0, [NON_NEGATIVE], "Added to each feature's divisor, in units of gradients."
    )

    def _model(self):
        loss = resolve_loss(self)
        penalty, auto_alpha = resolve_penalty(self.alpha, self.l1_ratio, self.positive)
        learning_rate, auto_eta = resolve_learning_rate("constant", self.eta, AUTO_FTRL_ETA)
        terms = loss, penalty, FTRL(float(self.beta)), learning_rate
        return combine_terms(self, *terms, auto_eta=auto_eta, auto_alpha=auto_alpha)


@estimator
class FTRLClassifier(_FTRL, FirstOrderClassifier):
    """Sparse online classifier that follows the regularized leader (FTRL-proximal).

    {family}

    Examples
    --------
    >>> from tamis import FTRLClassifier
    >>> from tamis.datasets import make_text
    >>> X, y, planted = make_text(n_samples=2000, n_features=5000, random_state=0)
    >>> model = FTRLClassifier(alpha=5e-4, random_state=0).fit(X[:1500], y[:1500])
    >>> model.score(X[1500:], y[1500:]) > 0.85
    True
    >>> len(model.support_) < 50
    True
    """

    loss: TermLike = loss_parameter("logistic")


@estimator
class FTRLRegressor(_FTRL, FirstOrderRegressor):
    """Sparse online regressor that follows the regularized leader (FTRL-proximal).

    {family}

    Examples
    --------
    >>> import numpy as np
    >>> from tamis import FTRLRegressor
    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(500, 100))
    >>> y = 3 * X[:, 0] - 2 * X[:, 1] + 0.1 * rng.normal(size=500)
    >>> model = FTRLRegressor(random_state=0).fit(X, y)
    >>> model.coef_[:2].round(1).tolist()
    [3.0, -2.0]
    """

    loss: TermLike = loss_parameter("squared_error")
