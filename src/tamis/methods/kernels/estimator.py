"""Sparse generalized multiple kernel learning: which kernels matter, and how much, learnt together
with the machine.
"""

import functools
from typing import ClassVar

import numpy as np
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils._param_validation import StrOptions
from sklearn.utils.metaestimators import available_if

from tamis.base.border import warn_user
from tamis.base.classifier import Classes
from tamis.base.contents import array, early, one_of
from tamis.base.parameters import NUMBER
from tamis.base.regressor import Numbers
from tamis.methods.kernels.docs import documented
from tamis.methods.kernels.machines import hinge_entries, tube_entries
from tamis.methods.kernels.model import SHARED, KernelModel
from tamis.solvers.sigmoid import Calibrated, fit_sigmoid, held_out_scores
from tamis.solvers.support_vector.dual import solve_svm


def _never(model):
    """Kernel machines learn from all rows at once."""
    return False


def _score_rows(gaps, kernel, problem, train, test):
    """Scores of the rows `test` by a machine over the same kernel that learns from the rows
    `train`; `gaps` takes its gap if it fails.
    """
    part = np.ascontiguousarray(kernel[np.ix_(train, train)])
    found = solve_svm(part, problem.signs[train], problem.linear[train], problem.caps[train])
    if not found.converged:
        gaps.append(found.gap)
    return kernel[np.ix_(test, train)] @ found.beta + found.intercept


@documented
class GMKLClassifier(Calibrated, Classes, KernelModel):
    r"""Kernel classifier that learns which kernels matter: sparse generalized multiple kernel
    learning (GMKL).

    Weights of the kernels and the support vector machine over their sum are the saddle point of

    .. math:: \min_{\theta \in \Theta} \max_{\alpha \in A} \sum_i \alpha_i - \tfrac12 \sum_q
    \theta_q (\alpha \circ y)^T K_q (\alpha \circ y),
        \qquad \Theta = \{\theta \ge 0 : v \sum_q \theta_q + (1 - v) \sum_q \theta_q^2 \le 1\}

    with :math:`A = \{0 \le \alpha_i \le C s_i, \alpha \cdot y = 0\}`, v the parameter `mix` and s
    the weights of the rows. It is solved by the level method to a certified relative gap of `tol`;
    at v = 0 by closed-form steps. v = 1 keeps the fewest kernels, but picks among similar ones by
    chance; v = 0 keeps all; between, similar kernels get similar weights and useless ones exactly
    0.

    Choose it for up to a few thousand rows whose classes depend on few columns in ways that are not
    linear, if one wants to see on which. Tune C: it matters more than `mix`. Where accuracy alone
    counts, a support vector machine with one Gaussian kernel is often as good and much faster; for
    linear effects of many columns use `SieveClassifier`.

    Parameters
    ----------
    {shared}
    probability : bool, default=False
        Whether to have `predict_proba`: sigmoids on scores of {folds} folds, the weights of the
        kernels as they are. Costs {folds} more machines.
    class_weight : dict, "balanced" or None, default=None
        Weights of the classes, multiplied into the row weights.
    {rest}

    Attributes
    ----------
    {attributes}
    classes_ : ndarray
        Class labels; for a matrix of labels, their numbers.
    multilabel_ : bool
        Whether the targets were a 0/1 matrix of labels.

    See Also
    --------
    GMKLRegressor : The same for numbers.
    kernel_dictionary : Makes the kernels.
    KernelWeightsDisplay : Draws the weights.

    Notes
    -----
    {notes}

    References
    ----------
    H. Yang, Z. Xu, J. Ye, I. King and M. R. Lyu, "Efficient Sparse Generalized Multiple Kernel
    Learning", IEEE Transactions on Neural Networks 22,
    2011. The constraint holds the square of the 2-norm, as in the closed form there.

    Examples
    --------
    >>> import numpy as np
    >>> from tamis import GMKLClassifier
    >>> rng = np.random.default_rng(0)
    >>> X = rng.uniform(-1, 1, size=(200, 5))
    >>> y = (np.sin(4 * X[:, 0]) + X[:, 1] ** 2 > 0.3).astype(int)
    >>> model = GMKLClassifier(mix=0.9, C=1000).fit(X[:150], y[:150])
    >>> model.score(X[150:], y[150:]) > 0.9
    True
    >>> len(model.kernel_weights_), len(model.selected_kernels_) < 20
    (78, True)
    >>> model.gap_ <= 1e-3
    True
    """

    _parameter_constraints: ClassVar[dict] = {
        **SHARED,
        "probability": ["boolean"],
        "class_weight": [dict, StrOptions({"balanced"}), None],
    }
    partial_fit = available_if(_never)(Classes.partial_fit)

    def __init__(
        self,
        kernels="auto",
        mix=0.5,
        p=2,
        C=100.0,
        *,
        weights="learned",
        normalize="trace",
        standardize=True,
        share_weights=True,
        probability=False,
        class_weight=None,
        tol=1e-3,
        max_iter=500,
        max_kernel_bytes=2147483648,
        max_rows=20000,
        n_components=1000,
        random_state=None,
    ):
        self.kernels = kernels
        self.mix = mix
        self.p = p
        self.C = C
        self.weights = weights
        self.normalize = normalize
        self.standardize = standardize
        self.share_weights = share_weights
        self.probability = probability
        self.class_weight = class_weight
        self.tol = tol
        self.max_iter = max_iter
        self.max_kernel_bytes = max_kernel_bytes
        self.max_rows = max_rows
        self.n_components = n_components
        self.random_state = random_state

    _contents: ClassVar[dict] = {"_lines": early(one_of(None, array("f8", "outputs", 2)))}

    def _signs(self, targets) -> np.ndarray:
        """Targets as +1 and -1 of every output."""
        if len(self.classes_) > 2 and not self.multilabel_:
            return np.where(targets == np.arange(len(self.classes_)), 1.0, -1.0)
        return targets

    def _problems(self, targets, caps):
        return [
            hinge_entries(np.ascontiguousarray(signs), caps) for signs in self._signs(targets).T
        ]

    # ------------------------------------------------------------------ probabilities
    def _calibrate(self, store, fits, problems, targets, weights):
        """Sigmoids on held-out scores, one an output, the weights of the kernels frozen."""
        self._lines = None
        if not self.probability:
            return
        lines, at, gaps = [], 0, []
        for fit in fits:
            kernel = store.mixture(fit.theta)
            for problem in problems[at : at + len(fit.betas)]:
                seed = 0 if self.random_state is None else self.random_state
                scores = held_out_scores(
                    problem.signs, functools.partial(_score_rows, gaps, kernel, problem), seed
                )
                lines.append(fit_sigmoid(scores, problem.signs > 0, weights))
            at += len(fit.betas)
        self._lines = np.array(lines)
        if gaps:
            said = (
                f"{len(gaps)} machines behind the probabilities of {type(self).__name__} did "
                "not converge"
            )
            warn_user(
                f"{said}; their largest duality gap is {max(gaps):.2g}. Lower C or the weights of "
                "the rows.",
                ConvergenceWarning,
            )


@documented
class GMKLRegressor(Numbers, KernelModel):
    r"""Kernel regressor that learns which kernels matter: sparse generalized multiple kernel
    learning with an insensitive loss.

    Weights of the kernels and the support vector regression over their sum are the saddle point of

    .. math:: \min_{\theta \in \Theta} \max_{\alpha, \alpha'} \sum_i y_i \beta_i - \epsilon \sum_i
    (\alpha_i + \alpha'_i)
        - \tfrac12 \sum_q \theta_q \beta^T K_q \beta, \qquad \beta = \alpha - \alpha', \quad 0 \le
          \alpha, \alpha' \le C s, \quad \sum_i \beta_i = 0

    over :math:`\Theta = \{\theta \ge 0 : v \sum_q \theta_q + (1 - v) \sum_q \theta_q^2 \le 1\}`
    with v the parameter `mix`. It is solved by the level method to a certified relative gap of
    `tol`; at v = 0 by closed-form steps.

    Choose it for up to a few thousand rows whose target depends on few columns in ways that are not
    linear, if one wants to see on which. Scale the target to about unit deviation, or set `epsilon`
    and C to its scale. Where prediction alone counts, Gaussian processes and trees are often as
    good; for linear effects of many columns use `SieveRegressor`.

    Parameters
    ----------
    {shared}
    epsilon : float, default=0.1
        Errors up to this size cost nothing.
    {rest}

    Attributes
    ----------
    {attributes}

    See Also
    --------
    GMKLClassifier : The same for classes.
    kernel_dictionary : Makes the kernels.
    KernelWeightsDisplay : Draws the weights.

    Notes
    -----
    {notes}

    References
    ----------
    H. Yang, Z. Xu, J. Ye, I. King and M. R. Lyu, "Efficient Sparse Generalized Multiple Kernel
    Learning", IEEE Transactions on Neural Networks 22, 2011; regression is among its future work.

    Examples
    --------
    >>> import numpy as np
    >>> from tamis import GMKLRegressor
    >>> rng = np.random.default_rng(0)
    >>> X = rng.uniform(-1, 1, size=(150, 4))
    >>> y = np.sin(4 * X[:, 0]) + X[:, 1] + 0.1 * rng.normal(size=150)
    >>> model = GMKLRegressor(mix=0.9, C=1000).fit(X[:100], y[:100])
    >>> model.score(X[100:], y[100:]) > 0.9
    True
    """

    _parameter_constraints: ClassVar[dict] = {**SHARED, "epsilon": [NUMBER]}
    partial_fit = available_if(_never)(Numbers.partial_fit)

    def __init__(
        self,
        kernels="auto",
        mix=0.5,
        p=2,
        C=100.0,
        *,
        weights="learned",
        normalize="trace",
        standardize=True,
        share_weights=True,
        epsilon=0.1,
        tol=1e-3,
        max_iter=500,
        max_kernel_bytes=2147483648,
        max_rows=20000,
        n_components=1000,
        random_state=None,
    ):
        self.kernels = kernels
        self.mix = mix
        self.p = p
        self.C = C
        self.weights = weights
        self.normalize = normalize
        self.standardize = standardize
        self.share_weights = share_weights
        self.epsilon = epsilon
        self.tol = tol
        self.max_iter = max_iter
        self.max_kernel_bytes = max_kernel_bytes
        self.max_rows = max_rows
        self.n_components = n_components
        self.random_state = random_state

    def _problems(self, targets, caps):
        return [
            tube_entries(np.ascontiguousarray(column), caps, float(self.epsilon))
            for column in targets.T
        ]
