"""Forward-backward splitting (FOBOS): a descent step, then the prox of the penalty."""

from tamis.base.model_terms import (
    combine_terms,
    resolve_learning_rate,
    resolve_loss,
    resolve_penalty,
)
from tamis.base.parameters import TermLike, estimator, loss_parameter
from tamis.methods.sparse_online.estimator import (
    FirstOrderClassifier,
    FirstOrderRegressor,
    Penalised,
    ScheduledDescent,
)
from tamis.terms.learning_rates import descent_eta
from tamis.terms.optimizers import Descent


@estimator
class _FOBOS(ScheduledDescent, Penalised):
    r"""Forward-backward splitting: a descent step, then the prox of the penalty, at every row.

    Choose this {kind} for the standard method of sparse online learning. It keeps more features
    than `RDA{Kind}` at the same strength, because a new weight is shrunk only a little.

    Minimises over the rows of a stream

    .. math:: \frac{1}{n} \sum_i \ell(w^T x_i + b, y_i)
       + \alpha \Big(r \|w\|_1 + \frac{1 - r}{2} \|w\|_2^2\Big)

    by :math:`w \leftarrow \mathrm{prox}_{\eta_t \alpha}(w - \eta_t g_t)` at every row. Penalties
    are lazy and exact: the cost of a row is proportional to its nonzeros.

    {parameters}

    {attributes}

    See Also
    --------
    RDA{Kind} : Follows the mean of all gradients; sparser.
    FTRL{Kind} : One rate a feature; usually the lowest error.
    Online{Kind} : Any loss, penalty, optimizer and learning rate.

    References
    ----------
    J. Duchi and Y. Singer, "Efficient Online and Batch Learning Using Forward Backward Splitting",
    Journal of Machine Learning Research 10, 2009, section 2.
    """

    def _model(self):
        loss = resolve_loss(self)
        penalty, auto_alpha = resolve_penalty(self.alpha, self.l1_ratio, self.positive)
        learning_rate, auto_eta = resolve_learning_rate(
            self.learning_rate, self.eta, descent_eta(loss)
        )
        terms = loss, penalty, Descent(), learning_rate
        return combine_terms(self, *terms, auto_eta=auto_eta, auto_alpha=auto_alpha)


@estimator
class FOBOSClassifier(_FOBOS, FirstOrderClassifier):
    """Sparse online classifier by forward-backward splitting (FOBOS).

    {family}

    Examples
    --------
    >>> from tamis import FOBOSClassifier
    >>> from tamis.datasets import make_text
    >>> X, y, planted = make_text(n_samples=2000, n_features=5000, random_state=0)
    >>> model = FOBOSClassifier(alpha=1e-3, random_state=0).fit(X[:1500], y[:1500])
    >>> model.score(X[1500:], y[1500:]) > 0.8
    True
    >>> len(model.support_) < 2000
    True
    """

    loss: TermLike = loss_parameter("logistic")


@estimator
class FOBOSRegressor(_FOBOS, FirstOrderRegressor):
    """Sparse online regressor by forward-backward splitting (FOBOS).

    {family}

    Examples
    --------
    >>> import numpy as np
    >>> from tamis import FOBOSRegressor
    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(500, 100))
    >>> y = 3 * X[:, 0] - 2 * X[:, 1] + 0.1 * rng.normal(size=500)
    >>> model = FOBOSRegressor(random_state=0).fit(X, y)
    >>> model.coef_[:2].round(1).tolist()
    [3.0, -2.0]
    """

    loss: TermLike = loss_parameter("squared_error")
