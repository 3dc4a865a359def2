"""The sieve: few features, chosen without tuning, and nearly the same ones whatever the order of
the rows.
"""

from numbers import Integral
from typing import ClassVar

import numpy as np
from sklearn.base import is_classifier
from sklearn.feature_selection import SelectorMixin
from sklearn.utils.validation import check_is_fitted

from tamis.base.border import half_fitted, take_matrix, take_weights, warn_user
from tamis.base.contents import optional, part
from tamis.base.estimators.classifier import ClassStream, LikelyClassifier
from tamis.base.estimators.estimator import Estimator, take
from tamis.base.estimators.regressor import NumberStream, Regressor
from tamis.base.parameters import (
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
from tamis.methods.sieve.columns import sample_of
from tamis.methods.sieve.fit import Result, sieve
from tamis.methods.sieve.loop import score_given
from tamis.methods.sieve.settings import options_of, strength_of, task_of
from tamis.methods.sieve.stream.readings import TwoReadings
from tamis.methods.sieve.stream.state import SieveStream
from tamis.solvers.pairing import loss_of

_NONE_HELD_OUT = (
    "all rows fell into one fold, because they are few or alike, so that none could be held out: "
    "the number of features was not chosen by held-out errors, which are nan in path_ and "
    "resolved_params_."
)


@estimator
class Sieve(TwoReadings, SelectorMixin, Estimator):
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
        'Penalty on contributions with all features, between 0 and 1. "auto" is 0.1 (calm base), '
        "0.02 (bold base) or 0.005 (bold base, more than 15 % of the entries filled).",
    )
    n_paths: int | Auto = parameter(
        "auto",
        [COUNT, AUTO],
        'Paths over all rows, averaged. "auto" is 8 (calm base) or 40 (bold base).',
    )
    n_folds: int = parameter(
        5,
        [at_least(2)],
        "Number of folds. The fold of a row comes from its content: equal rows share one.",
    )
    min_features: int = parameter(4, [COUNT], 'Least number of features that "auto" may choose.')
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
            Share of the fold groups that kept the feature at the level of the chosen size. The
            groups share most of their rows: no bound on false selections follows.
        path_ : dict of ndarray
            The ladder: "n_features", "soft_error" (which the size is chosen by; of a regressor the
            mean loss in standard units) and "error" (0/1; of a regressor the mean absolute error),
            both on rows that the paths did not see; nan, with a warning from `fit` and `refine`,
            where no row could be held out. With `per_class` a list of such dicts; so are
            `history_` and `resolved_params_`.
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
    _walks_rows = True  # a weight scales a step: see tamis.testing

    # ------------------------------------------------------------------ training
    def _fit(self, X, y, sample_weight, screened=None):
        """Check, settle the order of the rows, sieve, store."""
        self._validate_params()
        task = task_of(self)
        rows, targets, columns, weights, *_ = taken = take(self, X, y, sample_weight, layout="rows")
        options = options_of(self, rows.n_features, is_classifier(self))
        sample = sample_of(rows, columns, weights, targets.outputs, options, self.fit_intercept)
        sample = screened.of(sample, taken) if screened else sample
        result = self._warned(sieve(sample, task, options))
        self.__dict__.update(_targets=targets, _result=result)
        self.__dict__.pop("_stream", None)
        return self

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
        stream = self._stream if again else SieveStream(*sizes, is_classifier(self))
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
        return stream.refined(task_of(self), options_of(self, stream.n_columns, stream.classes))

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

    def _warned(self, result: Result) -> Result:
        if not result.is_judged():
            warn_user(_NONE_HELD_OUT, UserWarning)
        return result

    def _loss(self):
        return loss_of(self)

    # ------------------------------------------------------------------ what a fit shows
    def _shown(self, name: str) -> Result:
        """The model that was made last."""
        if "_result" not in vars(self):
            raise AttributeError(f"{type(self).__name__} has no attribute {name!r} before fit.")
        return self._result

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

    def _get_support_mask(self):
        check_is_fitted(self)
        mask = np.zeros(self.n_features_in_, dtype=bool)
        mask[self.support_] = True
        return mask

    @property
    def coef_(self):
        """Weights, of shape (n_outputs, n_features); made on demand."""
        weights = self._shown("coef_").all_weights()
        return self._targets.shaped(weights)

    @property
    def intercept_(self):
        """Intercepts, one an output."""
        return self._shown("intercept_").bias.copy()

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
        shares = self._shown("selection_probability_").all_shares()
        return self._targets.shaped(shares)

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


@estimator
class SieveClassifier(ClassStream, LikelyClassifier, Sieve):
    r"""Sparse linear classifier that chooses its features and their number by itself: the sieve.

    Paths of averaged stochastic gradient descent minimise

    .. math:: \frac{1}{n} \sum_i \ell(w^T z_i + b, y_i)
       + \frac{\lambda}{n} \sum_i \sum_j |z_{ij} w_j|

    where z are the columns in units of their root mean square (columns filled in more than 90 % of
    the rows are centred as well). The penalty is on *contributions*: rescaling a column changes
    nothing, and a row costs as much as its nonzeros. Down a ladder of sizes the features with the
    largest pooled weights stay and the others leave. Groups of paths that never see one fold each
    give a smooth held-out error for every size, under two base settings: calm (short steps, strong
    penalty) and bold (long steps, weak penalty, both by the share of the rarer class). The bold one
    is taken when it wins, row by row and in soft and 0/1 error, by more than a standard error; it
    runs alone, and errors are balanced over the classes, when the rarer class has less than a fifth
    of the rows. The smallest size within `se` standard errors of the least error is chosen, and
    paths over all rows go there.

    It is meant for sparse data of many columns, such as text: there, untuned and in a second or so,
    it has had lower error than cross-validated L1 with few features. Rare classes are served too,
    with more features. On dense data of few columns, such as images, a tuned `FTRLClassifier` that
    keeps most columns has lower error. Counts of words should be scaled to rows of unit length
    first.

    Its stability is that against chance: the same rows in any order give the same model to the bit,
    and other seeds nearly the same features. It does not cover a change of the data: of features
    chosen from other samples of the same source a third may differ. `StabilitySelector` looks at
    that.

    {parameters}

    {attributes}

    See Also
    --------
    FTRLClassifier : One pass, one rate a feature; for dense data, or if error is all that counts.
    SieveRegressor : The same for numbers.

    Notes
    -----
    `partial_fit` learns the models of the top of the ladder in one pass and keeps a sample of the
    rows, on which the ladder runs whenever the number of rows seen (those of weight 0 left out) has
    passed a power of two by the end of a call, or `refine` is called. How rows are cut into calls
    matters only to those moments. Until the sample is full a model is a `fit` of all distinct rows;
    then it loses accuracy, for weights are relearnt from the sample; `train`, on rows that can be
    read twice, does not. A stream holds 48 bytes x (`n_folds` + 1) a column.

    References
    ----------
    The method is tamis's own. Its penalty is per occurrence, as is the truncation of Y. Ma and T.
    Zheng, "Stabilized Sparse Online Learning for Sparse Data", Journal of Machine Learning Research
    18, 2018.

    Examples
    --------
    >>> from tamis import SieveClassifier
    >>> from tamis.datasets import make_text
    >>> X, y, planted = make_text(n_samples=2000, n_features=5000, random_state=0)
    >>> model = SieveClassifier(random_state=0).fit(X[:1500], y[:1500])
    >>> model.score(X[1500:], y[1500:]) > 0.8
    True
    >>> len(model.support_) < 500
    True
    >>> model.transform(X).shape[1] == len(model.support_)
    True
    """


@estimator
class SieveRegressor(NumberStream, Regressor, Sieve):
    r"""Sparse linear regressor that chooses its features and their number by itself: the sieve.

    Paths of averaged stochastic gradient descent minimise

    .. math:: \frac{1}{n} \sum_i \ell(w^T z_i + b, u_i)
       + \frac{\lambda}{n} \sum_i \sum_j |z_{ij} w_j|

    where z are the columns in units of their root mean square (columns filled in more than 90 % of
    the rows are centred as well) and u is y less its median, over 1.4826 times its median absolute
    deviation: strengths, and the width of a Huber loss, are in units of the spread of y. Steps are
    held back (implicit steps) where a long one would overshoot. The rest is as in
    `SieveClassifier`; sizes are chosen by the held-out loss.

    Choose it for many columns, sparse or not, of which few matter. With few columns that all
    matter, use `FTRLRegressor` or a ridge regression. What its stability covers, and when a stream
    makes its models, is said at `SieveClassifier`.

    {parameters}

    {attributes}

    See Also
    --------
    FTRLRegressor : One pass, one rate a feature.
    SieveClassifier : The same for classes.

    References
    ----------
    The method is tamis's own; see `SieveClassifier`.

    Examples
    --------
    >>> import numpy as np
    >>> from tamis import SieveRegressor
    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(500, 100))
    >>> y = 3 * X[:, 0] - 2 * X[:, 1] + 0.1 * rng.normal(size=500)
    >>> model = SieveRegressor(min_features=1, random_state=0).fit(X, y)
    >>> model.support_.tolist()
    [0, 1]
    >>> model.coef_[:2].round(1).tolist()
    [3.0, -2.0]
    """

    loss: TermLike = loss_parameter("squared_error")
