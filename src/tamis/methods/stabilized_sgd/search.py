"""Stabilized models that tune their parameters by cross-validation."""

import warnings
from itertools import product
from typing import Any, ClassVar

import numpy as np
from joblib import Parallel, delayed
from sklearn.base import clone, is_classifier

from tamis.base.estimators.classifier import ProbabilisticClassifier
from tamis.base.estimators.regressor import Regressor
from tamis.base.fast_checks import to_dense
from tamis.base.parameters import (
    ARRAY_LIKE,
    NON_NEGATIVE,
    TermLike,
    estimator,
    loss_parameter,
    parameter,
)
from tamis.base.scores import default_scoring, one_standard_error_of_folds, row_losses
from tamis.base.splits import make_folds
from tamis.base.validation import validate_matrix, validate_sample_weight
from tamis.methods.stabilized_sgd.stream import Stabilized, StabilizedSetting
from tamis.system.schema import count, number, one_of, plain_data, record, set_early

# A logistic path becomes as sparse as a hinge path only with very long steps, with which squared
# losses diverge.
_CLASSIFIER_ETA_FACTORS, _ETA_FACTORS = (1.0, 16.0, 4096.0), (0.25, 1.0)
_TUNED = StabilizedSetting._fields[:-1]  # all but `eta`
_ETA_FACTORS_SENTENCE = "Step sizes to try, as multiples of the automatic one."


@estimator(kw_only=True)
class StabilizedSearch(Stabilized):
    r"""Stabilized models with grids of the parameters that must be tuned.

    Choose this {kind} over `StabilizedSGD{Kind}` whenever sparsity matters: the effect of the
    parameters depends on the data. It costs a fit for each fold of each combination, more than a
    hundred with the default grids. A stream cannot be split into folds: tune on its first rows, and
    continue with `StabilizedSGD{Kind}`.

    Fits `StabilizedSGD{Kind}` with every combination of the four grids on folds of the training
    rows, takes the sparsest setting with a held-out error (of numbers the squared error) within
    `se` standard errors of the lowest,

    .. math:: \bar e(\theta) \le \min_\theta \bar e(\theta) + s \cdot \mathrm{s.e.} ,

    and fits all rows with it. Independent fits run through joblib with any backend (loky, dask,
    ray).

    {parameters}

    {attributes}

    See Also
    --------
    StabilizedSGD{Kind} : The model with fixed parameters.

    References
    ----------
    Y. Ma and T. Zheng, "Stabilized Sparse Online Learning for Sparse Data", Journal of Machine
    Learning Research 18, 2017.
    """

    eta_factors: Any = parameter(_ETA_FACTORS, [ARRAY_LIKE], _ETA_FACTORS_SENTENCE)
    burn_ins: Any = parameter((1.0, 2.0), [ARRAY_LIKE], "Burn-ins to try.")
    rejections: Any = parameter((0.7, 0.95), [ARRAY_LIKE], "Rejections to try.")
    purges: Any = parameter((0.5, 0.7, 0.9), [ARRAY_LIKE], "Purges to try.")
    cv: Any = parameter(
        5,
        ["cv_object"],
        "Folds, as in scikit-learn; stratified for classes.",
        "int, splitter or iterable",
    )
    se: float = parameter(
        1.0,
        [NON_NEGATIVE],
        "Standard errors above the lowest held-out loss that a sparser setting may cost. 0 takes "
        "the best.",
    )
    _contents: ClassVar[dict] = {
        "best_index_": set_early(count()),
        "best_params_": set_early(
            record(
                dict.fromkeys(_TUNED, one_of(number(float, minimum=0.0), number(int, minimum=0)))
            )
        ),
        "cv_results_": set_early(plain_data()),
    }
    _attributes: ClassVar[str] = """\
        best_params_ : dict
            The chosen ``eta_factor``, ``burn_in``, ``rejection`` and ``purge``.
        best_index_ : int
            Its index in `cv_results_`.
        cv_results_ : dict
            ``params`` (list of dict), ``split_test_loss`` (settings, folds), ``mean_test_loss``,
            ``mean_kept`` (number of features) and ``limit``, the highest loss allowed. The loss is
            the fraction of wrong predictions, or the squared error."""

    def _tunable_params(self) -> StabilizedSetting:
        """Return the parameters that the search has chosen."""
        return StabilizedSetting(**self.best_params_)

    def _fit(self, X, y, sample_weight):
        """Validate, search, and fit all rows."""
        self._validate_params()
        rows = validate_matrix(self, X, reset=True)
        weights = validate_sample_weight(sample_weight, rows.n_rows, require_positive=True)
        self._encode_targets(y, rows.n_rows)
        self._search(rows.to_scipy(), np.asarray(to_dense(y)), weights if len(weights) else None)
        return self._fit_all(X, y, sample_weight)

    def _fit_all(self, X, y, sample_weight):
        """Fit all rows with the setting of `best_params_`."""
        return super()._fit(X, y, sample_weight)

    def _search(self, X, y, weights) -> None:
        """Fill `cv_results_` and `best_params_`."""
        y = y[:, 0] if y.ndim == 2 and y.shape[1] == 1 else y
        # The seed is drawn once, so that every setting has the same row orders.
        candidate = clone(self).set_params(n_jobs=1, random_state=self._seed(), verbose=False)
        grids = (self.eta_factors, self.burn_ins, self.rejections, self.purges)
        settings = [dict(zip(_TUNED, values, strict=True)) for values in product(*grids)]
        present = np.arange(len(y)) if weights is None else np.flatnonzero(weights)
        folds = make_folds(self.cv, len(y), y[present], stratify=is_classifier(self), rows=present)
        tasks = (
            delayed(_evaluate_fold)(candidate, setting, X, y, weights, *fold)
            for setting in settings
            for fold in folds
        )
        results = np.array(Parallel(n_jobs=self.n_jobs)(tasks))
        results = results.reshape(len(settings), len(folds), 2)
        losses, mean_support = results[:, :, 0], results[:, :, 1].mean(axis=1)
        mean_losses = losses.mean(axis=1)
        if not np.isfinite(mean_losses.min()):
            raise FloatingPointError(
                f"{type(self).__name__}: the loss became infinite or nan under every setting; the "
                "steps are too long for this data. "
                "Use smaller eta_factors, or scale the columns and the row weights."
            )
        self.best_index_, limit = one_standard_error_of_folds(losses, mean_support, self.se)
        self.best_params_ = settings[self.best_index_]
        self.cv_results_ = {
            "params": settings,
            "split_test_loss": losses,
            "mean_test_loss": mean_losses,
            "mean_kept": mean_support,
            "limit": limit,
        }


def _evaluate_fold(candidate: StabilizedSearch, setting: dict, X, y, weights, train, test):
    """Return the held-out loss of one setting on one fold, and the number of features."""
    model = clone(candidate)
    model.best_params_ = setting
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # an empty model is a valid result here
        try:
            model._fit_all(X[train], y[train], None if weights is None else weights[train])
        except FloatingPointError:
            # The steps are too long for this data: the worst setting, but no error of the search.
            return np.inf, X.shape[1]
    losses = row_losses(y[test], model.predict(X[test]), default_scoring(is_classifier(model)))
    loss = float(np.average(losses, weights=None if weights is None else weights[test]))
    return loss, len(model.support_)


@estimator(kw_only=True)
class StabilizedSGDClassifierCV(ProbabilisticClassifier, StabilizedSearch):
    """Stabilized sparse online classifier that tunes itself by cross-validation.

    {family}

    Examples
    --------
    >>> from tamis import StabilizedSGDClassifierCV
    >>> from tamis.datasets import make_text
    >>> X, y, planted = make_text(n_samples=600, n_features=1000, random_state=0)
    >>> options = {"n_paths": 8, "max_iter": 5, "cv": 3, "random_state": 0}
    >>> model = StabilizedSGDClassifierCV(loss="hinge", burn_ins=(1.0,), **options).fit(X, y)
    >>> sorted(model.best_params_)
    ['burn_in', 'eta_factor', 'purge', 'rejection']
    >>> len(model.cv_results_["params"])
    18
    """

    loss: TermLike = loss_parameter("logistic")
    eta_factors: Any = parameter(_CLASSIFIER_ETA_FACTORS, [ARRAY_LIKE], _ETA_FACTORS_SENTENCE)


@estimator(kw_only=True)
class StabilizedSGDRegressorCV(Regressor, StabilizedSearch):
    """Stabilized sparse online regressor that tunes itself by cross-validation.

    {family}

    Examples
    --------
    >>> import numpy as np
    >>> from tamis import StabilizedSGDRegressorCV
    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(300, 50))
    >>> y = 3 * X[:, 0] - 2 * X[:, 1] + 0.1 * rng.normal(size=300)
    >>> options = {"n_paths": 8, "max_iter": 5, "cv": 3, "random_state": 0}
    >>> model = StabilizedSGDRegressorCV(burn_ins=(1.0,), **options).fit(X, y)
    >>> model.support_[:2].tolist()
    [0, 1]
    """

    loss: TermLike = loss_parameter("squared_error", residual=True)
    _residual_loss = True
