"""Base class of the two sieves: parameters, `fit`, `partial_fit`, and other sizes of a fit."""

from numbers import Integral
from typing import Any, ClassVar

import numpy as np
from sklearn.base import is_classifier
from sklearn.utils import check_scalar
from sklearn.utils.validation import check_is_fitted

from tamis.base.estimators.estimator import Estimator, validate_training
from tamis.base.estimators.explaining import SparseWeights
from tamis.base.estimators.selector import Selector
from tamis.base.feature_groups import feature_groups_parameter
from tamis.base.model_terms import resolve_loss
from tamis.base.parameters import (
    ARRAY_LIKE,
    AUTO,
    BOOL,
    NON_NEGATIVE,
    OPEN_UNIT_INTERVAL,
    POSITIVE_INTEGER,
    RANDOM_STATE,
    UNIT_INTERVAL,
    Auto,
    Seed,
    TermLike,
    at_least,
    estimator,
    loss_parameter,
    parameter,
)
from tamis.base.validation import (
    inconsistent_state_error,
    validate_matrix,
    validate_sample_weight,
    warn_user,
)
from tamis.methods.sieve.fit import fit_in_memory, fit_size, single_output_sample
from tamis.methods.sieve.loop import score_rows
from tamis.methods.sieve.partitions import fit_partitions
from tamis.methods.sieve.result import (
    NOTHING_SELECTED_MESSAGE,
    FittedAttributes,
    SieveResult,
    with_size,
)
from tamis.methods.sieve.settings import (
    make_feature_groups,
    make_objective,
    make_options,
    requested_strength,
)
from tamis.methods.sieve.stream.readings import TwoReadings
from tamis.methods.sieve.stream.state import SieveStream
from tamis.methods.sieve.table.standard_units import make_sample
from tamis.system.schema import nested_object, optional
from tamis.system.threads import locked

_NO_HELD_OUT_ROWS = (
    "all rows fell into one fold, because they are few or equal, so that none could be held out: "
    "the number of features was not chosen by held-out errors, which are nan in error_, "
    "standard_error_, sizes_ and resolved_params_. Fit more distinct rows to get them."
)

_FEW_DISTINCT = (
    "only {distinct} of the {rows:,} rows are distinct, too few to keep equal rows in one fold: "
    "rows were assigned to folds one by one, so that error_ is the error on new rows of the same "
    "kinds, and too low where rows are copies. Remove the copies to get the error on other rows."
)


@estimator
class Sieve(TwoReadings, FittedAttributes, Selector, Estimator):
    """Base class of the two sieves."""

    loss: TermLike = loss_parameter("logistic")
    n_features_to_select: int | float | Auto = parameter(
        "auto",
        [POSITIVE_INTEGER, OPEN_UNIT_INTERVAL, AUTO],
        'Number of features to select. "auto" takes the smallest number with a held-out error '
        "within `se` standard errors of the smallest error; an int is a number of features, a "
        "float between 0 and 1 a fraction of all columns.",
    )
    se: float = parameter(
        1.0,
        [NON_NEGATIVE],
        "Standard errors of held-out error to give up for fewer features. 0 takes the size of "
        "the smallest error.",
    )
    strength: float | Auto = parameter(
        "auto",
        [UNIT_INTERVAL, AUTO],
        'Penalty on contributions with all features, between 0 and 1. "auto" is 0.1 (conservative '
        "setting), 0.02 (aggressive setting) or 0.005 (aggressive setting, more than 15 % of the "
        "entries stored).",
    )
    n_paths: int | Auto = parameter(
        "auto",
        [POSITIVE_INTEGER, AUTO],
        'Number of paths over all rows, which are averaged. "auto" is 8 (conservative setting) '
        "or 40 (aggressive setting).",
    )
    n_folds: int = parameter(
        5,
        [at_least(2)],
        "Number of folds. The fold of a row depends on its content: equal rows are in one fold, "
        "unless there are fewer than four distinct rows for each fold.",
    )
    tolerance: float = parameter(
        0.0,
        [UNIT_INTERVAL],
        "Fraction of the smallest held-out soft error that may be given up for fewer features, "
        "where that is more than `se` standard errors.",
    )
    feature_groups: Any = feature_groups_parameter(
        "always stays, as in `keep`",
        "The columns of a group are selected or eliminated together, by the root of the sum of "
        "squares of their importances; with `feature_groups`, sizes count groups. ",
        overlap=False,
        kw_only=True,
    )
    keep: Any = parameter(
        None,
        [ARRAY_LIKE, None],
        "Columns that are always selected and never penalised: their numbers, their names, or a "
        "mask of all columns. Sizes do not count them; at size 0 the model has these columns "
        "alone. Constant columns are dropped nevertheless. A stream uses those of its first call.",
        "array-like or None",
        kw_only=True,
    )
    per_class: bool = parameter(
        False,
        [BOOL],
        "With several classes, labels or targets, whether each output has its own support. By "
        "default all outputs share one support.",
        kw_only=True,
    )
    fit_intercept: bool = parameter(
        True,
        [BOOL],
        "Whether to learn an intercept, which is neither penalised nor counted. Without it "
        "columns and targets are not centred.",
        kw_only=True,
    )
    n_sample: int = parameter(
        20000,
        [POSITIVE_INTEGER],
        "Number of rows that `partial_fit` stores for `refine`.",
        kw_only=True,
    )
    n_jobs: int | None = parameter(
        None,
        [Integral, None],
        "Number of threads over the paths; the result does not depend on it.",
        kw_only=True,
    )
    random_state: Seed = parameter(
        None,
        [RANDOM_STATE],
        "Seed of the paths over all rows. The fold fits, hence setting and size, do not depend "
        "on it.",
        kw_only=True,
    )
    _contents: ClassVar[dict] = {
        "_result": nested_object(SieveResult, "columns", "outputs"),
        "_stream": optional(nested_object(SieveStream, "columns", "outputs", "targets")),
    }
    _attributes: ClassVar[str] = """\
        coef_ : ndarray of shape (n_outputs, n_features)
            Weights in the units of X and y; zeros are exact. Computed on each access; a regressor
            with one target has shape (n_features,).
        intercept_ : ndarray of shape (n_outputs,)
            Intercepts.
        support_ : ndarray of int
            Indices of the selected features; for several outputs the union.
        selection_probability_ : ndarray of the shape of `coef_`
            Fraction of the fold fits that select the feature at the chosen size. The fits share
            most of their rows: no bound on false selections follows. A selected feature below one
            half might well not be selected on other rows.
        importance_ : ndarray of the shape of `coef_`
            Absolute weight times the standard deviation of the column: the order in which
            features are shown.
        error_ : float
            Expected error on new rows: the 0/1 error, of a regressor the unexplained fraction of
            the variance of y (1 - R2). It is not the error of the folds that chose setting and
            size: the choice is bootstrapped. With `per_class` an array with an entry for each
            output, as the next two.
        standard_error_ : float
            Its standard error.
        baseline_error_ : float
            Error of the prior alone.
        sizes_ : dict of ndarray
            The path of sizes: "size" (the last is 0, the prior alone), "error" and
            "standard_error" on held-out rows, and "soft_error", by which the size is chosen (of a
            regressor the mean loss in standard units); nan, with a warning from `fit` and
            `refine`, where no row could be held out. With `per_class` a list of such dicts, as
            `history_` and `resolved_params_`.
        history_ : list of dict
            Size, passes, strength and step of the paths over all rows at each level.
        n_iter_ : int
            Number of passes of each of them.
        resolved_params_ : dict
            The chosen setting and size, and their constants.
        n_features_in_ : int
            Number of columns.
        feature_names_in_ : ndarray of str
            Names of the columns, where X had them."""
    _decides_passes = True  # over rows that lie in partitions
    _steps_by_row = True  # a weight scales a step: see tamis.testing

    # ------------------------------------------------------------------ training
    def _fit(self, X, y, sample_weight, screening=None):
        """Validate, encode y, scale the rows, choose size and weights, and set the attributes.

        `screening` sets folds and columns of a fit of screened columns.
        """
        self._validate_params()
        objective = make_objective(self)
        data = validate_training(self, X, y, sample_weight, layout="rows")
        options = make_options(self, data.rows.n_features, is_classifier(self))
        targets, sample_arguments = data.targets, {}
        if screening is not None:
            sample_arguments = screening.sample_arguments(data.row_indices)
        sample = make_sample(
            data.rows, data.columns, data.weights, targets.outputs, options, self.fit_intercept,
            **sample_arguments,
        )  # fmt: skip
        if sample.n_distinct_if_too_few:
            message = _FEW_DISTINCT.format(
                distinct=sample.n_distinct_if_too_few, rows=sample.table.n_rows
            )
            warn_user(message, UserWarning)
        del X, data  # the table has a copy of all of it
        result = self._warn_result(fit_in_memory(sample, objective, options))
        self.__dict__.update(_targets=targets, _result=result)
        self.__dict__.pop("_stream", None)
        return self

    def _fit_partitions(self, partitions, names, sweeps: int, stages: int | None) -> None:
        """Fit rows that lie in partitions; `names` are those of the columns, or None.

        The sieve sets its own number of passes, so `sweeps` and `stages` have no effect.
        """
        self.n_features_in_ = len(partitions.counts.columns)
        if names is not None:
            self.feature_names_in_ = np.array(names, dtype=object)  # for groups given by name
        with partitions.progress():
            result = fit_partitions(self, partitions)
        self._targets, self._result = partitions.counts.targets, self._warn_result(result)

    def _partial_fit(self, X, y, sample_weight, **classes):
        """Validate, learn from the rows in their order, and offer them to the sample.

        A new model is fitted when the number of rows has passed a power of two.
        """
        self._validate_params()
        objective, is_continued = make_objective(self), "_stream" in vars(self)
        rows = validate_matrix(self, X, reset=not is_continued, chunk=True)
        if not is_continued and classes.get("classes", ()) is None and "_result" in vars(self):
            # A stream after a fit: a new model with the same classes.
            classes = {"classes": self._targets.classes}
        weights = validate_sample_weight(sample_weight, rows.n_rows)
        known = self._targets if is_continued else None
        targets, encoded = self._encode_targets(
            y, rows.n_rows, known=known, is_fit=False, **classes
        )
        targets, weights = self._weight_rows(targets, encoded.columns, weights, is_fit=False)
        dimensions = (rows.n_features, targets.outputs, self.n_folds, self.n_sample)
        if is_continued:
            stream = self._stream
        else:
            groups = make_feature_groups(self, rows.n_features)
            stream = SieveStream(*dimensions, is_classifier(self), groups)
        n_rows_before = stream.n_rows
        stream = stream.learn(rows, encoded.columns, weights, objective, requested_strength(self))
        if is_continued:
            self.__dict__.update(_targets=targets, _stream=stream)
        # Decided by the number of rows alone, not by earlier calls or `refine`.
        if not is_continued or stream.n_rows.bit_length() > n_rows_before.bit_length():
            result = self._fit_stream(stream)
            self.__dict__.update(_targets=targets, _stream=stream, _result=result)
        return self

    def _fit_stream(self, stream: SieveStream) -> SieveResult:
        options = make_options(self, stream.n_columns, stream.classes, stream)
        return stream.fit_sample(make_objective(self), options)

    @locked
    def refine(self):
        """Choose features and weights from all rows that `partial_fit` has seen so far; later
        learning does not depend on it.

        `partial_fit` does this by itself whenever the number of rows passes a power of two.

        Returns
        -------
        self : object
        """
        check_is_fitted(self)
        if "_stream" in vars(self):
            self._result = self._warn_result(self._fit_stream(self._stream))
        return self

    def resize(self, k, X=None, y=None, sample_weight=None):
        """Take another number of features from the same fit.

        Parameters
        ----------
        k : int
            Number of features to select, or of groups; with `per_class` in each output. 0 leaves
            the prior, or the columns of `keep`, alone.
        X : {array-like, sparse matrix}, default=None
            The rows of the fit. Without them the weights are those of the paths at the nearest
            larger size of `sizes_`; with them (and `y`) a final phase follows, as in `fit`.
        y : array-like, default=None
            Their targets.
        sample_weight : array-like of shape (n_samples,), default=None
            Their weights.

        Returns
        -------
        self : object
        """
        check_is_fitted(self)
        result, k = self._result, check_scalar(k, "k", Integral, min_val=0)
        largest_stored = min((path.max_size for path in result.size_paths), default=0)
        sizes = result.sizes if isinstance(result.sizes, list) else [result.sizes]
        k = min(
            k,
            max(
                (
                    int(output_sizes["size"][0])
                    for output_sizes in sizes
                    if len(output_sizes["size"])
                ),
                default=0,
            ),
        )
        if k > largest_stored:
            raise ValueError(
                f"k is {k:,}, but this fit holds sizes up to {largest_stored:,}. For more features "
                f"fit again with n_features_to_select={k}."
            )
        if (X is None) != (y is None):
            raise ValueError("resize needs both X and y, or neither.")
        if X is None or not (k or result.n_unpenalized):
            models = [path.model_fields(k, result.n_columns) for path in result.size_paths]
        else:
            models = self._finalize_size(k, X, y, sample_weight)
        self._result = with_size(result, int(k), models)
        return self

    def _finalize_size(self, k: int, X, y, sample_weight) -> list[dict]:
        """Return the fields of the models of `k` features after a final phase on the rows."""
        rows = validate_matrix(self, X, reset=False)
        weights = validate_sample_weight(sample_weight, rows.n_rows)
        targets, encoded = self._encode_targets(y, rows.n_rows, known=self._targets, is_fit=False)
        targets, weights = self._weight_rows(targets, encoded.columns, weights, is_fit=True)
        paths, stream = self._result.size_paths, vars(self).get("_stream")
        options = make_options(self, rows.n_features, is_classifier(self), stream)
        sample = make_sample(
            rows, encoded.columns, weights, targets.outputs, options, self.fit_intercept
        )
        per_output = options.per_class and targets.outputs > 1
        samples = (
            [single_output_sample(sample, c) for c in range(len(paths))] if per_output else [sample]
        )
        resolved = self.resolved_params_ if per_output else [self.resolved_params_]
        return [
            fit_size(output_sample, make_objective(self), options, path, k, params["base"])
            for output_sample, path, params in zip(samples, paths, resolved, strict=True)
        ]

    def _warn_result(self, result: SieveResult) -> SieveResult:
        if not result.has_errors():
            warn_user(_NO_HELD_OUT_ROWS, UserWarning)
        elif result.is_empty():
            prior = "the share of the classes" if is_classifier(self) else "its mean"
            prior = f"the {result.n_unpenalized:,} of `keep`" if result.n_unpenalized else prior
            columns = result.n_columns - result.n_unpenalized
            if columns > 0:
                warn_user(
                    NOTHING_SELECTED_MESSAGE.format(columns=columns, prior=prior), UserWarning
                )
        return result

    def _loss(self):
        return resolve_loss(self)

    # ------------------------------------------------------------------ prediction
    def __sklearn_is_fitted__(self):
        return "_result" in vars(self)

    def _scores(self, X):
        check_is_fitted(self)
        rows, result = validate_matrix(self, X, reset=False), self._result
        if rows.n_features != result.n_columns:
            raise inconsistent_state_error(self)
        scores = np.empty((rows.n_rows, result.n_outputs))
        score_rows(*rows[:3], result.weight_rows(), result.padded_weights(), result.bias, scores)
        return scores

    def _sparse_weights(self) -> SparseWeights:
        """Return the weights of the selected columns."""
        result = self._result
        return SparseWeights(result.columns, result.weights, result.bias)
