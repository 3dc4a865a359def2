"""What the confidence-weighted models share: one second-order pass, margins with their deviations,
and words for it.
"""

from typing import ClassVar

from tamis.base.border import warn_user
from tamis.base.classifier import Classes
from tamis.base.contents import part
from tamis.base.margins import Margins
from tamis.base.regressor import Numbers
from tamis.base.rows import frozen
from tamis.base.stream import OnlineLinear
from tamis.methods.confidence.state import ConfidenceEngine
from tamis.terms.gains import Sides, Tube

LARGEST = 2**33  # bytes of full covariances; beyond, a machine would swap rather than learn

_PARAMETERS_DOC = """\
fit_intercept : bool, default=True
    Whether to learn an intercept: the weight of a constant column, which takes part in the
    covariance like any other.
max_iter : int, default=1
    Most passes over the data in `fit`. One is the rule: a row's weight in the covariance grows with
    each pass.
tol : float or None, default=1e-3
    `fit` ends when the mean loss of a pass has not improved by `tol` times the first pass's loss
    for `n_iter_no_change` passes. None runs all passes.
n_iter_no_change : int, default=3
    Passes without improvement before `fit` ends.
shuffle : bool, default=True
    Whether `fit` walks the rows in a new order each pass. `partial_fit` never shuffles.
warm_start : bool, default=False
    Whether `fit` goes on from the present state.
random_state : int, RandomState instance or None, default=None
    Seed of the shuffles.
verbose : bool or "auto", default="auto"
    Progress bar of `fit`: "auto" shows it on a terminal after three seconds.
"""
_ATTRIBUTES_DOC = """\
coef_ : ndarray of shape (n_outputs, n_features)
    Means of the weights. Made on demand; a regressor with one target has shape (n_features,).
intercept_ : ndarray of shape (n_outputs,)
    Intercepts.
variance_ : ndarray of the shape of `coef_`
    Variances of the weights: the diagonal of the covariance. Made on demand. A feature that no row
    has changed has the variance of the start.
support_ : ndarray of int
    Indices of the features whose weight is not 0.
n_iter_ : int
    Passes made.
t_ : int
    Rows seen, over all passes.
history_ : list of dict
    Per pass: rows seen, mean loss of each row before it was learnt (what its margin lacks to 1),
    nonzero weights. In a stream, whenever its length doubles.
resolved_params_ : dict
    The constants behind the parameters.
n_features_in_ : int
    Number of columns.
feature_names_in_ : ndarray of str
    Names of the columns, where X had them.
"""


class SecondOrder(Margins):
    """A learner by a mean and a covariance of the weights; a recipe adds its parameters and
    `_gain`. Stands before the targets' class.
    """

    _contents: ClassVar[dict] = {"_engine": part(ConfidenceEngine, "columns", "outputs")}
    _family_doc: tuple[str, str] | None = (_PARAMETERS_DOC, _ATTRIBUTES_DOC)
    # Parameters of the other online models that this family does not offer, at the values that
    # switch them off.
    covariance = "diagonal"  # where a recipe does not ask
    average = positive = grow = early_stopping = False
    n_jobs = class_weight = None

    def __init__(
        self,
        *,
        fit_intercept=True,
        max_iter=1,
        tol=1e-3,
        n_iter_no_change=3,
        shuffle=True,
        warm_start=False,
        random_state=None,
        verbose="auto",
    ):
        self.fit_intercept = fit_intercept
        self.max_iter = max_iter
        self.tol = tol
        self.n_iter_no_change = n_iter_no_change
        self.shuffle = shuffle
        self.warm_start = warm_start
        self.random_state = random_state
        self.verbose = verbose

    # ------------------------------------------------------------------ training
    def _terms(self):
        return (self._aim(), self._gain()), (float(self.fit_intercept), self._start())

    def _start(self) -> float:
        """Precision of each weight before the first row."""
        return 1.0

    def _prepare(self, terms, flags, rows, again):
        """A new engine, or the present one with today's parameters."""
        if not again:
            self.history_: list[dict] = []
            self._engine = self._new_engine(terms, flags, rows.n_features)
            return
        if self._engine.full != self._is_full() or self._engine.flags[1] != flags[1]:
            raise ValueError(
                f"{type(self).__name__}: `covariance` or its start changed since the model was "
                "fitted; call fit with warm_start=False."
            )
        self._engine.terms, self._engine.flags = terms, flags

    def _is_full(self) -> bool:
        return self.covariance == "full"

    def _new_engine(self, terms, flags, n_features):
        outputs = self._outputs()
        needed = 8 * outputs * (n_features + 2) * (n_features + 1)
        if self._is_full() and needed > LARGEST:
            raise ValueError(
                f"{type(self).__name__}: covariance='full' holds a number for each pair of columns "
                f"and each class, here {needed / 2**30:.0f} GiB "
                f"for {n_features} columns; at most {LARGEST / 2**30:.0f} GiB are allowed. Use "
                "covariance='diagonal', or select columns first."
            )
        return ConfidenceEngine(terms, flags, n_features, outputs, full=self._is_full())

    def _weigh(self, targets, weights, *, whole):
        """Row weights; where the method has no loss that they could scale, a row is learnt or
        skipped.
        """
        weights = super()._weigh(targets, weights, whole=whole)
        if self._gain().weighs() or not len(weights):
            return weights
        odd = weights[(weights != 0.0) & (weights != 1.0)]
        if len(odd):
            warn_user(
                f"{type(self).__name__} has no loss that weights could scale: a row is learnt, or "
                "skipped if its weight is 0. The size of weights "
                f"(such as {odd[0]:g}) has no effect. Use AROWClassifier, SCWClassifier or "
                "PAClassifier(variant='PA-I').",
                UserWarning,
            )
        return frozen((weights > 0.0).astype(float))

    # ------------------------------------------------------------------ warnings
    def _diverged(self):
        raise FloatingPointError(
            f"{type(self).__name__}: a margin became infinite or nan in pass {self.n_iter_}; the "
            "numbers of X are too large or too small. "
            "Scale the columns, or bring the rows to unit length."
        )

    def _warn_empty(self):
        warn_user(
            f"{type(self).__name__} learnt no weight: no row with nonzero columns was short of its "
            "margin.",
            UserWarning,
        )

    # ------------------------------------------------------------------ what a fit shows
    def _margin_variance(self, X):
        engine, rows = self._asked(X)
        scores, variances = engine.look(rows)
        single = self._outputs() == 1 and not getattr(self, "multilabel_", False)
        return (scores[:, 0], variances[:, 0]) if single else (scores, variances)

    @property
    def variance_(self):
        """Variances of the weights, in the shape of `coef_`; made on demand."""
        return self._shape_coef(self._fitted("variance_").variances())

    @property
    def resolved_params_(self):
        """The constants behind the parameters."""
        terms = self._fitted("resolved_params_").terms
        return {
            name: number
            for term in terms
            for name, number in term._asdict().items()
            if name not in ("unused", "variant")
        }


class ConfidentClassifier(SecondOrder, Classes, OnlineLinear):
    """Base of the confidence-weighted classifiers."""

    def _aim(self):
        return Sides()


class ConfidentRegressor(SecondOrder, Numbers, OnlineLinear):
    """Base of the confidence-weighted regressors."""

    def _aim(self):
        return Tube(float(self.epsilon))
