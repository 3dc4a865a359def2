"""Support vector machines for the worst data in a set around the data given."""

from itertools import combinations

import numpy as np

from tamis.base.estimators.classifier import WeightedClassifier
from tamis.base.estimators.estimator import Taken, take_asked
from tamis.base.fast_checks import check_length, dense
from tamis.base.parameters import NUMBER, estimator, one_of, parameter
from tamis.methods.robust.estimator import SETS, RobustLinear
from tamis.methods.robust.hinge_oracles import BALLS, hinge_oracle
from tamis.methods.robust.rows import Deleted, cheapest, dual_norm


@estimator
class RobustSVC(WeightedClassifier, RobustLinear):
    r"""Linear support vector machine that minimises the worst hinge loss over a set of errors in
    the data.

    Choose it where one knows what may go wrong: sensors that fail ("deletion"), rounding ("linf"),
    noise of known covariance ("ellipsoid"), labels from several hands ("labels"). Without such
    knowledge a plain machine with a smaller C does as well. A large radius shrinks the weights to
    0; choose it by ``score(..., worst_case=True)`` on held-out rows. Weights are not sparse.

    .. math:: \min_{w, b} \tfrac12 \lVert w \rVert_2^2 + C \max_{\text{data in the set}}
       \sum_i c_i \max(0, 1 - y_i (w^T x_i + b))

    with weights c of the rows, several classes one against the rest. A radius of 0 is the plain
    machine. Beside the sets below there is "labels": up to radius labels (rows, by weight) are
    wrong.

    {family}

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
    >>> held = X[1::2], y[1::2]
    >>> [round(model.score(*held), 1) for model in (plain, robust)]
    [1.0, 1.0]
    >>> [round(model.score(*held, worst_case=True, radius=5), 1) for model in (plain, robust)]
    [0.1, 0.7]
    """

    uncertainty: str = parameter(
        "l2", [one_of(*SETS, "labels")], "What may be wrong with the data."
    )
    radius: float = parameter(
        0.1, [NUMBER], 'How much of it. A whole number for "deletion" and "labels".'
    )

    def _columns(self, taken: Taken) -> np.ndarray:
        """Targets as +1 and -1 of every output."""
        odd = taken.weights[taken.weights != np.rint(taken.weights)]
        if self.uncertainty == "spectral" and len(odd):
            raise ValueError(
                "uncertainty='spectral' takes whole numbers as weights of rows, class_weight "
                f"included; found {odd[0]:g}. Use another set, or none."
            )
        return taken.targets.signs(taken.columns)

    def _oracle(self, *given):
        return hinge_oracle(self.uncertainty, *given)

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
        radius, matrix, scores = self._asked_radius(radius), take_asked(self, X), self._scores(X)
        weights = self._row_weights(sample_weight, len(scores))
        rivals = self._rivals(y, len(scores))
        safe = [self._safe(matrix, scores, pair, signs, radius) for pair, signs in rivals]
        right = np.min(safe, axis=0)
        lost = sum((self._lost(scores, *one, radius, weights) for one in rivals), 0.0)
        if self.uncertainty == "labels":
            lost = min(radius, float(weights @ right))
        return max(float(weights @ right - lost) / float(weights.sum()), 0.0)

    def _rivals(self, y, count: int) -> list[tuple[np.ndarray, np.ndarray]]:
        """Pairs (weights of the scores, signs): a row is right iff sign times its score under every
        pair that concerns it is above 0.
        """
        y = np.asarray(dense(y))
        check_length(y, count)
        classes, eye = self.classes_, np.eye(len(self.classes_))
        if self.multilabel_:
            return [(eye[k], np.where(y[:, k] > 0, 1.0, -1.0)) for k in range(len(classes))]
        if len(classes) == 2:
            return [(np.ones(1), np.where(y == classes[1], 1.0, -1.0))]
        return [
            (eye[b] - eye[a], (y == classes[b]).astype(float) - (y == classes[a]))
            for a, b in combinations(range(len(classes)), 2)
        ]

    def _safe(self, matrix, scores, pair, signs, radius):
        """Which rows no error of their own makes wrong."""
        margins, direction = signs * (scores @ pair), pair @ self.coef_
        if self.uncertainty in BALLS:
            margins = margins - radius * dual_norm(self.uncertainty, direction, self._ellipsoid)[0]
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
        reach = radius * float(np.linalg.norm(pair @ self.coef_))
        return cheapest(margins[alive] ** 2, weights[alive], reach**2)
