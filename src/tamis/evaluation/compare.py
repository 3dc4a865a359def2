"""`compare`: tuning inside the training rows, repeated runs, error, size and stability."""

import warnings
from collections.abc import Collection, Mapping, Sequence
from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import BaseEstimator, is_classifier
from sklearn.exceptions import ConvergenceWarning
from sklearn.model_selection import ParameterGrid
from sklearn.utils import check_random_state, indexable

from tamis.base.fast_checks import check_array, check_classes, masked_to_nan
from tamis.base.splits import hold_out
from tamis.base.validation import check_magnitudes
from tamis.evaluation.checks import validate_codes
from tamis.evaluation.comparison import Record, to_plain
from tamis.evaluation.comparison_checks import run_comparison_checks
from tamis.evaluation.comparison_fits import (
    Candidate,
    DataSplit,
    Grid,
    ParallelFits,
    pick_settings,
    repeat_runs,
    tune_candidates,
)
from tamis.selection.agreement import selection_kappa, selection_stability
from tamis.selection.supports import MatrixLike


def compare(
    models: dict[str, BaseEstimator] | list[BaseEstimator],
    X: MatrixLike,
    y: ArrayLike,
    *,
    X_test: MatrixLike | None = None,
    y_test: ArrayLike | None = None,
    test_size: float = 0.3,
    runs: int = 10,
    subsample: float | None = None,
    tune: Mapping[str, Grid] | None = None,
    folds: int = 4,
    keep_supports: bool = False,
    names: Sequence[str] | None = None,
    silence: Collection[str] = (),
    random_state: int | np.random.RandomState | None = None,
    n_jobs: int | None = None,
    verbose: bool | Literal["auto"] = "auto",
) -> Record:
    """Compare models by error, fraction of selected features, selection stability, and time.

    The protocol is the same for all. Models with a grid in `tune` are tuned inside the training
    rows, on the same folds, with two picks: the setting of *least* error, and the *sparse* one,
    which selects the fewest features among those within one standard error of it. (If both are the
    same there is one pick, "least, sparse".) Then each pick is fitted `runs` times, on all training
    rows in a new random order or, with `subsample`, on a random fraction of them, and evaluated on
    the test rows, which take no part in any choice.

    Deviations are over the runs: they do not include the sampling error of the test rows. Kappa
    over orders measures the randomness inside the method; only kappa over subsamples says something
    about other data.

    Parameters
    ----------
    models : dict of {str: estimator} or list of estimators
        Models to compare: classifiers or regressors with `coef_`, `support_` or `get_support`, or
        pipelines of such.
    X : {array-like, sparse matrix} of shape (n_samples, n_features)
        Rows.
    y : array-like of shape (n_samples,)
        Targets.
    X_test, y_test : array-like or None, default=None
        Test rows. None holds out a fraction of X, stratified where y has classes.
    test_size : float, default=0.3
        Fraction of rows to hold out where there are no test rows.
    runs : int, default=10
        Fits of each pick.
    subsample : float or None, default=None
        Fraction of the training rows for each run, stratified where y has classes. None uses all
        rows, in a new order.
    tune : dict of {str: dict or list of dict} or None, default=None
        Grid of parameters of each model to tune, as for `sklearn.model_selection.ParameterGrid`.
    folds : int, default=4
        Folds of the tuning.
    keep_supports : bool, default=False
        Whether `runs` of the record hold the selected indices.
    names : sequence of str or None, default=None
        Names of the columns, for messages of checks. None uses those of a frame.
    silence : collection of str, default=()
        Codes of checks that do not run.
    random_state : int, RandomState instance or None, default=None
        Seed of split, folds, orders, subsamples and models.
    n_jobs : int or None, default=None
        Number of parallel fits, by joblib. Results other than times do not depend on it.
    verbose : bool or "auto", default="auto"
        Progress bar: "auto" shows it on a terminal after three seconds.

    Returns
    -------
    record : Record
        Plain data: rows, runs, settings, seeds, versions, and checks of the data: baseline, rare or
        small classes, scales of columns, duplicate rows, leaks.

    See Also
    --------
    selection_stability : The stability of the table's column.
    StabilitySelector : Selection with a bound on false features.

    References
    ----------
    Y. Ma and T. Zheng, "Stabilized Sparse Online Learning for Sparse Data", Journal of Machine
    Learning Research 18, 2018.

    Examples
    --------
    >>> from tamis import FTRLClassifier, RDAClassifier, compare
    >>> from tamis.datasets import make_text
    >>> X, y, planted = make_text(n_samples=600, n_features=1000, random_state=0)
    >>> passes = {"max_iter": 5, "tol": None}
    >>> models = {"FTRL": FTRLClassifier(**passes), "RDA": RDAClassifier(**passes)}
    >>> tune = {"RDA": {"alpha": [1e-4, 1e-3, 1e-2]}}
    >>> record = compare(models, X, y, tune=tune, runs=4, random_state=0)
    >>> [row["model"] for row in record.rows]
    ['FTRL', 'RDA']
    >>> record.rows[1]["pick"], record.rows[1]["params"]
    ('least, sparse', {'alpha': 0.001})
    >>> ftrl, rda = record.rows[:2]
    >>> rda["kept"] < ftrl["kept"] / 5 and rda["error"] < ftrl["error"]
    True
    """
    models, tune = _named_models(models), _validated_grids(models, tune)
    classes = _is_classification(models)
    _check_numbers(runs, subsample, folds, test_size)
    validate_codes(silence)
    base_seed = int(check_random_state(random_state).randint(2**31 - 1))
    names = getattr(X, "columns", None) if names is None else names
    split = _split(X, y, X_test, y_test, test_size, classes, base_seed)
    n_rows, n_features = split.X.shape
    candidates = [
        Candidate(name, params) for name in models for params in ParameterGrid(tune.get(name, {}))
    ]
    seeds = [int(seed) for seed in np.random.SeedSequence((base_seed, 1)).generate_state(runs)]
    fits = ParallelFits(
        sum(len(ParameterGrid(grid)) * folds for grid in tune.values()), n_jobs, verbose
    )
    with warnings.catch_warnings(), fits:
        warnings.filterwarnings("ignore", message=".*kept no feature.*")
        warnings.filterwarnings("ignore", category=ConvergenceWarning)
        tuned = tune_candidates(models, candidates, tune, split, folds, classes, base_seed, fits)
        picks = [
            pick
            for name in models
            for pick in pick_settings([c for c in tuned if c.model == name], name in tune)
        ]
        fits.add_expected(len(picks) * runs)
        results = repeat_runs(models, picks, split, subsample, seeds, classes, fits)
    tuning_seconds = {name: sum(c.seconds for c in tuned if c.model == name) for name in models}
    record, test_losses = Record(seeds=seeds), []
    for number, (pick, candidate) in enumerate(picks):
        pick_results = results[number * runs : (number + 1) * runs]
        test_losses.append(np.mean([result.pop("losses") for result in pick_results], axis=0))
        n_candidates = sum(c.model == candidate.model for c in tuned)
        record.rows.append(
            _summary_row(
                pick,
                candidate,
                pick_results,
                n_features,
                tuning_seconds[candidate.model],
                n_candidates,
            )
        )
        for run, result in enumerate(pick_results):
            identity = {"model": candidate.model, "pick": pick, "run": run, "seed": seeds[run]}
            support = result["support"].tolist() if keep_supports else None
            record.runs.append(identity | result | {"support": support})
    record.settings = {
        "task": "classification" if classes else "regression",
        "runs": runs,
        "subsample": subsample,
        "folds": folds if tune else None,
        "tune": to_plain({name: list(ParameterGrid(grid)) for name, grid in tune.items()}),
        "rows": n_rows,
        "test_rows": split.X_test.shape[0],
        "features": n_features,
        "random_state": random_state if isinstance(random_state, int) else base_seed,
    }
    checks = run_comparison_checks(split, models, record.rows, test_losses, classes, names, silence)
    record.checks = [check._asdict() for check in checks]
    return record


# --------------------------------------------------------------------------- parameters
def _named_models(models) -> dict[str, Any]:
    """Return the models by name; models of a list are named by their class."""
    if isinstance(models, dict):
        named = dict(models)
    else:
        named = {}
        for model in models:
            name, number = type(model).__name__, 2
            while name in named:
                name, number = f"{type(model).__name__} {number}", number + 1
            named[name] = model
    if not named:
        raise ValueError("compare needs at least one model.")
    for name, model in named.items():
        if not hasattr(model, "fit") or not hasattr(model, "predict"):
            raise TypeError(
                f"model {name!r} must have fit and predict. Got {type(model).__name__}; put a "
                "selector into a pipeline with a model."
            )
    return named


def _validated_grids(models, tune) -> dict:
    """Return the grids; raise an error where one names no model."""
    tune, known = dict(tune or {}), set(_named_models(models))
    unknown = [name for name in tune if name not in known]
    if unknown:
        raise ValueError(
            f"tune names {unknown[0]!r}, which is not among the models {sorted(known)}."
        )
    return tune


def _is_classification(models) -> bool:
    """Return whether the models are classifiers; raise an error for a mixture."""
    kinds = {name: is_classifier(model) for name, model in models.items()}
    if len(set(kinds.values())) > 1:
        raise ValueError(f"classifiers and regressors cannot be compared with each other: {kinds}.")
    return next(iter(kinds.values()))


def _check_numbers(runs, subsample, folds, test_size):
    """Raise an error for numbers out of range."""
    for name, value, minimum in (("runs", runs, 2), ("folds", folds, 2)):
        if not isinstance(value, int | np.integer) or value < minimum:
            raise ValueError(
                f"The {name!r} parameter of compare must be a whole number of at least {minimum}. "
                f"Got {value!r} instead."
            )
    for name, value in (("subsample", subsample), ("test_size", test_size)):
        if value is not None and not 0.0 < value < 1.0:
            raise ValueError(
                f"The {name!r} parameter of compare must be a share between 0 and 1. Got {value!r} "
                "instead."
            )


def _split(X, y, X_test, y_test, test_size, classes, base_seed) -> DataSplit:
    """Return training and test rows, as arrays or CSR."""
    if (X_test is None) != (y_test is None):
        raise ValueError("pass both of X_test and y_test, or neither.")
    options = {"accept_sparse": "csr", "dtype": "numeric"}
    X, y = check_array(X, input_name="X", **options), np.asarray(masked_to_nan(y))
    check_magnitudes(X)
    indexable(X, y)
    if classes:
        check_classes(y)
    if X_test is None:
        strata = y if classes else None
        rows = np.arange(len(y))
        train, test = hold_out(rows, test_size, strata=strata, random_state=base_seed)
        return DataSplit(X[train], y[train], X[test], y[test])
    X_test, y_test = (
        check_array(X_test, input_name="X_test", **options),
        np.asarray(masked_to_nan(y_test)),
    )
    indexable(X_test, y_test)
    if X_test.shape[1] != X.shape[1]:
        raise ValueError(f"X has {X.shape[1]} features, but X_test has {X_test.shape[1]}.")
    return DataSplit(X, y, X_test, y_test)


def _summary_row(pick, candidate, runs, n_features, tuning, n_candidates) -> dict:
    """Return the row of one pick: means and standard deviations over its runs."""
    stability = selection_stability([run["support"] for run in runs], n_features)
    row = {"model": candidate.model, "pick": pick, "params": to_plain(candidate.params)}
    for name in ("error", "kept", "seconds"):
        values = [run[name] for run in runs]
        row[name], row[f"{name}_sd"] = float(np.mean(values)), float(np.std(values, ddof=1))
    row |= {"kappa": selection_kappa([run["support"] for run in runs], n_features)}
    row |= {
        "stability": stability.value,
        "stability_low": stability.low,
        "stability_high": stability.high,
    }
    return row | {
        "tuning_seconds": tuning,
        "candidates": n_candidates,
        "tuning_error": candidate.error,
    }
