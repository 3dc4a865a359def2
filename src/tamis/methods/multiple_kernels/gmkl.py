"""GMKLClassifier and GMKLRegressor: sparse generalized multiple kernel learning."""

import numpy as np
from sklearn.exceptions import ConvergenceWarning

from tamis.base.estimators.calibrated import CalibratedClassifier
from tamis.base.estimators.regressor import Regressor
from tamis.base.parameters import BOOL, NON_NEGATIVE, estimator, parameter
from tamis.base.validation import warn_user
from tamis.methods.multiple_kernels.estimator import KernelModel
from tamis.methods.multiple_kernels.fit import GMKLFit, calibrate
from tamis.methods.multiple_kernels.machines import SVMDual, hinge_entries, tube_entries
from tamis.methods.multiple_kernels.rows import Sample


@estimator
class GMKLClassifier(KernelModel, CalibratedClassifier):
    r"""Kernel classifier that learns which kernels matter: sparse generalized multiple kernel
    learning (GMKL).

    Choose this classifier for up to a few thousand rows whose targets depend on few columns in ways
    that are not linear, where you want to know these columns. Tune C: it matters more than
    `l1_ratio`.
    Where prediction alone counts, one Gaussian kernel or trees are often as good and much faster;
    for linear effects of many columns use `SieveClassifier`.

    The weights of the kernels and the support vector machine over their weighted sum are the saddle
    point of

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
        "Whether to offer `predict_proba`: sigmoids fitted on held-out scores of 5 folds, with the "
        "weights of the kernels fixed. Fits 5 more machines for each output.",
        kw_only=True,
    )

    def _problems(self, targets, sample: Sample) -> list[SVMDual]:
        signs = targets.signs(sample.columns)
        return [hinge_entries(np.ascontiguousarray(column), sample.costs) for column in signs.T]

    def _calibration(self, fit: GMKLFit, problems: list[SVMDual], weights) -> dict:
        """Return the sigmoids of the outputs, or None without `probability`."""
        if not self.probability:
            return {"_sigmoid_params": None}
        seed = 0 if self.random_state is None else self.random_state
        sigmoids, gaps = calibrate(fit, problems, weights, seed)
        if gaps:
            warn_user(
                f"{len(gaps)} machines behind the probabilities of {type(self).__name__} did not "
                f"converge; their largest duality gap is {max(gaps):.2g}. Lower C or the weights "
                "of the rows.",
                ConvergenceWarning,
            )
        return {"_sigmoid_params": sigmoids}


@estimator
class GMKLRegressor(KernelModel, Regressor):
    r"""Kernel regressor that learns which kernels matter: sparse generalized multiple kernel
    learning with an insensitive loss.

    Choose this regressor for up to a few thousand rows whose targets depend on few columns in ways
    that are not linear, where you want to know these columns. Tune C: it matters more than
    `l1_ratio`.
    Where prediction alone counts, one Gaussian kernel or trees are often as good and much faster;
    for linear effects of many columns use `SieveRegressor`.

    Scale the target to a standard deviation of about 1, or set `epsilon` and C to its scale. The
    weights of the kernels and the support vector regression over their weighted sum are the saddle
    point of

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

    epsilon: float = parameter(
        0.1, [NON_NEGATIVE], "Errors up to this size cost nothing.", kw_only=True
    )

    def _problems(self, targets, sample: Sample) -> list[SVMDual]:
        return [
            tube_entries(np.ascontiguousarray(column), sample.costs, float(self.epsilon))
            for column in sample.columns.T
        ]
