"""RobustSVC: linear support vector machine with the worst-case loss over an uncertainty set."""

from itertools import combinations

import numpy as np

from tamis.base.estimators.classifier import WeightedClassifier
from tamis.base.estimators.estimator import TrainingData, validate_prediction
from tamis.base.fast_checks import check_n_targets, to_dense
from tamis.base.parameters import NON_NEGATIVE, estimator, one_of_strings, parameter
from tamis.methods.robust.estimator import SETS, RobustLinear
from tamis.methods.robust.hinge_oracles import BALLS, hinge_oracle
from tamis.methods.robust.rows import FeatureDeletion, dual_norm, max_weight_within_budget


@estimator
class RobustSVC(WeightedClassifier, RobustLinear):
    r"""Linear support vector machine that minimises the worst-case hinge loss over a set of errors
    in the data.

    Use it for known types of errors: sensors that fail ("deletion"), rounding ("linf"), noise of
    known covariance ("ellipsoid"), wrong labels ("labels"). Otherwise a plain support vector
    machine with a smaller C is as accurate. A large radius shrinks the weights to 0; choose it by
    ``score(..., worst_case=True)`` on held-out rows. Weights are not sparse.

    .. math:: \min_{w, b} \tfrac12 \lVert w \rVert_2^2 + C \max_{\text{data in the set}}
       \sum_i c_i \max(0, 1 - y_i (w^T x_i + b))

    with weights c of the rows; several classes are fitted one vs rest. A radius of 0 gives the
    plain support vector machine. In addition to the sets below there is "labels": the labels of
    rows with a total weight of at most radius are wrong.

    {family}

    See Also
    --------
    RobustRegressor : Robust least squares, for numeric targets.
    sklearn.svm.LinearSVC : Support vector machine without an uncertainty set.

    Notes
    -----
    A row of weight 2 is equivalent to two equal rows. For "spectral" weights must be whole numbers:
    the worst case of a fraction of a row is not defined.

    References
    ----------
    G. V. A. Pham, "Robust Optimization and Data Approximation in Machine Learning", technical
    report UCB/EECS-2015-216, 2015, chapter 2. A. Globerson and S. Roweis, "Nightmare at Test Time:
    Robust Learning by Feature Deletion", ICML 2006, for "deletion".

    Examples
    --------
    Up to five pixels of each row are deleted, those with the largest effect on the margin:

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
        "l2", [one_of_strings(*SETS, "labels")], "Type of the errors in the data."
    )
    radius: float = parameter(
        0.1, [NON_NEGATIVE], 'Size of the errors. A whole number for "deletion" and "labels".'
    )

    def _columns(self, training: TrainingData) -> np.ndarray:
        """Return the targets +1 and -1 of each output."""
        fractional = training.weights[training.weights != np.rint(training.weights)]
        if self.uncertainty == "spectral" and len(fractional):
            raise ValueError(
                "uncertainty='spectral' takes whole numbers as weights of rows, class_weight "
                f"included; found {fractional[0]:g}. Use another set, or no weights."
            )
        return training.targets.signs(training.columns)

    def _oracle(self, *arguments):
        return hinge_oracle(self.uncertainty, *arguments)

    # ------------------------------------------------------------------ worst-case score
    def score(self, X, y, sample_weight=None, worst_case=False, radius=None):
        """Return the accuracy, for the rows of X or for the worst error in the set.

        In the worst case a row counts as correct only if it is correct for every error in the set.
        For "spectral" with several classes, and for labels, the score is a lower bound.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Rows.
        y : array-like of shape (n_samples,), or 0/1 matrix of shape (n_samples, n_labels)
            True classes or labels.
        sample_weight : array-like of shape (n_samples,), default=None
            Weights of the rows.
        worst_case : bool, default=False
            Whether to use the worst rows (or, for uncertainty="labels", classes) in the set.
        radius : float or None, default=None
            Radius of the set; None is that of the estimator.

        Returns
        -------
        score : float
            Fraction of correct rows; for labels, of rows with only correct labels.
        """
        if not worst_case:
            if radius is not None:
                raise ValueError("radius is for worst_case=True.")
            return super().score(X, y, sample_weight)
        radius, matrix, scores = (
            self._score_radius(radius),
            validate_prediction(self, X),
            self._scores(X),
        )
        weights = self._row_weights(sample_weight, len(scores))
        pairs = self._score_pairs(y, len(scores))
        robustly_correct = [
            self._robustly_correct(matrix, scores, pair, signs, radius) for pair, signs in pairs
        ]
        is_correct = np.min(robustly_correct, axis=0)
        lost_weight = sum(
            (
                self._jointly_lost_weight(scores, *pair_and_signs, radius, weights)
                for pair_and_signs in pairs
            ),
            0.0,
        )
        if self.uncertainty == "labels":
            lost_weight = min(radius, float(weights @ is_correct))
        return max(float(weights @ is_correct - lost_weight) / float(weights.sum()), 0.0)

    def _score_pairs(self, y, n_rows: int) -> list[tuple[np.ndarray, np.ndarray]]:
        """Return pairs of coefficients of the scores, and signs of the rows: a row is correct iff
        sign times the combined score is above 0 for all pairs with a nonzero sign.
        """
        y = np.asarray(to_dense(y))
        check_n_targets(y, n_rows)
        classes, eye = self.classes_, np.eye(len(self.classes_))
        if self.multilabel_:
            return [(eye[k], np.where(y[:, k] > 0, 1.0, -1.0)) for k in range(len(classes))]
        if len(classes) == 2:
            return [(np.ones(1), np.where(y == classes[1], 1.0, -1.0))]
        return [
            (eye[b] - eye[a], (y == classes[b]).astype(float) - (y == classes[a]))
            for a, b in combinations(range(len(classes)), 2)
        ]

    def _robustly_correct(self, matrix, scores, pair, signs, radius):
        """Return which rows are correct for every error of the single row."""
        margins, direction = signs * (scores @ pair), pair @ self.coef_
        if self.uncertainty in BALLS:
            margins = margins - radius * dual_norm(self.uncertainty, direction, self._ellipsoid)[0]
        elif self.uncertainty == "deletion" and radius:
            margins = margins - FeatureDeletion(matrix, int(radius)).set_weights(signs, direction)
        # A tie goes to the lower class, which is the one of sign -1.
        return (margins > 0.0) | ((margins == 0.0) & (signs < 0.0)) | (signs == 0.0)

    def _jointly_lost_weight(self, scores, pair, signs, radius, weights) -> float:
        """Return the weight of the rows that a joint error of all rows can make incorrect: the norm
        of the change of the scores is at most radius times the norm of the weights.
        """
        if self.uncertainty != "spectral":
            return 0.0
        margins = signs * (scores @ pair)
        is_correct = margins > 0.0
        max_shift = radius * float(np.linalg.norm(pair @ self.coef_))
        return max_weight_within_budget(margins[is_correct] ** 2, weights[is_correct], max_shift**2)
