"""Support vector machines for the worst data in a set around the data given."""

from typing import ClassVar

import numpy as np
from sklearn.utils._param_validation import StrOptions
from sklearn.utils.metaestimators import available_if

from tamis.base.border import take_weights
from tamis.base.classifier import Classes
from tamis.methods.robust.model import RobustLinear, never
from tamis.methods.robust.rows import Deleted, cheapest, dual_norm
from tamis.methods.robust.sets import BALLS, hinge_oracle
from tamis.terms.losses import Hinge

SETS = (*BALLS, "deletion", "labels", "spectral")


class RobustSVC(Classes, RobustLinear):
    r"""Linear support vector machine that minimises the worst hinge loss over a set of errors in the
    data.

    .. math:: \min_{w, b} \tfrac12 \lVert w \rVert_2^2 + C \max_{\text{data in the set}} \sum_i c_i
    \max(0, 1 - y_i (w^T x_i + b))

    with weights c of the rows, several classes one against the rest. What the set is, and what it
    takes from the margin of a row:

    ============ ==================================================
    ========================================================= uncertainty  what may be wrong
    a margin loses ============ ==================================================
    ========================================================= "l1"         every row, by at most
    radius in L1                 :math:`r \lVert w \rVert_\infty` "l2"         every row, by at most
    radius in length             :math:`r \lVert w \rVert_2` "linf"       every entry, by at most
    radius                     :math:`r \lVert w \rVert_1` "ellipsoid"  every row, by radius in
    units of `covariance`      :math:`r \sqrt{w^T \Sigma w}` "deletion"   up to radius entries of
    every row are 0            the sum of the largest of :math:`y_i w_j x_{ij}` "labels"     up to
    radius labels (rows, by weight)              (all rows together) "spectral"   the data by a
    matrix of largest singular value     (all rows together)
                 at most radius
    ============ ==================================================
    =========================================================

    It is solved by cutting planes until the distance from the optimum is known to be at most `tol`.
    A radius of 0 is the plain machine.

    Choose it where one knows what may go wrong: sensors that fail ("deletion"), rounding ("linf"),
    noise of known covariance ("ellipsoid"), labels by several hands ("labels"). A large radius
    shrinks the weights to 0; choose it by ``score(..., worst_case=True)`` on held-out rows. Without
    such knowledge a plain machine with a smaller C does as well. Weights are not sparse.

    Parameters
    ----------
    uncertainty : {"l1", "l2", "linf", "ellipsoid", "deletion", "labels", "spectral"}, default="l2"
        What may be wrong with the data.
    radius : float, default=0.1
        How much of it. A whole number for "deletion" and "labels".
    C : float, default=1.0
        Cost of the loss of a row.
    covariance : array-like of shape (n_features,) or (n_features, n_features), or None,
    default=None
        For "ellipsoid": a covariance matrix or its diagonal. None takes the variances of the
        columns.
    fit_intercept : bool, default=True
        Whether to learn an intercept; it is not penalised.
    max_iter : int, default=1000
        Most planes of an output.
    tol : float, default=1e-4
        Distance from the optimum, as a share of the objective, at which it ends.
    class_weight : dict, "balanced" or None, default=None
        Weights of the classes, multiplied into the row weights.

    Attributes
    ----------
    coef_ : ndarray of shape (n_outputs, n_features)
        Weights.
    intercept_ : ndarray of shape (n_outputs,)
        Intercepts.
    support_ : ndarray of int
        Indices of the features with a weight other than 0.
    objective_ : float
        The objective, summed over the outputs.
    gap_ : float
        Distance from the optimum, at most, as a share of the objective, of the worst output.
    n_iter_ : int
        Planes, of the output that took most.
    history_ : list of dict
        Per output and plane: the best objective so far and the lower bound.
    classes_ : ndarray
        Class labels; for a matrix of labels, their numbers.
    multilabel_ : bool
        Whether the targets were a 0/1 matrix of labels.
    n_features_in_ : int
        Number of columns.
    feature_names_in_ : ndarray of str
        Names of the columns, where X had them.

    See Also
    --------
    RobustRegressor : The same for numbers.
    sklearn.svm.LinearSVC : The plain machine.

    Notes
    -----
    A row of weight 2 is a row that comes twice. For "spectral" weights must be whole numbers: a
    fraction of a row has no worst case of its own.

    References
    ----------
    G. V. A. Pham, "Robust Optimization and Data Approximation in Machine Learning", technical
    report UCB/EECS-2015-216, 2015, chapter 2. A. Globerson and S. Roweis, "Nightmare at Test Time:
    Robust Learning by Feature Deletion", ICML 2006, for "deletion".

    Examples
    --------
    Of every row up to five pixels go out, those that hurt most:

    >>> from sklearn.datasets import load_digits
    >>> from tamis import RobustSVC
    >>> X, y = load_digits(return_X_y=True)
    >>> X, y = X[(y == 4) | (y == 7)] / 16.0, y[(y == 4) | (y == 7)]
    >>> plain = RobustSVC("deletion", radius=0, tol=1e-3).fit(X[::2], y[::2])
    >>> robust = RobustSVC("deletion", radius=5, tol=1e-3).fit(X[::2], y[::2])
    >>> [round(model.score(X[1::2], y[1::2]), 1) for model in (plain, robust)]
    [1.0, 1.0]
    >>> [round(model.score(X[1::2], y[1::2], worst_case=True, radius=5), 1) for model in (plain, robust)]
    [0.1, 0.7]
    """

    partial_fit = available_if(never)(Classes.partial_fit)
    _oracle = staticmethod(hinge_oracle)
    _parameter_constraints: ClassVar[dict] = {
        **RobustLinear._parameter_constraints,
        "uncertainty": [StrOptions(set(SETS))],
        "class_weight": [dict, StrOptions({"balanced"}), None],
    }

    def __init__(
        self,
        uncertainty="l2",
        radius=0.1,
        C=1.0,
        covariance=None,
        *,
        fit_intercept=True,
        max_iter=1000,
        tol=1e-4,
        class_weight=None,
    ):
        self.uncertainty = uncertainty
        self.radius = radius
        self.C = C
        self.covariance = covariance
        self.fit_intercept = fit_intercept
        self.max_iter = max_iter
        self.tol = tol
        self.class_weight = class_weight

    def _columns(self, targets):
        """Targets as +1 and -1 of every output."""
        if len(self.classes_) > 2 and not self.multilabel_:
            return np.where(targets == np.arange(len(self.classes_)), 1.0, -1.0)
        return targets

    def _prepare(self, X, y, sample_weight):
        matrix, targets, weights = super()._prepare(X, y, sample_weight)
        if self.uncertainty == "spectral" and (weights != np.rint(weights)).any():
            odd = weights[weights != np.rint(weights)][0]
            raise ValueError(
                "uncertainty='spectral' takes whole numbers as weights of rows, class_weight "
                f"included; found {odd:g}. Use another set, or none."
            )
        return matrix, targets, weights

    def _terms(self):
        return (Hinge(),), ()  # asked for by predict_proba, which needs another loss

    # ------------------------------------------------------------------ the worst case
    def score(self, X, y, sample_weight=None, worst_case=False, radius=None):
        """Accuracy, as the rows are or under the worst error in the set.

        In the worst case a row counts as right only if no error in the set makes it wrong. For
        "spectral" with several classes, and for labels, the figure is a lower bound.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Rows.
        y : array-like of shape (n_samples,), or 0/1 matrix of shape (n_samples, n_labels)
            True classes or labels.
        sample_weight : array-like of shape (n_samples,), default=None
            Weights of the rows.
        worst_case : bool, default=False
            Whether the rows (or, for uncertainty="labels", the classes) are the worst in the set.
        radius : float or None, default=None
            Radius of the set; None is the model's own.

        Returns
        -------
        score : float
            Share of rows that are right; of labels, rows whose labels are all right.
        """
        if not worst_case:
            if radius is not None:
                raise ValueError("radius is for worst_case=True.")
            return super().score(X, y, sample_weight)
        radius, matrix, scores = self._asked_radius(radius), self._matrix(X), self._scores(X)
        weights = take_weights(sample_weight, len(scores), some=True)
        weights = weights if len(weights) else np.ones(len(scores))
        right = np.min(
            [
                self._safe(matrix, scores, *pair, radius, weights)
                for pair in self._rivals(y, len(scores))
            ],
            axis=0,
        )
        lost = sum(
            self._lost(scores, *pair, radius, weights) for pair in self._rivals(y, len(scores))
        )
        if self.uncertainty == "labels":
            lost = min(radius, float(weights @ right))
        return max(float(weights @ right - lost) / float(weights.sum()), 0.0)

    def _rivals(self, y, count: int):
        """Pairs (weights of the scores, signs): a row is right iff sign times its score under every
        pair that concerns it is above 0.
        """
        y = np.asarray(y.toarray() if hasattr(y, "tocsr") else y)
        self._check_length(y, count)
        if self.multilabel_:
            return [
                (np.eye(len(self.classes_))[k], np.where(y[:, k] > 0, 1.0, -1.0))
                for k in range(len(self.classes_))
            ]
        if len(self.classes_) == 2:
            return [(np.ones(1), np.where(y == self.classes_[1], 1.0, -1.0))]
        pairs = [
            (a, b) for a in range(len(self.classes_)) for b in range(a + 1, len(self.classes_))
        ]
        eye = np.eye(len(self.classes_))
        return [
            (eye[b] - eye[a], (y == self.classes_[b]).astype(float) - (y == self.classes_[a]))
            for a, b in pairs
        ]

    def _safe(self, matrix, scores, pair, signs, radius, weights):
        """Which rows no error of their own makes wrong."""
        margins, direction = signs * (scores @ pair), pair @ self.coef_
        if self.uncertainty in BALLS:
            margins = margins - radius * dual_norm(self.uncertainty, direction, self._sigma)[0]
        elif self.uncertainty == "deletion" and radius:
            margins = margins - Deleted(matrix, int(radius)).move(signs, direction)
        # A tie goes to the lower class, which is the one of sign -1.
        return (margins > 0.0) | ((margins == 0.0) & (signs < 0.0)) | (signs == 0.0)

    def _lost(self, scores, pair, signs, radius, weights) -> float:
        """Weight of the rows that a movement of all rows together can make wrong: it moves scores
        by at most radius times the weights' norm.
        """
        if self.uncertainty != "spectral":
            return 0.0
        margins = signs * (scores @ pair)
        alive = margins > 0.0
        return cheapest(
            margins[alive] ** 2,
            weights[alive],
            (radius * float(np.linalg.norm(pair @ self.coef_))) ** 2,
        )
