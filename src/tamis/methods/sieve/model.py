"""What the two sieves share: parameters, a fit of all rows, a stream, and what a fit shows."""

from numbers import Integral, Real
from typing import ClassVar

import numpy as np
from sklearn.base import is_classifier
from sklearn.feature_selection import SelectorMixin
from sklearn.utils import check_random_state
from sklearn.utils._param_validation import Interval
from sklearn.utils.validation import check_is_fitted

from tamis.base.border import half_fitted, take_matrix, take_weights
from tamis.base.contents import optional, part
from tamis.base.estimator import Estimator
from tamis.base.machine.threads import count_threads
from tamis.base.parameters import AUTO, COUNT, NUMBER, SHARE, TERM
from tamis.methods.sieve.fit import Wishes, as_standard, fold_of, hashed, settled_order, tabulate
from tamis.methods.sieve.loop import score_given
from tamis.methods.sieve.paths import Task
from tamis.methods.sieve.result import Result, sieve_outputs
from tamis.methods.sieve.stream import SieveStream
from tamis.solvers.pairing import loss_of
from tamis.base.parameters import is_auto

CONSTRAINTS = {
    "loss": TERM,
    "n_features": [COUNT, Interval(Real, 0, 1, closed="neither"), AUTO],
    "se": [NUMBER],
    "strength": [SHARE, AUTO],
    "n_paths": [COUNT, AUTO],
    "n_folds": [Interval(Integral, 2, None, closed="left")],
    "min_features": [COUNT],
    "per_class": ["boolean"],
    "fit_intercept": ["boolean"],
    "n_sample": [COUNT],
    "n_jobs": [Integral, None],
    "random_state": ["random_state"],
}


class SieveModel(SelectorMixin, Estimator):
    """Base of the sieves."""

    _contents: ClassVar[dict] = {
        "_result": optional(part(Result, "columns", "outputs")),
        "_stream": optional(part(SieveStream, "columns", "outputs", "targets")),
    }
    _walks_rows = True  # a weight scales a step: see tamis.testing
    grow = (
        False  # the shared treatment of classes asks; a sieve's classes are those of its first call
    )

    # ------------------------------------------------------------------ training
    def _fit(self, X, y, sample_weight):
        """Check, settle the order of the rows, sieve, store."""
        self._validate_params()
        task = self._task()
        rows = take_matrix(self, X, reset=True)
        targets = self._take_targets(y, rows.n_rows, first=True, whole=True)
        weights = take_weights(sample_weight, rows.n_rows, some=True)
        weights = self._weigh_present(targets, weights)
        units = self._units(targets, weights)
        hashes, wishes = hashed(rows), self._wishes(rows.n_features)
        order = settled_order(hashes, targets, weights)
        table, columns = tabulate(
            rows, as_standard(targets, units), weights, order, self._outputs(), self.fit_intercept
        )
        folds = fold_of(hashes[order], wishes.folds)
        result = sieve_outputs(
            table, columns, folds, task, wishes, is_classifier(self), self.per_class, units
        )
        # In a single step: a thread that looks finds the stream or the result, never neither.
        vars(self).update(_result=result, _stream=None)
        del self._stream
        return self

    def _partial_fit(self, X, y, sample_weight, **classes):
        """Check, walk the rows once in their order, offer them to the sample."""
        self._validate_params()
        task, again = self._task(), "_stream" in vars(self)
        rows = take_matrix(self, X, reset=not again, chunk=True)
        if not again and classes.get("classes", ()) is None and "_result" in vars(self):
            classes = {
                "classes": self.classes_
            }  # a stream after a fit: another model, but of the same classes
        targets = self._take_targets(y, rows.n_rows, first=not again, whole=False, **classes)
        weights = self._weigh(targets, take_weights(sample_weight, rows.n_rows), whole=False)
        stream = (
            self._stream
            if again
            else SieveStream(
                rows.n_features, self._outputs(), self.n_folds, self.n_sample, is_classifier(self)
            )
        )
        self._stream = stream.learn(
            rows, targets, weights, task, None if is_auto(self.strength) else float(self.strength)
        )
        if not again:
            vars(self).pop("_result", None)
        return self

    def refine(self):
        """Choose features and weights from all that `partial_fit` has seen so far; the stream
        itself is not touched.

        Done by itself when something of the model is looked at and the rows have doubled since the
        last time.

        Returns
        -------
        self : object
        """
        check_is_fitted(self)
        if "_stream" in vars(self):
            self._refine(self._stream)
        return self

    def _refine(self, stream: SieveStream) -> Result:
        """The result of the stream as it stands, which stays as it is; it is kept unless another
        thread has begun a new fit meanwhile.
        """
        at, wishes = stream.n_rows, self._wishes(stream.n_columns)
        result = stream.refined(
            self._task(), wishes, self.per_class, self.fit_intercept, self._units
        )
        now = vars(self).get("_stream")
        if now is not None and now.states is stream.states:
            self._result, now.refined_at = result, at
        return result

    def _task(self) -> Task:
        loss = loss_of(self)
        bend = loss.bend()
        # Losses whose slope is unbounded (curvature above the logistic one's) would overshoot with
        # long steps.
        return Task(loss, float(bend) if 0.25 < bend < np.inf else 0.0, float(self.fit_intercept))

    def _terms(self):
        return (loss_of(self),), ()

    def _wishes(self, n_columns: int) -> Wishes:
        wanted = self.n_features
        if not is_auto(wanted):
            wanted = float(
                wanted if isinstance(wanted, Integral) else max(1, round(wanted * n_columns))
            )
        return Wishes(
            n_features=None if is_auto(self.n_features) else wanted,
            se=float(self.se),
            strength=None if is_auto(self.strength) else float(self.strength),
            paths=None if is_auto(self.n_paths) else int(self.n_paths),
            folds=int(self.n_folds),
            smallest=int(self.min_features),
            seed=int(check_random_state(self.random_state).randint(2**31 - 1)),
            threads=count_threads(self.n_jobs),
        )

    def _weigh_present(self, targets, weights):
        """Row weights times class weights; rows of weight 0 are not counted among their class."""
        if not len(weights) or weights.all():
            return self._weigh(targets, weights, whole=True)
        present, filled = weights > 0.0, np.zeros(len(weights))
        filled[present] = self._weigh(targets[present], weights[present], whole=True)
        return filled

    # ------------------------------------------------------------------ what a fit shows
    def _shown(self, name="result") -> Result:
        """The present result; that of a stream is made when it is asked for."""
        stream, result = vars(self).get("_stream"), vars(self).get("_result")
        if stream is not None and (result is None or stream.n_rows >= 2 * stream.refined_at):
            return self._refine(stream)
        if result is None:
            raise AttributeError(f"{type(self).__name__} has no attribute {name!r} before fit.")
        return result

    def __sklearn_is_fitted__(self):
        return "_result" in vars(self) or "_stream" in vars(self)

    def _scores(self, X):
        check_is_fitted(self)
        rows, result = take_matrix(self, X, reset=False), self._shown()
        if rows.n_features != result.n_columns:
            raise half_fitted(self)
        scores = np.empty((rows.n_rows, result.n_outputs))
        score_given(*rows[:3], result.places(), result.padded(), result.bias, scores)
        return scores

    def _get_support_mask(self):
        check_is_fitted(self)
        mask = np.zeros(self.n_features_in_, dtype=bool)
        mask[self.support_] = True
        return mask

    @property
    def coef_(self):
        """Weights, of shape (n_outputs, n_features); made on demand."""
        return self._shape_coef(self._shown("coef_").spread("weights"))

    @property
    def intercept_(self):
        """Intercepts, one an output."""
        return self._shape_intercept(self._shown("intercept_").bias.copy())

    @property
    def support_(self):
        """Indices of the kept features; for several outputs the union."""
        result = self._shown("support_")
        return result.columns[result.weights.any(axis=1)]

    @property
    def selection_probability_(self):
        """Share of the fold groups that kept a feature at the level of the chosen size; the shape
        is that of `coef_`.
        """
        return self._shape_coef(self._shown("selection_probability_").spread("shares"))

    @property
    def path_(self):
        """Sizes of the ladder, with the held-out errors at each."""
        return self._shown("path_").path

    @property
    def history_(self):
        """What the paths over all rows did, level by level."""
        return self._shown("history_").history

    @property
    def n_iter_(self):
        """Passes that each path over all rows made."""
        return int(self._shown("n_iter_").n_iter)

    @property
    def resolved_params_(self):
        """The setting and the size that were chosen, and the constants behind them."""
        return self._shown("resolved_params_").resolved

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        return tags
