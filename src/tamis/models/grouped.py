"""Online group lasso: dual averaging under a penalty of groups of columns."""

import numpy as np
from sklearn.base import is_classifier

from tamis.loops.blocks import Blocks
from tamis.models.classifier import Classes
from tamis.models.constraints import ABOVE, AUTO, NUMBER, SHARE, STRENGTH
from tamis.models.grouped_engine import GroupEngine
from tamis.models.groups import take_groups
from tamis.models.linear import OnlineLinear
from tamis.models.pairing import AUTO_ALPHA, is_auto, loss_of
from tamis.models.recipe import recipe
from tamis.models.regressor import Numbers
from tamis.terms.blocks import GroupL2, SparseGroup
from tamis.terms.rules import DualAveraging
from tamis.terms.steps import InverseSqrt

HORIZON = 3e4  # rows after which automatic steps begin to fall: 0.3 times 10^5, the rows that a stream is expected to have
WITHOUT = ("average", "n_jobs")  # averages are dense, and blocks tie the outputs together
AVERAGING = {"rho": [NUMBER], "gamma": [ABOVE, AUTO], "t0": [NUMBER, AUTO]}
_CONSTRAINTS = {
    **STRENGTH,
    **AVERAGING,
    "groups": ["array-like", None],
    "l1_ratio": [SHARE],
    "group_weights": ["array-like", NUMBER, None],
    "l1_weights": ["array-like", NUMBER, None],
}


def averaging_step(model):
    """The step whose size is 1 / (gamma sqrt(t + t0)), in units of 1 / (squared norm of the longest row) where gamma is automatic."""
    automatic = is_auto(model.gamma)
    t0 = HORIZON if is_auto(model.t0) and automatic else 0.0 if is_auto(model.t0) else float(model.t0)
    if automatic and t0 == 0.0:
        raise ValueError("t0=0 leaves gamma='auto' without a scale (its steps would begin infinitely long); pass a gamma, or t0 above 0.")
    gamma = 0.5 / t0**0.5 if automatic else float(model.gamma)
    return InverseSqrt(1.0 / (gamma * (1.0 + t0) ** 0.5), 1.0 + t0), automatic


class Grouped(OnlineLinear):
    """Online models whose penalty sees blocks of weights; one adds `_blocks`."""

    average, n_jobs = False, None
    _couples_outputs = True  # a block holds all outputs of its columns

    def _terms(self):
        step, automatic = averaging_step(self)
        kind = SparseGroup if self._trims() or self.rho else GroupL2
        penalty = kind(AUTO_ALPHA if is_auto(self.alpha) else float(self.alpha), float(self.positive))
        return (loss_of(self), penalty, DualAveraging(float(self.rho)), step), self._flags(automatic, is_auto(self.alpha))

    def _prepare(self, terms, flags, rows, again: bool) -> None:
        """A new engine, or the present one with today's parameters and columns."""
        if not again:
            self.history_: list[dict] = []
            self._engine = self._new_engine(terms, flags, rows.n_features)
        else:
            engine, quick = self._engine, self._engine.quick
            engine.terms, engine.flags = terms, flags
            if rows.n_features > engine.features:
                engine.grow_features(rows.n_features)
            if self._groups_change or engine.features > engine.grouped:
                engine.take_blocks(self._blocks(engine.features))
            if quick != engine.quick:
                engine.renew()
        self._engine.softmax = float(is_classifier(self) and not self.multilabel_ and self._engine_width() > 1)

    def _new_engine(self, terms, flags, n_columns: int):
        return GroupEngine(terms, flags, n_columns, self._outputs(), self._blocks(n_columns))

    def _engine_width(self) -> int:
        """Outputs that a row is about."""
        return self._outputs()

    def _fit(self, X, y, sample_weight):
        self._groups_change = True  # a fit, even a warm one, looks at the groups again; a stream keeps those of its first call
        return super()._fit(X, y, sample_weight)

    def _partial_fit(self, X, y, sample_weight, **classes):
        self._groups_change = False
        return super()._partial_fit(X, y, sample_weight, **classes)

    def _diverged(self):
        raise FloatingPointError(
            f"{type(self).__name__}: the loss became infinite or nan in pass {self.n_iter_}; the steps are too long for this data. "
            "Use gamma='auto', a larger gamma or t0, or scale the columns."
        )

    def _advice(self):
        return "Lower alpha or rho, or pass alpha='auto'."

    @property
    def resolved_params_(self):
        """The automatic constants as they stand after the rows seen so far."""
        engine = self._fitted("resolved_params_")
        beta, alpha = engine.constants()
        t0 = engine.terms[3].delay - 1.0
        return {"alpha": float(alpha), "gamma": float(beta / (max(engine.ledger[0], 1.0) + t0) ** 0.5), "t0": float(t0)}


class _GroupLasso(Grouped):
    """Online models with groups of columns."""

    def _trims(self) -> bool:
        return bool(self.l1_ratio) or self.l1_weights is not None

    def _blocks(self, n_columns: int) -> Blocks:
        return take_groups(
            self.groups, n_columns, getattr(self, "feature_names_in_", None), self.group_weights, float(self.l1_ratio), self.l1_weights
        )

    @property
    def groups_(self):
        """The groups, as arrays of columns."""
        engine = self._fitted("groups_")
        return np.split(engine.members.astype(np.int64), engine.starts[1:-1].astype(np.int64))

    @property
    def group_support_(self):
        """Indices of the groups that are kept."""
        return np.flatnonzero(self._fitted("group_support_").factors())


class SoftmaxClasses(Classes):
    """Classes that exclude each other, under one loss where it is the logistic one."""

    def _divide(self, scores, likely):
        """Probabilities of several classes, by the softmax."""
        powers = np.exp(scores - scores.max(axis=1, keepdims=True))
        return powers / powers.sum(axis=1, keepdims=True)


@recipe(
    _CONSTRAINTS,
    WITHOUT,
    groups=None,
    alpha="auto",
    l1_ratio=0.0,
    rho=0.0,
    gamma="auto",
    t0="auto",
    group_weights=None,
    l1_weights=None,
    loss="logistic",
)
class OnlineGroupLassoClassifier(SoftmaxClasses, _GroupLasso):
    r"""Online classifier that keeps or drops groups of columns (DA-GL, DA-SGL).

    Minimises over the rows of a stream

    .. math:: \frac{1}{n} \sum_i \ell(w^T x_i + b, y_i) + \alpha \sum_g \big(a_g \|w_g\|_2 + r_g \|w_g\|_1\big)

    by dual averaging: with the sum of all slopes :math:`U`, the soft threshold :math:`T` and :math:`\beta_t = \gamma \sqrt{t + t_0}`,

    .. math:: c_g = T\big(U_g,\; \alpha r_g t + \rho \beta_t\big), \qquad
       w_g = -\frac{1}{\beta_t} \Big[1 - \frac{\alpha a_g t}{\|c_g\|_2}\Big]_+ c_g .

    Groups stay or leave as a whole; where :math:`r_g > 0`, single columns leave kept groups too. A step costs O(nonzeros of the row),
    with :math:`r_g` or :math:`\rho` above 0 O(columns of the groups that the row touches): nothing else is ever computed, and nothing
    is approximated. Groups may overlap: a weight is then the sum of its groups' parts, and no column is copied.

    Choose it for streams, and for rows that are sparse or do not fit into memory, where columns belong together: dummies of a
    category, bins of a number, words of a topic. On dense data that fits into memory a batch solver is faster and more exact.

    Parameters
    ----------
    groups : list of array-like, array-like of shape (n_features,), or None, default=None
        A list of arrays of column numbers or names, which may overlap; one label per column (-1 is a group of its own, None a
        column that is not penalised); or, for a DataFrame, a list of prefixes of column names, of which the longest that fits
        counts. Columns in no group are groups of their own. None makes each column a group. A stream keeps the groups of its
        first call.
    alpha : float or "auto", default="auto"
        Strength of the penalty, in units of the mean loss. "auto" is 1e-4 times the mean slope of the loss at score 0 times the mean
        norm of the rows so far, which follows the scale of the data.
    l1_ratio : float, default=0.0
        Share of L1: :math:`a_g = (1 - s) \sqrt{d_g}` and :math:`r_g = s` for a group of :math:`d_g` columns. 0 is the group lasso,
        1 the lasso (L1-RDA), and in between the sparse group lasso.
    rho : float, default=0.0
        Extra threshold that fades as :math:`1 / \sqrt t`, in units of the weights (the enhanced variant).
    gamma : float or "auto", default="auto"
        Divisor of the weights. "auto" makes :math:`\beta_t = \frac12 \max_i \|x_i\|^2 \sqrt{1 + t / t_0}` over the rows so far (17/16 of
        it with an intercept, which has steps of its own), times the most groups that a column is in.
    t0 : float or "auto", default="auto"
        Rows before the steps begin to fall. "auto" is 30000 with an automatic `gamma` (0.3 times the total of rows is a good value,
        passes counted), else 0, the update as published.
    group_weights : float, array-like of shape (n_groups,) or None, default=None
        Weights :math:`a_g` in place of :math:`\sqrt{d_g}`; 0 spares a group.
    l1_weights : float, array-like of shape (n_groups,) or None, default=None
        Weights :math:`r_g`, beside the whole :math:`a_g`; `l1_ratio` must then be 0. 1 is the published sparse group lasso.
    loss : str or term, default="logistic"
        "hinge", "squared_hinge", "logistic" (or "log_loss"), "squared_error", "huber", "epsilon_insensitive", or a term of
        `tamis.terms`. Several classes share their blocks; under the logistic loss they are one softmax, else one against the rest.
    {shared}

    Attributes
    ----------
    {attributes}
    groups_ : list of ndarray
        The groups as arrays of columns: those given, then columns of no group, then columns that are not penalised.
    group_support_ : ndarray of int
        Indices of the groups that are kept.

    See Also
    --------
    RDAClassifier : Dual averaging of single columns, at half the cost.
    groups_from_names : Groups from column names; see also groups_from_dummies and groups_by_correlation.

    References
    ----------
    H. Yang, Z. Xu, I. King and M. R. Lyu, "Online Learning for Group Lasso", ICML 2010, algorithm 1 and its sparse and enhanced variants.

    L. Jacob, G. Obozinski and J.-P. Vert, "Group Lasso with Overlap and Graph Lasso", ICML 2009, equation 6.

    Examples
    --------
    >>> import numpy as np
    >>> from tamis import OnlineGroupLassoClassifier
    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(1000, 40))
    >>> y = X[:, :4].sum(axis=1) + rng.normal(size=1000) > 0
    >>> model = OnlineGroupLassoClassifier(groups=np.arange(40) // 4, alpha=0.05, random_state=0).fit(X, y)
    >>> model.group_support_.tolist()
    [0]
    >>> model.support_.tolist()
    [0, 1, 2, 3]
    """


@recipe(
    _CONSTRAINTS,
    WITHOUT,
    groups=None,
    alpha="auto",
    l1_ratio=0.0,
    rho=0.0,
    gamma="auto",
    t0="auto",
    group_weights=None,
    l1_weights=None,
    loss="squared_error",
)
class OnlineGroupLassoRegressor(Numbers, _GroupLasso):
    r"""Online regressor that keeps or drops groups of columns (DA-GL, DA-SGL).

    Minimises over the rows of a stream

    .. math:: \frac{1}{n} \sum_i \ell(w^T x_i + b, y_i) + \alpha \sum_g \big(a_g \|w_g\|_2 + r_g \|w_g\|_1\big)

    by dual averaging: with the sum of all slopes :math:`U`, the soft threshold :math:`T` and :math:`\beta_t = \gamma \sqrt{t + t_0}`,

    .. math:: c_g = T\big(U_g,\; \alpha r_g t + \rho \beta_t\big), \qquad
       w_g = -\frac{1}{\beta_t} \Big[1 - \frac{\alpha a_g t}{\|c_g\|_2}\Big]_+ c_g .

    Groups stay or leave as a whole; where :math:`r_g > 0`, single columns leave kept groups too. A step costs O(nonzeros of the row),
    with :math:`r_g` or :math:`\rho` above 0 O(columns of the groups that the row touches): nothing else is ever computed, and nothing
    is approximated. Groups may overlap: a weight is then the sum of its groups' parts, and no column is copied.

    Choose it for streams, and for rows that are sparse or do not fit into memory, where columns belong together: dummies of a
    category, bins of a number, words of a topic. On dense data that fits into memory a batch solver is faster and more exact.

    Parameters
    ----------
    groups : list of array-like, array-like of shape (n_features,), or None, default=None
        A list of arrays of column numbers or names, which may overlap; one label per column (-1 is a group of its own, None a
        column that is not penalised); or, for a DataFrame, a list of prefixes of column names, of which the longest that fits
        counts. Columns in no group are groups of their own. None makes each column a group. A stream keeps the groups of its
        first call.
    alpha : float or "auto", default="auto"
        Strength of the penalty, in units of the mean loss. "auto" is 1e-4 times the mean slope of the loss at score 0 times the mean
        norm of the rows so far, which follows the scale of the data.
    l1_ratio : float, default=0.0
        Share of L1: :math:`a_g = (1 - s) \sqrt{d_g}` and :math:`r_g = s` for a group of :math:`d_g` columns. 0 is the group lasso,
        1 the lasso (L1-RDA), and in between the sparse group lasso.
    rho : float, default=0.0
        Extra threshold that fades as :math:`1 / \sqrt t`, in units of the weights (the enhanced variant).
    gamma : float or "auto", default="auto"
        Divisor of the weights. "auto" makes :math:`\beta_t = \frac12 \max_i \|x_i\|^2 \sqrt{1 + t / t_0}` over the rows so far (17/16 of
        it with an intercept, which has steps of its own), times the most groups that a column is in.
    t0 : float or "auto", default="auto"
        Rows before the steps begin to fall. "auto" is 30000 with an automatic `gamma` (0.3 times the total of rows is a good value,
        passes counted), else 0, the update as published.
    group_weights : float, array-like of shape (n_groups,) or None, default=None
        Weights :math:`a_g` in place of :math:`\sqrt{d_g}`; 0 spares a group.
    l1_weights : float, array-like of shape (n_groups,) or None, default=None
        Weights :math:`r_g`, beside the whole :math:`a_g`; `l1_ratio` must then be 0. 1 is the published sparse group lasso.
    loss : str or term, default="squared_error"
        "squared_error", "huber", "epsilon_insensitive", or a term of `tamis.terms`. Several targets share their blocks.
    {shared}

    Attributes
    ----------
    {attributes}
    groups_ : list of ndarray
        The groups as arrays of columns: those given, then columns of no group, then columns that are not penalised.
    group_support_ : ndarray of int
        Indices of the groups that are kept.

    See Also
    --------
    RDARegressor : Dual averaging of single columns, at half the cost.
    groups_from_names : Groups from column names; see also groups_from_dummies and groups_by_correlation.

    References
    ----------
    H. Yang, Z. Xu, I. King and M. R. Lyu, "Online Learning for Group Lasso", ICML 2010, algorithm 1 and its sparse and enhanced variants.

    L. Jacob, G. Obozinski and J.-P. Vert, "Group Lasso with Overlap and Graph Lasso", ICML 2009, equation 6.

    Examples
    --------
    >>> import numpy as np
    >>> from tamis import OnlineGroupLassoRegressor
    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(1000, 40))
    >>> y = X[:, :4].sum(axis=1) + 0.1 * rng.normal(size=1000)
    >>> model = OnlineGroupLassoRegressor(groups=np.arange(40) // 4, alpha=0.1, random_state=0).fit(X, y)
    >>> model.group_support_.tolist()
    [0]
    >>> model.support_.tolist()
    [0, 1, 2, 3]
    """
