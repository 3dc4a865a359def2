"""What the confidence-weighted models share: one second-order pass, margins with their deviations,
and words for it.
"""

from typing import ClassVar, NamedTuple

from tamis.base.estimators.classifier import ClassStream, WeightedClassifier
from tamis.base.estimators.margins import Margins
from tamis.base.estimators.mean import Mean, contents_with_paths
from tamis.base.estimators.regressor import NumberStream
from tamis.base.estimators.stream import Stream
from tamis.base.parameters import BOOL, COUNT, NUMBER, estimator, one_of, parameter
from tamis.base.validation import warn_user
from tamis.numerics.csr import frozen
from tamis.solvers.second_order.state import ConfidenceEngine
from tamis.terms.confidence_updates import Sides


class ConfidenceModel(NamedTuple):
    """What an engine is made of: the term that says on which side of what a row should be, and the
    one that says how far a row moves the mean and the covariance; whether there is an intercept,
    and the precision of each weight before the first row; whether the covariance is a full one, and
    how many weights of an output may differ from 0 (0 is all).
    """

    terms: tuple
    flags: tuple[float, float]
    full: bool = False
    n_kept: int = 0


@estimator(kw_only=True)
class SecondOrder(Margins, Stream):
    """A learner by a mean and a covariance of the weights; a model adds `_model`."""

    fit_intercept: bool = parameter(
        True,
        [BOOL],
        "Whether to learn an intercept: the weight of a constant column, which takes part in the "
        "covariance like any other.",
    )
    max_iter: int = parameter(
        1,
        [COUNT],
        "Most passes over the data in `fit`. One is the rule: a row's weight in the covariance "
        "grows with each pass.",
    )
    tol: float | None = parameter(
        1e-3,
        [NUMBER, None],
        "`fit` ends when the mean loss of a pass has not improved by `tol` times the first pass's "
        "loss for `n_iter_no_change` passes. None runs all passes.",
    )
    _contents: ClassVar[dict] = contents_with_paths(ConfidenceEngine)
    _attributes: ClassVar[str] = """\
        coef_ : ndarray of shape (n_outputs, n_features)
            Means of the weights. Made on demand; a regressor with one target has shape
            (n_features,).
        variance_ : ndarray of the shape of `coef_`
            Variances of the weights: the diagonal of the covariance. Made on demand. A feature
            that no row has changed has the variance of the start.
        support_ : ndarray of int
            Indices of the features whose weight is not 0.
        t_ : int
            Rows seen, over all passes.
        history_ : list of dict
            Per pass: rows seen, mean loss of each row before it was learnt (what its margin lacks
            to 1), nonzero weights. In a stream, whenever its length doubles.
        resolved_params_ : dict
            The constants behind the parameters."""

    # ------------------------------------------------------------------ training
    def _begin(
        self, model: ConfidenceModel, targets, n_features: int, is_fit: bool
    ) -> ConfidenceEngine:
        sizes = n_features, targets.outputs
        return ConfidenceEngine(model.terms, model.flags, *sizes, model.full, model.n_kept)

    def _renew(self, engine, model: ConfidenceModel, targets, n_features, is_fit):
        if engine.full != model.full or engine.flags[1] != model.flags[1]:
            raise ValueError(
                f"{type(self).__name__}: `covariance` or its start changed since the model was "
                "fitted; call fit with warm_start=False."
            )
        engine.terms, engine.flags = model.terms, model.flags
        return engine

    def _weigh(self, targets, columns, weights, **stream):
        """Row weights; where the method has no loss that they could scale, a row is learnt or
        skipped.
        """
        targets, weights = super()._weigh(targets, columns, weights, **stream)
        if self._model().terms[1].weighs() or not len(weights):
            return targets, weights
        odd = weights[(weights != 0.0) & (weights != 1.0)]
        if len(odd):
            warn_user(
                f"{type(self).__name__} has no loss that weights could scale: a row is learnt, or "
                "skipped if its weight is 0. The size of weights "
                f"(such as {odd[0]:g}) has no effect. Use AROWClassifier, SCWClassifier or "
                "PAClassifier(variant='PA-I').",
                UserWarning,
            )
        return targets, frozen((weights > 0.0).astype(float))

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
        if isinstance(engine, Mean):
            raise ValueError(
                f"{type(self).__name__}: the mean of several paths has no variances. Look at each "
                "of `paths_`."
            )
        scores, variances = engine.score_with_variance(rows)
        shape = self._targets.decision
        return shape(scores), shape(variances)

    @property
    def variance_(self):
        """Variances of the weights, in the shape of `coef_`; made on demand."""
        return self._targets.shaped(self._fitted("variance_").variances())

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


@estimator(kw_only=True)
class Covariant(SecondOrder):
    """Learners whose covariance may be a full one."""

    covariance: str = parameter(
        "diagonal",
        [one_of("diagonal", "full")],
        "One variance a column, or a whole matrix (as a square root, which stays positive "
        "definite), for each class.",
    )


class ConfidentClassifier(SecondOrder, ClassStream):
    """Base of the confidence-weighted classifiers."""

    def _classes(self, update, start: float = 1.0, n_kept: int = 0) -> ConfidenceModel:
        """The model of classes with this confidence update."""
        full = getattr(self, "covariance", "diagonal") == "full"
        return ConfidenceModel((Sides(), update), (float(self.fit_intercept), start), full, n_kept)


class WeightedConfidentClassifier(ConfidentClassifier, WeightedClassifier):
    """The same with weights of classes, for methods with a loss that they can scale."""


class ConfidentRegressor(SecondOrder, NumberStream):
    """Base of the confidence-weighted regressors."""
