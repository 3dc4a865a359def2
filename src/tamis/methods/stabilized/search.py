"""Stabilized models that tune themselves inside their training rows."""

import warnings
from itertools import product
from typing import ClassVar

import numpy as np
from joblib import Parallel, delayed
from sklearn.base import is_classifier
from sklearn.model_selection import check_cv
from sklearn.utils.metaestimators import available_if

from tamis.base.border import take_matrix, take_weights
from tamis.base.classifier import Classes
from tamis.base.contents import count, early, number, one_of, plain, record
from tamis.base.parameters import NUMBER
from tamis.base.regressor import Numbers
from tamis.methods.stabilized.estimator import StabilizedSGDClassifier, StabilizedSGDRegressor
from tamis.methods.stabilized.stream import StabilizedLinear, constructed

# A logistic path truncates like a hinge path, hence sparsely, only where its steps are very long;
# squared losses diverge there.
_LONG, _SHORT = (1.0, 16.0, 4096.0), (0.25, 1.0)
_GRIDS = {
    "eta_factors": (_SHORT, ["array-like"]),
    "burn_ins": ((1.0, 2.0), ["array-like"]),
    "rejections": ((0.7, 0.95), ["array-like"]),
    "purges": ((0.5, 0.7, 0.9), ["array-like"]),
    "cv": (5, ["cv_object"]),
    "se": (1.0, [NUMBER]),
}
_TUNED = ("eta_factor", "burn_in", "rejection", "purge")


def _judge(model, setting, X, y, weights, train, test):
    """Held-out loss of one setting on one fold, and the number of features kept."""
    model._factor = setting["eta_factor"]
    model.set_params(**{name: value for name, value in setting.items() if name != "eta_factor"})
    inside = {} if weights is None else {"sample_weight": weights[train]}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # an empty model is an answer here
        try:
            predicted = model.fit(X[train], y[train], **inside).predict(X[test])
        except (
            FloatingPointError
        ):  # steps too long for this data: the worst of all settings, not the end of the search
            return np.inf, X.shape[1]
    wrong = predicted != y[test] if is_classifier(model) else (predicted - y[test]) ** 2
    wrong = wrong.reshape(len(test), -1).mean(axis=1)
    return float(np.average(wrong, weights=None if weights is None else weights[test])), len(
        model.support_
    )


class _Tuned(StabilizedLinear):
    """Search over settings by cross-validation, then a fit of all rows."""

    _contents: ClassVar[dict] = {
        "best_index_": early(count()),
        "best_params_": early(
            record(dict.fromkeys(_TUNED, one_of(number(float, least=0.0), number(int, least=0))))
        ),
        "cv_results_": early(plain()),
    }
    _without = ("eta", "burn_in", "rejection", "purge", "warm_start")
    eta, warm_start = "auto", False
    burn_in = property(lambda self: self.best_params_["burn_in"])
    rejection = property(lambda self: self.best_params_["rejection"])
    purge = property(lambda self: self.best_params_["purge"])

    @property
    def _factor(self):
        return self.best_params_["eta_factor"]

    def _fit(self, X, y, sample_weight):
        """Check, search, refit."""
        self._validate_params()
        rows = take_matrix(self, X, reset=True)
        weights = take_weights(sample_weight, rows.n_rows, some=True)
        self._take_targets(y, rows.n_rows, first=True, whole=True)
        self._search(
            rows.scipy(),
            y.toarray() if hasattr(y, "tocsr") else np.asarray(y),
            weights if len(weights) else None,
        )
        return super()._fit(X, y, sample_weight)

    def _search(self, X, y, weights) -> None:
        """Fill `cv_results_` and `best_params_`."""
        y = y[:, 0] if y.ndim == 2 and y.shape[1] == 1 else y
        # Drawn once: every setting walks the same orders, and a generator handed in is not used up
        # by the search.
        seed = self._seed()
        given = {
            name: value for name, value in self.get_params(deep=False).items() if name not in _GRIDS
        }
        given |= {"n_jobs": 1, "random_state": seed, "verbose": False}
        settings = [
            dict(zip(_TUNED, values, strict=True))
            for values in product(self.eta_factors, self.burn_ins, self.rejections, self.purges)
        ]
        folds = [
            (a, b)
            for a, b in check_cv(self.cv, y, classifier=is_classifier(self)).split(X, y)
            if weights is None or weights[b].any()
        ]
        tasks = (
            delayed(_judge)(self._single(**given), s, X, y, weights, a, b)
            for s in settings
            for a, b in folds
        )
        found = np.array(Parallel(n_jobs=self.n_jobs)(tasks)).reshape(len(settings), len(folds), 2)
        losses, kept = found[:, :, 0], found[:, :, 1].mean(axis=1)
        means = losses.mean(axis=1)
        lowest = int(np.argmin(means))
        if not np.isfinite(means[lowest]):
            raise FloatingPointError(
                f"{type(self).__name__}: the loss became infinite or nan under every setting; the "
                "steps are too long for this data. "
                "Use smaller eta_factors, or scale the columns and the row weights."
            )
        limit = means[lowest] + self.se * losses[lowest].std(
            ddof=1 if len(folds) > 1 else 0
        ) / np.sqrt(len(folds))
        near = np.flatnonzero((means <= limit) & ((kept > 0) | (kept[lowest] == 0)))
        # The sparsest model that is as good as the best within its standard error; of equals the
        # better one.
        self.best_index_ = int(near[np.lexsort((means[near], kept[near]))[0]])
        self.best_params_ = settings[self.best_index_]
        self.cv_results_ = {
            "params": settings,
            "split_test_loss": losses,
            "mean_test_loss": means,
            "mean_kept": kept,
            "limit": float(limit),
        }


def _never(model):
    """A stream cannot be cut into folds: tune on a first part, and go on with
    `StabilizedSGDClassifier` or `-Regressor`.
    """
    return False


@constructed(loss="logistic", **{**_GRIDS, "eta_factors": (_LONG, ["array-like"])})
class StabilizedSGDClassifierCV(Classes, _Tuned):
    r"""Stabilized sparse online classifier that tunes itself by cross-validation.

    Fits `StabilizedSGDClassifier` with every combination of the four grids on folds of the training
    rows, takes the sparsest setting whose held-out error is within `se` standard errors of the
    lowest,

    .. math:: \bar e(\theta) \le \min_\theta \bar e(\theta) + s \cdot \mathrm{s.e.} ,

    and fits all rows with it. Independent fits go through joblib, whose backends (loky, dask, ray)
    may carry them elsewhere.

    Choose it over `StabilizedSGDClassifier` whenever sparsity matters: what its parameters do
    depends on the data. It costs 180 fits with the default grids.

    Parameters
    ----------
    loss : str or term, default="logistic"
        "hinge", "squared_hinge", "logistic" (or "log_loss"), "squared_error", "huber",
        "epsilon_insensitive", or a term of `tamis.terms`.
    {grids}
    {shared}

    Attributes
    ----------
    {chosen}
    {attributes}

    See Also
    --------
    StabilizedSGDClassifier : The model itself, with its parameters.

    References
    ----------
    Y. Ma and T. Zheng, "Stabilized Sparse Online Learning for Sparse Data", Journal of Machine
    Learning Research 18, 2017.

    Examples
    --------
    >>> from tamis import StabilizedSGDClassifierCV
    >>> from tamis.datasets import make_text
    >>> X, y, planted = make_text(n_samples=600, n_features=1000, random_state=0)
    >>> model = StabilizedSGDClassifierCV(loss="hinge", burn_ins=(1.0,), n_paths=8, max_iter=5, cv=3, random_state=0).fit(X, y)
    >>> sorted(model.best_params_)
    ['burn_in', 'eta_factor', 'purge', 'rejection']
    >>> len(model.cv_results_["params"])
    18
    """

    _single = StabilizedSGDClassifier
    partial_fit = available_if(_never)(Classes.partial_fit)


@constructed(loss="squared_error", **_GRIDS)
class StabilizedSGDRegressorCV(Numbers, _Tuned):
    r"""Stabilized sparse online regressor that tunes itself by cross-validation.

    Fits `StabilizedSGDRegressor` with every combination of the four grids on folds of the training
    rows, takes the sparsest setting whose held-out squared error is within `se` standard errors of
    the lowest,

    .. math:: \bar e(\theta) \le \min_\theta \bar e(\theta) + s \cdot \mathrm{s.e.} ,

    and fits all rows with it. Independent fits go through joblib, whose backends (loky, dask, ray)
    may carry them elsewhere.

    Choose it over `StabilizedSGDRegressor` whenever sparsity matters: what its parameters do
    depends on the data. It costs 120 fits with the default grids.

    Parameters
    ----------
    loss : str or term, default="squared_error"
        "squared_error", "huber", "epsilon_insensitive", or a term of `tamis.terms`.
    {grids}
    {shared}

    Attributes
    ----------
    {chosen}
    {attributes}

    See Also
    --------
    StabilizedSGDRegressor : The model itself, with its parameters.

    References
    ----------
    Y. Ma and T. Zheng, "Stabilized Sparse Online Learning for Sparse Data", Journal of Machine
    Learning Research 18, 2017.

    Examples
    --------
    >>> import numpy as np
    >>> from tamis import StabilizedSGDRegressorCV
    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(300, 50))
    >>> y = 3 * X[:, 0] - 2 * X[:, 1] + 0.1 * rng.normal(size=300)
    >>> model = StabilizedSGDRegressorCV(burn_ins=(1.0,), n_paths=8, max_iter=5, cv=3, random_state=0).fit(X, y)
    >>> model.support_[:2].tolist()
    [0, 1]
    """

    _single = StabilizedSGDRegressor
    partial_fit = available_if(_never)(Numbers.partial_fit)
