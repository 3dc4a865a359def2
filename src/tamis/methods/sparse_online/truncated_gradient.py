"""Truncated gradient: descent, and a truncation after each burst of rows."""

from tamis.base.model_terms import (
    combine_terms,
    resolve_learning_rate,
    resolve_loss,
    resolve_penalty,
)
from tamis.base.parameters import (
    AUTO,
    NON_NEGATIVE,
    POSITIVE,
    POSITIVE_INTEGER,
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
    ScheduledDescent,
)
from tamis.terms.learning_rates import descent_eta
from tamis.terms.optimizers import CappedDescent, Descent


@estimator
class _TruncatedGradient(ScheduledDescent):
    r"""Truncated gradient: descent, with a truncation by a gravity after each burst of rows.

    Choose this {kind} to compare with published work, or with a finite `theta` to spare large
    weights the shrinkage. Otherwise `FTRL{Kind}` or `RDA{Kind}` give sparser models at the same
    error.

    Takes descent steps :math:`w \leftarrow w - \eta_t g_t` and after every `burst` rows moves each
    weight towards zero by `gravity` times `burst`,

    .. math:: w_j \leftarrow \mathrm{sign}(w_j) \max(0, |w_j| - K g) \quad
       \text{if } |w_j| \le \theta .

    Truncations are lazy and exact. The method minimises no objective.

    {parameters}

    {attributes}

    See Also
    --------
    FOBOS{Kind} : The case ``burst=1`` with a gravity proportional to the step size.
    RDA{Kind} : Uses the sum of all gradients; sparser.

    References
    ----------
    J. Langford, L. Li and T. Zhang, "Sparse Online Learning via Truncated Gradient", Journal of
    Machine Learning Research 10, 2009, section 3.3.
    """

    gravity: float | Auto = parameter(
        "auto",
        [NON_NEGATIVE, AUTO],
        "Pull towards zero a row, in units of the weights (not multiplied by the step size). "
        '"auto" is the step size times 1e-4 times the mean slope of the loss at score 0 times the '
        "mean norm of the rows so far.",
    )
    burst: int = parameter(5, [POSITIVE_INTEGER], "Rows between two truncations.")
    theta: float | None = parameter(
        None, [POSITIVE, None], "Weights above it are not shrunk. None shrinks all."
    )

    def _model(self):
        loss = resolve_loss(self)
        penalty, auto_alpha = resolve_penalty(self.gravity, 1.0, self.positive)
        learning_rate, auto_eta = resolve_learning_rate(
            self.learning_rate, self.eta, descent_eta(loss)
        )
        scales_with_eta = float(auto_alpha)  # an explicit gravity is in units of the weights
        burst = float(self.burst)
        optimizer = (
            Descent(burst, scales_with_eta)
            if self.theta is None
            else CappedDescent(burst, float(self.theta), scales_with_eta)
        )
        terms = loss, penalty, optimizer, learning_rate
        return combine_terms(self, *terms, auto_eta=auto_eta, auto_alpha=auto_alpha)

    @property
    def resolved_params_(self):
        """Present values of the automatic constants."""
        constants = super().resolved_params_
        eta, l1 = constants["eta"], constants["l1"]
        return {"eta": eta, "gravity": l1 * (eta if is_auto(self.gravity) else 1.0)}


@estimator
class TruncatedGradientClassifier(_TruncatedGradient, FirstOrderClassifier):
    """Sparse online classifier by truncated gradient.

    {family}

    Examples
    --------
    >>> from tamis import TruncatedGradientClassifier
    >>> from tamis.datasets import make_text
    >>> X, y, planted = make_text(n_samples=2000, n_features=5000, random_state=0)
    >>> model = TruncatedGradientClassifier(gravity=5e-4, random_state=0).fit(X[:1500], y[:1500])
    >>> model.score(X[1500:], y[1500:]) > 0.8
    True
    >>> len(model.support_) < 1500
    True
    """

    loss: TermLike = loss_parameter("logistic")


@estimator
class TruncatedGradientRegressor(_TruncatedGradient, FirstOrderRegressor):
    """Sparse online regressor by truncated gradient.

    {family}

    Examples
    --------
    >>> import numpy as np
    >>> from tamis import TruncatedGradientRegressor
    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(500, 100))
    >>> y = 3 * X[:, 0] - 2 * X[:, 1] + 0.1 * rng.normal(size=500)
    >>> model = TruncatedGradientRegressor(random_state=0).fit(X, y)
    >>> model.coef_[:2].round(1).tolist()
    [3.0, -2.0]
    """

    loss: TermLike = loss_parameter("squared_error")
