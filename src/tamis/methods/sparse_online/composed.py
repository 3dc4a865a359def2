"""Online models composed of any compatible loss, penalty, optimizer and learning rate."""

from tamis.base.model_terms import (
    AUTO_FTRL_ETA,
    PENALTIES,
    combine_terms,
    resolve_learning_rate,
    resolve_loss,
    resolve_penalty,
)
from tamis.base.parameters import (
    AUTO,
    POSITIVE,
    TERM,
    UNIT_INTERVAL,
    Auto,
    TermLike,
    estimator,
    is_auto,
    loss_parameter,
    parameter,
    resolve_term,
)
from tamis.methods.sparse_online.estimator import (
    FirstOrderClassifier,
    FirstOrderRegressor,
    Penalised,
)
from tamis.terms.learning_rates import descent_eta
from tamis.terms.optimizers import OPTIMIZERS

_OPTIMIZER_METHODS = (
    "current_weight",
    "apply_gradient",
    "charge_step",
    "flush_urgency",
    "flush_cell",
    "affine_weight",
    "final_weight",
    "step_scale",
    "clip_step",
    "columns",
    "adapts",
    "takes_any_step",
    "signs",
    "objection",
)
_PENALTY_METHODS = ("value", "prox", "rates", "from_stored", "to_stored", "subgradient_sign")


@estimator
class _Online(Penalised):
    r"""Online model with its loss, penalty, optimizer and learning rate as parameters.

    Choose this {kind} for combinations that no other class has: plain SGD (``penalty=None``),
    passive-aggressive steps (``penalty=None, learning_rate="pa1"`` with a hinge or
    epsilon-insensitive loss), AdaGrad (``optimizer="adagrad"``), ridge, or a loss of your own.
    Otherwise choose one of the named methods (`FTRL{Kind}` first), which are settings of this class
    with suitable defaults. Terms that are incompatible raise an error with the reason.

    Reads the rows once a pass and stores the state of the optimizer for each feature: with loss
    :math:`\ell`, penalty :math:`\psi` and step sizes :math:`\eta_t`, it minimises :math:`\frac1n
    \sum_i \ell(w^T x_i + b, y_i) + \alpha\, \psi(w)`.

    {parameters}

    {attributes}

    See Also
    --------
    FOBOS{Kind} : Descent with a prox.
    TruncatedGradient{Kind} : Descent with a truncation after each burst.
    RDA{Kind} : Dual averaging.
    FTRL{Kind} : Follow the regularized leader.

    References
    ----------
    S. Shalev-Shwartz, "Online Learning and Online Convex Optimization", Foundations and Trends in
    Machine Learning 4, 2012.

    K. Crammer et al., "Online Passive-Aggressive Algorithms", Journal of Machine Learning Research
    7, 2006.
    """

    l1_ratio: float = parameter(0.5, [UNIT_INTERVAL], "Share of L1 in the elastic net.")
    penalty: TermLike | None = parameter(
        "l1",
        TERM,
        'Penalty of the weights ("ridge" is another name of "l2"). None is plain SGD.',
        '{"l1", "l2", "elasticnet"}, term or None',
    )
    optimizer: TermLike = parameter(
        "descent", TERM, '"descent", "dual_averaging", "ftrl" or "adagrad".'
    )
    learning_rate: TermLike = parameter(
        "auto",
        TERM,
        'Step sizes: "inverse_sqrt", "inverse_time", "constant", '
        '"pa1", "pa2", or a term. "auto" is constant for optimizers with one rate a feature, '
        '"ftrl" and "adagrad", and "inverse_sqrt" for others.',
    )
    eta: float | Auto = parameter(
        "auto",
        [POSITIVE, AUTO],
        'Size of the first steps; with passive-aggressive steps their cap C. "auto" follows the '
        "curvature of the loss and the mean norm of the rows so far.",
    )

    def _model(self):
        loss = resolve_loss(self)
        optimizer = resolve_term("optimizer", self.optimizer, OPTIMIZERS, _OPTIMIZER_METHODS)
        penalty, auto_alpha = self._penalty()
        learning_rate_param = (
            ("constant" if optimizer.adapts() else "inverse_sqrt")
            if is_auto(self.learning_rate)
            else self.learning_rate
        )
        learning_rate, auto_eta = resolve_learning_rate(
            learning_rate_param,
            self.eta,
            AUTO_FTRL_ETA if optimizer.adapts() else descent_eta(loss),
        )
        terms = loss, penalty, optimizer, learning_rate
        return combine_terms(self, *terms, auto_eta=auto_eta, auto_alpha=auto_alpha)

    def _penalty(self):
        """Return the penalty term, and whether its strength is automatic."""
        if self.penalty is None:
            return resolve_penalty(0.0, 0.0, self.positive)
        if isinstance(self.penalty, str) and self.penalty in PENALTIES:
            ratio = PENALTIES[self.penalty]
            return resolve_penalty(
                self.alpha, self.l1_ratio if ratio is None else ratio, self.positive
            )
        return resolve_term("penalty", self.penalty, PENALTIES, _PENALTY_METHODS), False


@estimator
class OnlineClassifier(_Online, FirstOrderClassifier):
    """Online linear classifier of any loss, penalty, optimizer and learning rate.

    {family}

    Examples
    --------
    >>> from tamis import OnlineClassifier
    >>> from tamis.datasets import make_text
    >>> X, y, planted = make_text(n_samples=2000, n_features=5000, random_state=0)
    >>> options = {"max_iter": 5, "tol": None, "random_state": 0}
    >>> model = OnlineClassifier(loss="hinge", penalty=None, learning_rate="pa1", **options)
    >>> model.fit(X[:1500], y[:1500]).score(X[1500:], y[1500:]) > 0.6
    True
    >>> OnlineClassifier(optimizer="adagrad", penalty="l2").fit(X, y)
    Traceback (most recent call last):
        ...
    ValueError: OnlineClassifier: AdaGrad(delta=0.0) does not go with Ridge(...): a ridge would
    divide each coordinate by another ...
    """

    loss: TermLike = loss_parameter("logistic")


@estimator
class OnlineRegressor(_Online, FirstOrderRegressor):
    """Online linear regressor of any loss, penalty, optimizer and learning rate.

    {family}

    Examples
    --------
    >>> import numpy as np
    >>> from tamis import OnlineRegressor
    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(500, 100))
    >>> y = 3 * X[:, 0] - 2 * X[:, 1] + 0.1 * rng.normal(size=500)
    >>> model = OnlineRegressor(loss="huber", random_state=0).fit(X, y)
    >>> model.coef_[:2].round(1).tolist()
    [3.0, -2.0]
    """

    loss: TermLike = loss_parameter("squared_error")
