"""Sparse generalized multiple kernel learning: which kernels matter, and how much, learnt together
with the machine.
"""

import numpy as np
from sklearn.exceptions import ConvergenceWarning

from tamis.base.estimators.calibrated import CalibratedClassifier
from tamis.base.estimators.regressor import Regressor
from tamis.base.parameters import BOOL, NUMBER, estimator, parameter
from tamis.base.validation import warn_user
from tamis.methods.multiple_kernels.estimator import KernelModel
from tamis.methods.multiple_kernels.fit import Learnt, calibrate
from tamis.methods.multiple_kernels.machines import Entries, hinge_entries, tube_entries
from tamis.methods.multiple_kernels.rows import Sample


@estimator
class GMKLClassifier(KernelModel, CalibratedClassifier):
    r"""Kernel classifier that learns which kernels matter: sparse generalized multiple kernel
    learning (GMKL).

    Choose this classifier for up to a few thousand rows whose targets depend on few columns in ways
    that are not linear, if one wants to see on which. Tune C: it matters more than `l1_ratio`.
    Where prediction alone counts, one Gaussian kernel or trees are often as good and much faster;
    for linear effects of many columns use `SieveClassifier`.

    Weights of the kernels and the support vector machine over their sum are the saddle point of

    .. math:: \min_{\theta \in \Theta} \max_\alpha \sum_i \alpha_i
       - \tfrac12 \sum_q \theta_q (\alpha \circ y)^T K_q (\alpha \circ y),
       \qquad 0 \le \alpha_i \le C s_i, \quad \alpha \cdot y = 0

    {family}

    Examples
    --------
    >>> import numpy as np
    >>> from tamis import GMKLClassifier
    >>> rng = np.random.default_rng(0)
    >>> X = rng.uniform(-1, 1, size=(200, 5))
    >>> y = (np.sin(4 * X[:, 0]) + X[:, 1] ** 2 > 0.3).astype(int)
    >>> model = GMKLClassifier(l1_ratio=0.9, C=1000).fit(X[:150], y[:150])
    >>> model.score(X[150:], y[150:]) > 0.9
    True
    >>> len(model.kernel_weights_), len(model.selected_kernels_) < 20
    (78, True)
    >>> model.gap_ <= 1e-3
    True
    """

    probability: bool = parameter(
        False,
        [BOOL],
        "Whether to have `predict_proba`: sigmoids on scores of 5 folds, the weights of the "
        "kernels as they are. Costs 5 more machines.",
        kw_only=True,
    )

    def _problems(self, targets, sample: Sample) -> list[Entries]:
        sides = targets.signs(sample.columns)
        return [hinge_entries(np.ascontiguousarray(side), sample.costs) for side in sides.T]

    def _calibration(self, learnt: Learnt, problems: list[Entries], weights) -> dict:
        """Sigmoids on held-out scores."""
        if not self.probability:
            return {"_lines": None}
        seed = 0 if self.random_state is None else self.random_state
        lines, gaps = calibrate(learnt, problems, weights, seed)
        if gaps:
            warn_user(
                f"{len(gaps)} machines behind the probabilities of {type(self).__name__} did not "
                f"converge; their largest duality gap is {max(gaps):.2g}. Lower C or the weights "
                "of the rows.",
                ConvergenceWarning,
            )
        return {"_lines": lines}


@estimator
class GMKLRegressor(KernelModel, Regressor):
    r"""Kernel regressor that learns which kernels matter: sparse generalized multiple kernel
    learning with an insensitive loss.

    Choose this regressor for up to a few thousand rows whose targets depend on few columns in ways
    that are not linear, if one wants to see on which. Tune C: it matters more than `l1_ratio`.
    Where prediction alone counts, one Gaussian kernel or trees are often as good and much faster;
    for linear effects of many columns use `SieveRegressor`.

    Scale the target to about unit deviation, or set `epsilon` and C to its scale. Weights of the
    kernels and the support vector regression over their sum are the saddle point of

    .. math:: \min_{\theta \in \Theta} \max_{\alpha, \alpha'} \sum_i y_i \beta_i
       - \epsilon \sum_i (\alpha_i + \alpha'_i) - \tfrac12 \sum_q \theta_q \beta^T K_q \beta,
       \qquad \beta = \alpha - \alpha', \quad 0 \le \alpha, \alpha' \le C s,
       \quad \sum_i \beta_i = 0

    {family}

    Examples
    --------
    >>> import numpy as np
    >>> from tamis import GMKLRegressor
    >>> rng = np.random.default_rng(0)
    >>> X = rng.uniform(-1, 1, size=(150, 4))
    >>> y = np.sin(4 * X[:, 0]) + X[:, 1] + 0.1 * rng.normal(size=150)
    >>> model = GMKLRegressor(l1_ratio=0.9, C=1000).fit(X[:100], y[:100])
    >>> model.score(X[100:], y[100:]) > 0.9
    True
    """

    epsilon: float = parameter(0.1, [NUMBER], "Errors up to this size cost nothing.", kw_only=True)

    def _problems(self, targets, sample: Sample) -> list[Entries]:
        return [
            tube_entries(np.ascontiguousarray(column), sample.costs, float(self.epsilon))
            for column in sample.columns.T
        ]
