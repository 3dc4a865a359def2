"""Stability selection: features selected on most halves of the rows, with an error bound."""

import warnings
from numbers import Integral, Real
from typing import Any, ClassVar

import numpy as np
from sklearn.base import MetaEstimatorMixin, is_classifier
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils import check_random_state
from sklearn.utils._param_validation import HasMethods, Interval
from sklearn.utils.parallel import Parallel, delayed

from tamis.base.class_messages import one_class_message
from tamis.base.estimators.estimator import Estimator
from tamis.base.estimators.selector import Selector
from tamis.base.fast_checks import (
    check_array,
    flatten_targets,
    refuse_dask_collection,
    target_type,
    validate_data,
)
from tamis.base.parameters import (
    ARRAY_LIKE,
    AUTO,
    BOOL,
    POSITIVE,
    POSITIVE_INTEGER,
    RANDOM_STATE,
    Auto,
    Seed,
    estimator,
    one_of_strings,
    parameter,
)
from tamis.base.validation import check_magnitudes
from tamis.selection.error_bounds import (
    ASSUMPTIONS,
    effective_threshold,
    false_selections,
    resolve_error_control,
)
from tamis.selection.half_samples import (
    PATH_END_RATIO,
    find_strength_parameter,
    select_on_halves,
    selection_frequencies,
)
from tamis.system.progress import Progress
from tamis.system.schema import array, indices, number, rows, statistic, text
from tamis.system.schema import one_of as either
from tamis.system.threads import locked

_DISCRETE = ("binary", "multiclass")


@estimator
class StabilitySelector(MetaEstimatorMixin, Selector, Estimator):
    r"""Select the features that a sparse estimator selects on most halves of the rows.

    Use it when selected features must be real, and when two analysts should select the same ones.
    It costs up to :math:`2 B` paths of fits. It does not predict: put a model after it in a
    pipeline.

    The rows are split at random into two halves, `n_pairs` times. On each half the estimator is
    fitted along a path of penalties, from the strongest on, until `n_selected` = q features are
    selected. The result is the features whose fraction of the :math:`2 B` halves,
    `selection_probability_`, reaches the threshold :math:`\pi`.

    **The bound.** A feature is *false* if a run on half of the rows selects it with probability at
    most q/p, as a random draw of q of the p features does. The expected number V of false features
    among the selected ones satisfies

    .. math:: E(V) \le \frac{q^2}{(2 \pi - 1)\, p} ,

    for independent rows and any estimator. It is an expectation over data sets: on a single one V
    may be larger. "False" includes all features unrelated to the target if the estimator selects
    these no more often than a random draw (Meinshausen and Buhlmann assume this, with exchangeable
    noise). A feature that is correlated with a real one is often selected, and is not "false" in
    this sense. Give two of `threshold`, `n_selected` and `max_false`, and the bound gives the
    third.

    {parameters}

    {attributes}

    See Also
    --------
    selection_stability : How much several selections agree.
    compare : Error, size and stability of several models.

    References
    ----------
    N. Meinshausen and P. Buhlmann, "Stability Selection", Journal of the Royal Statistical Society
    B 72, 2010, theorem 1.

    R. Shah and R. Samworth, "Variable Selection with Error Control: Another Look at Stability
    Selection", Journal of the Royal Statistical Society B 75, 2013, equations 4 to 8.

    Examples
    --------
    >>> from sklearn.linear_model import Lasso
    >>> import numpy as np
    >>> from tamis import StabilitySelector
    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(200, 500))
    >>> y = X[:, :4] @ [3.0, -2.0, 2.0, 1.5] + rng.normal(size=200)
    >>> selector = StabilitySelector(Lasso(), max_false=0.5, random_state=0).fit(X, y)
    >>> selector.support_.tolist()
    [0, 1, 2, 3]
    >>> q, false = selector.n_selected_, selector.expected_false_selections_
    >>> print(f"each run selects {q} features; at most {false:.2f} false ones are expected")
    each run selects 11 features; at most 0.48 false ones are expected
    >>> selector.transform(X).shape
    (200, 4)
    """

    estimator: Any | None = parameter(
        None,
        [HasMethods("fit"), None],
        "A sparse classifier or regressor with `coef_`, `support_` or `get_support`, or a "
        "pipeline that ends in one and preserves the columns. None is `RDAClassifier` or "
        "`RDARegressor`, by the targets. Its random states are set from `random_state`.",
        "estimator or None",
    )
    threshold: float | None = parameter(
        None,
        [Interval(Real, 0.5, 1.0, closed="right"), None],
        "Smallest selection probability, above 0.5. None is computed from the other two, or 0.75.",
        kw_only=True,
    )
    n_selected: int | None = parameter(
        None,
        [POSITIVE_INTEGER, None],
        "Largest number of features that a run may select (q). None is computed from the other "
        "two. With only `threshold` given, runs follow the whole path and q is estimated by the "
        "mean number of selected features. Where the path jumps over q, the largest weights come "
        "first, so columns should have similar scales.",
        kw_only=True,
    )
    max_false: float | None = parameter(
        None,
        [POSITIVE, None],
        "Largest expected number of false selections. Without `threshold` and `n_selected`, None "
        "is 1.",
        kw_only=True,
    )
    assumption: str = parameter(
        "none",
        [one_of_strings(*ASSUMPTIONS)],
        "Assumption on the distribution of the selection frequencies of false features. A stronger "
        "one gives a smaller bound (by half, and by several times), see sections 3.2 and 3.3 of "
        "Shah and Samworth.",
        '{"none", "unimodal", "r-concave"}',
        kw_only=True,
    )
    param_name: str | None = parameter(
        None,
        [str, None],
        'Parameter of the penalty strength. None is the first of "alpha", "C" and "gravity" that '
        "the estimator has.",
        "str or None",
        kw_only=True,
    )
    param_values: Any = parameter(
        10,
        [POSITIVE_INTEGER, ARRAY_LIKE, None],
        "A number gives an automatic path of so many values, from about where the first feature "
        "enters to a hundredth of it, computed on each half separately. An array holds the values, "
        "the strongest penalty first. None fits the estimator unchanged, once per half.",
        kw_only=True,
    )
    n_pairs: int = parameter(50, [POSITIVE_INTEGER], "Pairs of halves (B).", kw_only=True)
    complementary: bool = parameter(
        True,
        [BOOL],
        "Whether the two halves of a pair share no row (Shah and Samworth). False draws every half "
        "independently (Meinshausen and Buhlmann), for comparison; the bound is then the one of "
        "their paper, for infinitely many halves.",
        kw_only=True,
    )
    stratify: bool = parameter(
        True,
        [BOOL],
        "Whether each half gets half of every class. Only for classifiers.",
        kw_only=True,
    )
    n_jobs: int | None = parameter(
        None,
        [Integral, None],
        "Number of pairs in parallel, by joblib (any backend); the result does not depend on it.",
        kw_only=True,
    )
    random_state: Seed = parameter(
        None, [RANDOM_STATE], "Seed of the halves and of the estimator.", kw_only=True
    )
    verbose: bool | Auto = parameter(
        "auto",
        [BOOL, AUTO],
        'Progress bar: "auto" shows it on a terminal after three seconds.',
        kw_only=True,
    )
    _contents: ClassVar[dict] = {
        "param_name_": either(None, text()),
        "path_": array("f8", "steps"),
        "threshold_": number(float, minimum=0.0, maximum=1.0),
        "stability_path_": rows("steps", "columns", minimum=0.0, maximum=1.0),
        "selection_probability_": array("f8", "columns", minimum=0.0, maximum=1.0),
        "n_selected_": either(number(float, minimum=0.0), number(int, minimum=0)),
        "expected_false_selections_": statistic(finite=False),
        "support_": indices("kept", below="columns", increasing=True),
    }
    _attributes: ClassVar[str] = """\
        selection_probability_ : ndarray of shape (n_features,)
            Fraction of the halves that select the feature.
        support_ : ndarray of int
            Indices of the selected features, ascending.
        expected_false_selections_ : float
            The bound on the expected number of false features in `support_`.
        threshold_ : float
            The threshold used.
        n_selected_ : float
            q: the largest number of features of a run, or the mean number where runs follow the
            whole path.
        path_ : ndarray of shape (n_values,)
            The path: values of the parameter, or for an automatic path ratios to the strongest
            penalty.
        stability_path_ : csr_array of shape (n_values, n_features)
            Fraction of the halves that select the feature up to each value of the path; the last
            row is `selection_probability_`.
        param_name_ : str or None
            The parameter that was varied.
        n_features_in_ : int
            Number of columns.
        feature_names_in_ : ndarray of str
            Names of the columns, where X had them."""

    @locked
    def fit(self, X, y):
        """Select features.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Rows.
        y : array-like of shape (n_samples,) or (n_samples, n_outputs)
            Targets.

        Returns
        -------
        self : object
        """
        self._validate_params()
        X, y = self._validate_training(X, y)
        estimator = self._resolve_estimator(y)
        strata = self._class_strata(estimator, y)
        name, path, is_automatic = self._resolve_path(estimator)
        threshold, max_selected = self._resolve_error_control(X.shape[1])
        runs = self._run_halves(estimator, X, y, strata, name, path, is_automatic, max_selected)
        self._set_results(runs, name, path, threshold, max_selected)
        return self

    # ------------------------------------------------------------------ preparation
    def _validate_training(self, X, y):
        """Return validated rows and targets."""
        refuse_dask_collection(type(self).__name__, X)
        refuse_dask_collection(type(self).__name__, y)
        is_multi_output = y is not None and getattr(y, "ndim", 1) == 2 and y.shape[1] > 1
        X, y = validate_data(
            self,
            X,
            y,
            accept_sparse="csr",
            multi_output=True,
            ensure_min_samples=4,
            ensure_all_finite=False,
        )
        if X.dtype == object:  # numbers of Python in lists, for which NumPy has no type
            X = check_array(X, dtype=np.float64)
        check_magnitudes(X)
        if target_type(y) == "unknown":
            y = check_array(y, ensure_2d=False, dtype=np.float64, input_name="y")
        y = y if is_multi_output else flatten_targets(y)
        return X, np.asarray(y)

    def _resolve_estimator(self, y):
        """Return the estimator, or the default one for these targets."""
        if self.estimator is not None:
            return self.estimator
        from tamis.methods.sparse_online.dual_averaging import RDAClassifier, RDARegressor

        is_classification = target_type(y) in (*_DISCRETE, "multilabel-indicator")
        return RDAClassifier() if is_classification else RDARegressor()

    def _class_strata(self, estimator, y):
        """Return the class indices for stratified halves, or None."""
        if not is_classifier(estimator) or target_type(y) not in _DISCRETE:
            return None
        classes, codes = np.unique(y, return_inverse=True)
        if len(classes) < 2:
            name = "StabilitySelector around a classifier"
            raise ValueError(one_class_message(name, classes[0]))
        class_counts = np.bincount(codes)
        if class_counts.min() < 2:
            raise ValueError(
                "each half needs a row of every class, but class "
                f"{classes[class_counts.argmin()]} has only {class_counts.min()}."
            )
        return codes if self.stratify else None

    def _resolve_path(self, estimator):
        """Return the name of the path's parameter, its values, and whether the path is automatic.

        Values of an automatic path are ratios to the strongest penalty.
        """
        if self.param_values is None:
            return None, np.ones(1), False
        name = self.param_name or find_strength_parameter(estimator)
        if name is None:
            if isinstance(self.param_values, Integral):
                return None, np.ones(1), False
            raise ValueError(
                f"{type(estimator).__name__} has neither alpha nor C nor gravity; name the "
                "parameter of the path in param_name."
            )
        if name not in estimator.get_params(deep=True):
            raise ValueError(
                f"param_name={name!r} is no parameter of {type(estimator).__name__}: "
                f"{sorted(estimator.get_params())}."
            )
        if isinstance(self.param_values, Integral):
            return name, np.geomspace(1.0, PATH_END_RATIO, int(self.param_values) + 1)[1:], True
        values = np.asarray(self.param_values, dtype=float)
        if values.ndim != 1 or not len(values):
            raise ValueError(
                "param_values must be one row of numbers, the strongest penalty first. Got shape "
                f"{values.shape}."
            )
        return name, values, False

    def _resolve_error_control(self, n_features):
        """Return the threshold and the largest number of features of a run."""
        if self.assumption != "none" and not self.complementary:
            raise ValueError(
                f"assumption={self.assumption!r} belongs to complementary pairs; set "
                "complementary=True."
            )
        return resolve_error_control(
            self.threshold,
            self.n_selected,
            self.max_false,
            n_features,
            self.n_pairs,
            self.assumption,
        )

    # ------------------------------------------------------------------ runs
    def _run_halves(self, estimator, X, y, strata, name, path, is_automatic, max_selected):
        """Run the path on all halves and return the runs."""
        seed = int(check_random_state(self.random_state).randint(2**31 - 1))
        pairs = range(self.n_pairs if self.complementary else 2 * self.n_pairs)
        tasks = (
            delayed(select_on_halves)(
                estimator, X, y, strata, name, path, is_automatic, max_selected, (seed, pair)
            )
            for pair in pairs
        )
        runs = []
        with (
            warnings.catch_warnings(),
            Progress(type(self).__name__, len(pairs), self.verbose) as progress,
        ):
            # Expected at the strong end of a path.
            warnings.filterwarnings("ignore", message=".*kept no feature.*")
            warnings.filterwarnings(
                "ignore", category=ConvergenceWarning
            )  # counted, and warned of once
            for pair_runs in Parallel(n_jobs=self.n_jobs, return_as="generator")(tasks):
                runs += pair_runs if self.complementary else pair_runs[:1]
                progress.advance(1, f"{len(runs)} halves")
        return runs

    def _set_results(self, runs, name, path, threshold, max_selected):
        """Set the selection frequencies, the selected features and their error bound."""
        n_unfinished = sum(run[2] for run in runs)
        if n_unfinished:
            warnings.warn(
                f"{n_unfinished} fits inside StabilitySelector used all their passes. Raise "
                "max_iter or tol of the estimator.",
                ConvergenceWarning,
                stacklevel=3,
            )
        self.param_name_, self.path_, self.threshold_ = name, path, threshold
        self.stability_path_ = selection_frequencies(runs, len(path), self.n_features_in_)
        self.selection_probability_ = self.stability_path_[[-1]].toarray().ravel()
        self.n_selected_ = (
            float(np.mean([len(run[1]) for run in runs])) if max_selected is None else max_selected
        )
        self.expected_false_selections_ = false_selections(
            self.n_selected_, self.n_features_in_, threshold, self.n_pairs, self.assumption
        )
        min_frequency = effective_threshold(threshold, self.n_pairs)
        self.support_ = np.flatnonzero(self.selection_probability_ >= min_frequency - 1e-9)

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.target_tags.required = True
        return tags
