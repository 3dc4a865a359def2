"""Base classes of the confidence-weighted models: their state, margins with variances, and
warnings.
"""

from typing import ClassVar, NamedTuple

from tamis.base.estimators.classifier import StreamingClassifier, WeightedClassifier
from tamis.base.estimators.margins import MarginMixin
from tamis.base.estimators.mean import MeanState, path_contents
from tamis.base.estimators.regressor import StreamingRegressor
from tamis.base.estimators.stream import PassesModel
from tamis.base.parameters import (
    BOOL,
    NON_NEGATIVE,
    POSITIVE_INTEGER,
    estimator,
    one_of_strings,
    parameter,
)
from tamis.base.validation import warn_user
from tamis.numerics.csr import readonly_view
from tamis.solvers.second_order.state import ConfidenceState
from tamis.terms.confidence_updates import Sides


class ConfidenceTerms(NamedTuple):
    """What a state is made of: the terms (the direction and margin of a row, the confidence
    update); the flags (intercept, initial precision); whether the covariance is full; and the
    number of weights of an output that may differ from 0 (0: all).
    """

    terms: tuple
    flags: tuple[float, float]
    full: bool = False
    n_kept: int = 0


@estimator(kw_only=True)
class ConfidenceWeightedModel(MarginMixin, PassesModel):
    """Base of models with a mean and a covariance of the weights. A subclass adds `_model`, which
    returns its terms.
    """

    fit_intercept: bool = parameter(
        True,
        [BOOL],
        "Whether to learn an intercept: the weight of a constant column, which takes part in the "
        "covariance like any other.",
    )
    max_iter: int = parameter(
        1,
        [POSITIVE_INTEGER],
        "Most passes over the data in `fit`. One is the rule: a row's weight in the covariance "
        "grows with each pass.",
    )
    tol: float | None = parameter(
        1e-3,
        [NON_NEGATIVE, None],
        "`fit` ends when the mean loss of a pass has not improved by `tol` times the first pass's "
        "loss for `n_iter_no_change` passes. None runs all passes.",
    )
    _contents: ClassVar[dict] = path_contents(ConfidenceState)
    _attributes: ClassVar[str] = """\
        coef_ : ndarray of shape (n_outputs, n_features)
            Means of the weights. Computed on access; a regressor with one target has shape
            (n_features,).
        variance_ : ndarray of the shape of `coef_`
            Variances of the weights: the diagonal of the covariance. Computed on access. A feature
            that no row has changed has its initial variance.
        support_ : ndarray of int
            Indices of the features whose weight is not 0.
        t_ : int
            Number of rows, over all passes.
        history_ : list of dict
            Per pass: number of rows, mean loss of each row before it was learnt (by how much its
            margin is below 1), nonzero weights. In a stream, whenever its length doubles.
        resolved_params_ : dict
            The constants behind the parameters."""

    # ------------------------------------------------------------------ training
    def _new_state(
        self, model: ConfidenceTerms, targets, n_features: int, is_fit: bool
    ) -> ConfidenceState:
        shape = n_features, targets.outputs
        return ConfidenceState(model.terms, model.flags, *shape, model.full, model.n_kept)

    def _updated_state(self, solver_state, model: ConfidenceTerms, targets, n_features, is_fit):
        if solver_state.full != model.full or solver_state.flags[1] != model.flags[1]:
            raise ValueError(
                f"{type(self).__name__}: `covariance` or its start changed since the model was "
                "fitted; call fit with warm_start=False."
            )
        solver_state.terms, solver_state.flags = model.terms, model.flags
        return solver_state

    def _weight_rows(self, targets, columns, weights, **stream):
        """Return the targets and the row weights; a method without a loss that weights could scale
        learns from a row or skips it.
        """
        targets, weights = super()._weight_rows(targets, columns, weights, **stream)
        if self._model().terms[1].weighs() or not len(weights):
            return targets, weights
        ignored = weights[(weights != 0.0) & (weights != 1.0)]
        if len(ignored):
            warn_user(
                f"{type(self).__name__} has no loss that weights could scale: it learns from a "
                "row, or skips it if its weight is 0. The size of weights "
                f"(such as {ignored[0]:g}) has no effect. Use AROWClassifier, SCWClassifier or "
                "PAClassifier(variant='PA-I').",
                UserWarning,
            )
        return targets, readonly_view((weights > 0.0).astype(float))

    # ------------------------------------------------------------------ warnings
    def _diverged(self):
        raise FloatingPointError(
            f"{type(self).__name__}: a margin became infinite or nan in pass {self.n_iter_}; the "
            "values of X are too large or too small. "
            "Scale the columns, or scale the rows to unit length."
        )

    def _warn_empty(self):
        warn_user(
            f"{type(self).__name__} learnt no weight: no row with nonzero columns violated its "
            "margin.",
            UserWarning,
        )

    # ------------------------------------------------------------------ fitted attributes
    def _margin_variance(self, X):
        solver_state, rows = self._state_and_rows(X)
        if isinstance(solver_state, MeanState):
            raise ValueError(
                f"{type(self).__name__}: the mean of several paths has no variances. Use the "
                "models in `paths_`."
            )
        scores, variances = solver_state.score_with_variance(rows)
        shape_outputs = self._targets.shape_scores
        return shape_outputs(scores), shape_outputs(variances)

    @property
    def variance_(self):
        """Variances of the weights, in the shape of `coef_`; computed on access."""
        return self._targets.shape_coef(self._fitted_state("variance_").variances())

    @property
    def resolved_params_(self):
        """The constants of the terms."""
        terms = self._fitted_state("resolved_params_").terms
        return {
            name: number
            for term in terms
            for name, number in term._asdict().items()
            if name not in ("unused", "variant")
        }


@estimator(kw_only=True)
class FullCovarianceModel(ConfidenceWeightedModel):
    """Models whose covariance may be a full matrix."""

    covariance: str = parameter(
        "diagonal",
        [one_of_strings("diagonal", "full")],
        "One variance a column, or a whole matrix (as a square root, which stays positive "
        "definite), for each class.",
    )


class ConfidentClassifier(ConfidenceWeightedModel, StreamingClassifier):
    """Base of the confidence-weighted classifiers."""

    def _classifier_model(self, update, start: float = 1.0, n_kept: int = 0) -> ConfidenceTerms:
        """Return the terms of a classifier with this confidence update."""
        full = getattr(self, "covariance", "diagonal") == "full"
        return ConfidenceTerms((Sides(), update), (float(self.fit_intercept), start), full, n_kept)


class WeightedConfidentClassifier(ConfidentClassifier, WeightedClassifier):
    """Base of the confidence-weighted classifiers with class weights, for methods with a loss."""


class ConfidentRegressor(ConfidenceWeightedModel, StreamingRegressor):
    """Base of the confidence-weighted regressors."""
