"""What the two sieves share: parameters, fits of all rows and of streams, other sizes, and what is
shown.
"""

from numbers import Integral
from typing import Any, ClassVar

import numpy as np
from sklearn.base import is_classifier
from sklearn.utils import check_scalar
from sklearn.utils.validation import check_is_fitted

from tamis.base.estimators.estimator import Estimator, take
from tamis.base.estimators.explaining import Weights
from tamis.base.estimators.selector import Selector
from tamis.base.feature_groups import groups_parameter
from tamis.base.model_parts import loss_of
from tamis.base.parameters import (
    ARRAY,
    AUTO,
    BOOL,
    COUNT,
    FRACTION,
    NUMBER,
    RANDOM,
    SHARE,
    Auto,
    Seed,
    TermLike,
    at_least,
    estimator,
    loss_parameter,
    parameter,
)
from tamis.base.validation import half_fitted, take_matrix, take_weights, warn_user
from tamis.methods.sieve.fit import fit_in_memory, fit_size, one_output
from tamis.methods.sieve.loop import score_given
from tamis.methods.sieve.partitions import fit_partitions
from tamis.methods.sieve.result import NOTHING_FOUND, Result, Shows, resized
from tamis.methods.sieve.settings import feature_groups_of, options_of, strength_of, task_of
from tamis.methods.sieve.stream.readings import TwoReadings
from tamis.methods.sieve.stream.state import SieveStream
from tamis.methods.sieve.table.columns import sample_of
from tamis.system.schema import optional, part
from tamis.system.threads import locked

_NONE_HELD_OUT = (
    "all rows fell into one fold, because they are few or alike, so that none could be held out: "
    "the number of features was not chosen by held-out errors, which are nan in error_, "
    "standard_error_, sizes_ and resolved_params_."
)

_FEW_DISTINCT = (
    "only {distinct} of the {rows:,} rows are distinct, too few to hold all rows alike out "
    "together: rows were dealt out to folds one by one, so that error_ is about new rows of the "
    "same kinds, and too low where rows are mere copies."
)


@estimator
class Sieve(TwoReadings, Shows, Selector, Estimator):
    """What the two sieves share: parameters, a fit of all rows, a stream, and what a fit shows."""

    loss: TermLike = loss_parameter("logistic")
    n_features_to_select: int | float | Auto = parameter(
        "auto",
        [COUNT, FRACTION, AUTO],
        'How many features to keep. "auto" takes the fewest whose held-out error is within `se` '
        "standard errors of the least; an int is a number of features, a float between 0 and 1 a "
        "share of all columns.",
    )
    se: float = parameter(
        1.0,
        [NUMBER],
        "How many standard errors of held-out error to give up for fewer features. 0 takes the "
        "size of least error.",
    )
    strength: float | Auto = parameter(
        "auto",
        [SHARE, AUTO],
        'Penalty on contributions with all features, between 0 and 1. "auto" is 0.1 (conservative '
        "setting), 0.02 (aggressive setting) or 0.005 (aggressive setting, more than 15 % of the "
        "entries filled).",
    )
    n_paths: int | Auto = parameter(
        "auto",
        [COUNT, AUTO],
        'Paths over all rows, averaged. "auto" is 8 (conservative base) or 40 (aggressive base).',
    )
    n_folds: int = parameter(
        5,
        [at_least(2)],
        "Number of folds. The fold of a row comes from its content: equal rows share one, unless "
        "fewer than four a fold are distinct.",
    )
    tolerance: float = parameter(
        0.0,
        [SHARE],
        "Share of the least held-out soft error that may be given up for fewer features, where "
        "that is more than `se` standard errors.",
    )
    feature_groups: Any = groups_parameter(
        "always stays, as in `keep`",
        "The columns of a group stay or leave together, by the root of the sum of squares of their "
        "importances; with `feature_groups`, sizes count groups. ",
        overlap=False,
        kw_only=True,
    )
    keep: Any = parameter(
        None,
        [ARRAY, None],
        "Columns that are always kept and never penalised: their numbers, their names, or a mask "
        "of all columns. They come on top of the chosen size, and none is a size: they are then "
        "kept alone. A column of one value is dropped all the same. A stream keeps those of its "
        "first call.",
        "array-like or None",
        kw_only=True,
    )
    per_class: bool = parameter(
        False,
        [BOOL],
        "With several classes, labels or targets, whether each has a support of its own. By "
        "default one support serves all.",
        kw_only=True,
    )
    fit_intercept: bool = parameter(
        True,
        [BOOL],
        "Whether to learn an intercept; it is neither penalised nor counted. Without it nothing "
        "is centred.",
        kw_only=True,
    )
    n_sample: int = parameter(
        20000, [COUNT], "Rows that `partial_fit` keeps for `refine`.", kw_only=True
    )
    n_jobs: int | None = parameter(
        None,
        [Integral, None],
        "Threads over the paths; the result does not depend on it.",
        kw_only=True,
    )
    random_state: Seed = parameter(
        None,
        [RANDOM],
        "Seed of the paths over all rows. The fold groups, hence base and size, do not depend on "
        "it.",
        kw_only=True,
    )
    _contents: ClassVar[dict] = {
        "_result": part(Result, "columns", "outputs"),
        "_stream": optional(part(SieveStream, "columns", "outputs", "targets")),
    }
    _attributes: ClassVar[str] = """\
        coef_ : ndarray of shape (n_outputs, n_features)
            Weights in the units of X and y; zeros are exact. Made on demand; a regressor with one
            target has shape (n_features,).
        intercept_ : ndarray of shape (n_outputs,)
            Intercepts.
        support_ : ndarray of int
            Indices of the kept features; for several outputs the union.
        selection_probability_ : ndarray of the shape of `coef_`
            Share of the fold groups that keep the feature at the chosen size. The groups share most
            of their rows: no bound on false selections follows. A kept feature below one half is
            one that other rows might well not have kept.
        importance_ : ndarray of the shape of `coef_`
            Size of the weight times the standard deviation of its column: the order in which
            features are shown.
        error_ : float
            Error to expect on new rows: 0/1 error, of a regressor the share of the variance of y
            that is left unexplained (1 - R2). It is not read off the folds that chose base and
            size: the choice is bootstrapped. With `per_class` an array, one an output; so are the
            next two.
        standard_error_ : float
            Its standard error.
        baseline_error_ : float
            Error of the prior alone.
        sizes_ : dict of ndarray
            The path of sizes: "size" (the last is 0, the prior alone), "error" and
            "standard_error" on rows that the paths did not see, and "soft_error", which the size is
            chosen by (of a regressor the mean loss in standard units); nan, with a warning from
            `fit` and `refine`, where no row could be held out. With `per_class` a list of such
            dicts; so are `history_` and `resolved_params_`.
        history_ : list of dict
            What the paths over all rows did, level by level.
        n_iter_ : int
            Passes that each of them made.
        resolved_params_ : dict
            Base, constants and size that were chosen.
        n_features_in_ : int
            Number of columns.
        feature_names_in_ : ndarray of str
            Names of the columns, where X had them."""
    _decides_passes = True  # over rows that lie in partitions
    _walks_rows = True  # a weight scales a step: see tamis.testing

    # ------------------------------------------------------------------ training
    def _fit(self, X, y, sample_weight, screened=None):
        """Validate, encode y, bring the rows to standard units, choose size and weights, set the
        attributes.
        """
        self._validate_params()
        task = task_of(self)
        data = take(self, X, y, sample_weight, layout="rows")
        options = options_of(self, data.rows.n_features, is_classifier(self))
        targets, screen = data.targets, {}
        if screened is not None:
            screen = screened.folds_of(data.kept)
        sample = sample_of(
            data.rows, data.columns, data.weights, targets.outputs, options, self.fit_intercept,
            **screen,
        )  # fmt: skip
        if sample.too_few:
            text = _FEW_DISTINCT.format(distinct=sample.too_few, rows=sample.table.n_rows)
            warn_user(text, UserWarning)
        del X, data  # the table has all of it
        result = self._warned(fit_in_memory(sample, task, options))
        self.__dict__.update(_targets=targets, _result=result)
        self.__dict__.pop("_stream", None)
        return self

    def _fit_partitions(self, partitions, names, sweeps: int, stages: int | None) -> None:
        """Learn from rows that lie in partitions, whose columns may have names; a sieve knows how
        often it walks them.
        """
        self.n_features_in_ = len(partitions.counts.columns)
        if names is not None:
            self.feature_names_in_ = np.array(names, dtype=object)  # groups may be said by them
        with partitions.progress():
            result = fit_partitions(self, partitions)
        self._targets, self._result = partitions.counts.targets, self._warned(result)

    def _partial_fit(self, X, y, sample_weight, **classes):
        """Check, walk the rows once in their order, offer them to the sample; a model where the
        rows have passed a power of two.
        """
        self._validate_params()
        task, again = task_of(self), "_stream" in vars(self)
        rows = take_matrix(self, X, reset=not again, chunk=True)
        if not again and classes.get("classes", ()) is None and "_result" in vars(self):
            # A stream after a fit: another model, but of the same classes.
            classes = {"classes": self._targets.classes}
        weights = take_weights(sample_weight, rows.n_rows)
        known = self._targets if again else None
        targets, coded = self._code(y, rows.n_rows, known=known, whole=False, **classes)
        targets, weights = self._weigh(targets, coded.columns, weights, whole=False)
        sizes = (rows.n_features, targets.outputs, self.n_folds, self.n_sample)
        if again:
            stream = self._stream
        else:
            groups = feature_groups_of(self, rows.n_features)
            stream = SieveStream(*sizes, is_classifier(self), groups)
        before = stream.n_rows
        stream = stream.learn(rows, coded.columns, weights, task, strength_of(self))
        if again:
            self.__dict__.update(_targets=targets, _stream=stream)
        # By the number of rows alone: neither earlier calls nor `refine` shift the moment.
        if not again or stream.n_rows.bit_length() > before.bit_length():
            result = self._refined(stream)
            self.__dict__.update(_targets=targets, _stream=stream, _result=result)
        return self

    def _refined(self, stream: SieveStream) -> Result:
        options = options_of(self, stream.n_columns, stream.classes, stream)
        return stream.refined(task_of(self), options)

    @locked
    def refine(self):
        """Choose features and weights from all that `partial_fit` has seen so far; what the stream
        learns later does not depend on it.

        `partial_fit` does this by itself whenever the rows seen pass a power of two.

        Returns
        -------
        self : object
        """
        check_is_fitted(self)
        if "_stream" in vars(self):
            self._result = self._warned(self._refined(self._stream))
        return self

    def resize(self, k, X=None, y=None, sample_weight=None):
        """Take another number of features from the same fit.

        Parameters
        ----------
        k : int
            Number of features to keep, or of groups; with `per_class` in each output. 0 leaves the
            prior, or the columns of `keep`, alone.
        X : {array-like, sparse matrix}, default=None
            The rows of the fit. Without them the weights are those that the paths had at the
            nearest larger size of `sizes_`; with them (and `y`) they get a final phase of their
            own, as in `fit`.
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
        most = min((path.largest for path in result.size_paths), default=0)
        sizes = result.sizes if isinstance(result.sizes, list) else [result.sizes]
        k = min(k, max((int(one["size"][0]) for one in sizes if len(one["size"])), default=0))
        if k > most:
            raise ValueError(
                f"k is {k:,}, but this fit holds sizes up to {most:,}. For more features fit again "
                f"with n_features_to_select={k}."
            )
        if (X is None) != (y is None):
            raise ValueError("resize needs both X and y, or neither.")
        if X is None or not (k or result.always):
            models = [path.model(k, result.n_columns) for path in result.size_paths]
        else:
            models = self._polished(k, X, y, sample_weight)
        self._result = resized(result, int(k), models)
        return self

    def _polished(self, k: int, X, y, sample_weight) -> list[dict]:
        """Fields of the models of `k` features after a final phase on the rows of the fit."""
        rows = take_matrix(self, X, reset=False)
        weights = take_weights(sample_weight, rows.n_rows)
        targets, coded = self._code(y, rows.n_rows, known=self._targets, whole=False)
        targets, weights = self._weigh(targets, coded.columns, weights, whole=True)
        paths, stream = self._result.size_paths, vars(self).get("_stream")
        options = options_of(self, rows.n_features, is_classifier(self), stream)
        sample = sample_of(
            rows, coded.columns, weights, targets.outputs, options, self.fit_intercept
        )
        several = options.per_class and targets.outputs > 1
        samples = [one_output(sample, c) for c in range(len(paths))] if several else [sample]
        resolved = self.resolved_params_ if several else [self.resolved_params_]
        return [
            fit_size(own, task_of(self), options, path, k, one["base"])
            for own, path, one in zip(samples, paths, resolved, strict=True)
        ]

    def _warned(self, result: Result) -> Result:
        if not result.is_judged():
            warn_user(_NONE_HELD_OUT, UserWarning)
        elif result.is_empty():
            prior = "the share of the classes" if is_classifier(self) else "its mean"
            prior = f"the {result.always:,} of `keep`" if result.always else prior
            columns = result.n_columns - result.always
            if columns > 0:
                warn_user(NOTHING_FOUND.format(columns=columns, prior=prior), UserWarning)
        return result

    def _loss(self):
        return loss_of(self)

    # ------------------------------------------------------------------ what a fit shows
    def __sklearn_is_fitted__(self):
        return "_result" in vars(self)

    def _scores(self, X):
        check_is_fitted(self)
        rows, result = take_matrix(self, X, reset=False), self._result
        if rows.n_features != result.n_columns:
            raise half_fitted(self)
        scores = np.empty((rows.n_rows, result.n_outputs))
        score_given(*rows[:3], result.places(), result.padded(), result.bias, scores)
        return scores

    def _kept_weights(self) -> Weights:
        """The weights of the kept columns."""
        result = self._result
        return Weights(result.columns, result.weights, result.bias)
