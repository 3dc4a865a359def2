"""L1 classification on data without their small entries, with a certificate of what that costs."""

from numbers import Real
from typing import ClassVar, NamedTuple

import numpy as np
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils._param_validation import HasMethods, Interval, StrOptions
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import check_is_fitted

from tamis.base.border import take_blocks, take_weights, warn_user
from tamis.base.classifier import Classes
from tamis.base.contents import array, count, early, number, plain, records
from tamis.base.estimator import Estimator
from tamis.base.parameters import ABOVE, AUTO, COUNT, NUMBER
from tamis.base.rows import Csr
from tamis.methods.thresholding.backend import given_solver
from tamis.methods.thresholding.bounds import AT_ZERO, Problem, safe_threshold
from tamis.methods.thresholding.certificate import Certificate, certify
from tamis.methods.thresholding.fits import Fit, solve
from tamis.methods.thresholding.thresholds import Kept, drop_small, halvings, keeping
from tamis.terms.losses import LOSSES

EPS = 0.01  # what threshold="auto" keeps to where nothing is asked for
START = 0.5  # share of the entries that its first try keeps


class Tried(NamedTuple):
    """One threshold: what is left of the data, and a fit and a certificate of every output."""

    threshold: float
    kept: Kept
    fits: list[Fit]
    certificates: list[Certificate]

    def holds(self, eps: float | None, mode: str) -> bool:
        """Whether every output is near enough to its optimum."""
        return eps is None or all(one.holds(eps, mode) for one in self.certificates)


def _never(model):
    """All rows are needed at once; the online models of tamis have `partial_fit`."""
    return False


class ThresholdedClassifier(Classes, Estimator):
    r"""Sparse linear classifier that learns from the large entries of the data alone, and says what
    that costs at most.

    With X(t) for the data without their entries of size at most t, it minimises

    .. math:: \Phi(X(t); w, b) = \frac{1}{\sum_i c_i} \sum_i c_i f(y_i (x_i(t)^T w + b)) + \alpha
    \lVert w \rVert_1

    for the logistic or the hinge loss f and weights c of the rows, several classes one against the
    rest. A few passes over the whole data then bound, through the dual problem, how far the result
    is from the optimum on X itself: that is `certificate_`. With `eps` the threshold is halved
    until the certificate is good enough; in the end nothing is dropped, and the certificate is that
    of a plain fit.

    Choose it where data hold many small entries, such as tf-idf weights of long texts, and the
    solver at hand is slow or short of memory: it sees a fraction of the entries. The solver in
    tamis is so fast that little time is left to save. Features should be of one scale, since one
    threshold cuts them all. `predict` takes rows as they are, not thresholded.

    Parameters
    ----------
    estimator : estimator or None, default=None
        Who solves the problem on the thresholded data. None is the solver in tamis: Newton steps
        with coordinate descent, or a linear program for the hinge loss. Otherwise a linear L1
        classifier with `coef_` and `intercept_`; its parameter `C` is set to 1 / (alpha sum of
        weights) or, if it has none, its `alpha` to alpha. The certificate holds whatever it
        returns.
    alpha : float, default=1e-4
        Strength of the L1 penalty.
    loss : {"logistic", "hinge"}, default="logistic"
        Loss, which the certificate is about too.
    threshold : "auto" or float, default="auto"
        Entries of this size or less are dropped. "auto" begins where half of the entries stay, and
        needs an `eps`; left out, that is 0.01.
    eps : float or None, default=None
        Largest distance from the optimum on the whole data. While none of the bounds in the
        certificate is that small, the threshold is halved. None takes the threshold as it is.
    mode : {"relative", "absolute"}, default="relative"
        Whether `eps` is a share of the optimum, or in units of the objective.
    fit_intercept : bool, default=True
        Whether to learn an intercept; it is not penalised.
    max_iter : int, default=100
        Most working sets of a fit.
    tol : float, default=1e-4
        Duality gap on the thresholded data, as a share of the objective, at which a fit ends. With
        `eps` it is at most a tenth of that.
    class_weight : dict, "balanced" or None, default=None
        Weights of the classes, multiplied into the row weights.

    Attributes
    ----------
    coef_ : ndarray of shape (n_outputs, n_features)
        Weights; zeros are exact.
    intercept_ : ndarray of shape (n_outputs,)
        Intercepts.
    support_ : ndarray of int
        Indices of the kept features; for several outputs the union.
    threshold_ : float
        Threshold that was used.
    kept_fraction_ : float
        Share of the nonzero entries above it.
    certificate_ : dict
        Numbers, or arrays of one an output: "primal_thresholded" and "primal_original", the
        objective on the thresholded data and on X; "dual_bound", which the optimum on X cannot be
        below; "gap", their difference, and "rel_gap", the same as a share of the bound (inf where
        that is 0: nothing is promised then); "apriori_abs" and "apriori_rel", what theory promised
        before the fit, and "vacuous", whether that is no more than what is known of a model without
        weights; "aposteriori", the bound that needs no dual; "upper_thresholded" and
        "dual_thresholded", bounds on both sides that need the thresholded data only; "solver_gap",
        how far from the optimum there.
    history_ : list of dict
        Per threshold tried: the threshold, kept fraction, bytes of the data, and the worst output's
        gap and relative gap.
    n_iter_ : int
        Working sets of the last fit, of the output that took most.
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
    DataThresholder : The same cut as a transformer before any model.
    ThresholdDisplay : Time, memory, accuracy and certificate against the threshold.
    SieveClassifier : Few features without a choice of alpha.

    References
    ----------
    G. V. A. Pham, "Robust Optimization and Data Approximation in Machine Learning", technical
    report UCB/EECS-2015-216, 2015, chapter 3. The certificate from the dual is tamis's own; the
    a-priori bounds are those of the report.

    Examples
    --------
    >>> from tamis import ThresholdedClassifier
    >>> from tamis.datasets import make_text
    >>> X, y, planted = make_text(n_samples=1000, n_features=2000, random_state=0)
    >>> model = ThresholdedClassifier(alpha=1e-3, eps=0.05).fit(X, y)
    >>> model.kept_fraction_ < 1.0
    True
    >>> model.certificate_["rel_gap"] <= 0.05
    True
    >>> model.certificate_["vacuous"]
    True
    """

    grow = False  # the shared treatment of classes asks
    partial_fit = available_if(_never)(Classes.partial_fit)
    _parameter_constraints: ClassVar[dict] = {
        "estimator": [HasMethods(["fit", "get_params"]), None],
        "alpha": [ABOVE],
        "loss": [StrOptions(set(AT_ZERO))],
        "threshold": [NUMBER, AUTO],
        "eps": [ABOVE, None],
        "mode": [StrOptions({"relative", "absolute"})],
        "fit_intercept": ["boolean"],
        "max_iter": [COUNT],
        "tol": [Interval(Real, 0, None, closed="neither")],
        "class_weight": [dict, StrOptions({"balanced"}), None],
    }

    def __init__(
        self,
        estimator=None,
        alpha=1e-4,
        loss="logistic",
        threshold="auto",
        eps=None,
        mode="relative",
        *,
        fit_intercept=True,
        max_iter=100,
        tol=1e-4,
        class_weight=None,
    ):
        self.estimator = estimator
        self.alpha = alpha
        self.loss = loss
        self.threshold = threshold
        self.eps = eps
        self.mode = mode
        self.fit_intercept = fit_intercept
        self.max_iter = max_iter
        self.tol = tol
        self.class_weight = class_weight

    _contents: ClassVar[dict] = {
        "_mass": early(number(float, above=0.0)),
        "history_": early(records()),
        "coef_": array("f8", "outputs", "columns"),
        "intercept_": array("f8", "outputs"),
        "threshold_": number(float, least=0.0),
        "kept_fraction_": number(float, least=0.0, most=1.0),
        "certificate_": plain(),
        "n_iter_": count(),
    }

    # ------------------------------------------------------------------ training
    def _fit(self, X, y, sample_weight):
        """Check, prepare, try thresholds until one holds, store."""
        self._validate_params()
        matrix, problems = self._prepare(X, y, sample_weight)
        self.history_: list[dict] = []
        eps = self._target()
        floor = (
            safe_threshold(eps, self.mode, float(self.alpha), AT_ZERO[self.loss])
            if eps is not None
            else 0.0
        )
        tried = self._search(matrix, problems, eps, self._first(matrix), floor)
        self._store(tried)
        self._warn(tried, eps)
        return self

    def _prepare(self, X, y, sample_weight):
        """The rows of weight above 0 in float64, and one problem an output."""
        rows = take_blocks(self, X, reset=True)
        count = rows.n_rows if isinstance(rows, Csr) else rows.shape[0]
        targets = self._take_targets(y, count, first=True, whole=True)
        weights = self._weigh(targets, take_weights(sample_weight, count, some=True), whole=True)
        weights = weights if len(weights) else np.ones(count)
        many = len(self.classes_) > 2 and not self.multilabel_
        signs = (
            np.where(targets == np.arange(len(self.classes_)), 1.0, -1.0)
            if many
            else np.ascontiguousarray(targets)
        )
        matrix = rows.scipy() if isinstance(rows, Csr) else rows
        if not weights.all():
            present = np.flatnonzero(weights)
            matrix, signs, weights = matrix[present], signs[present], weights[present]
        matrix = matrix if matrix.dtype == np.float64 else matrix.astype(np.float64)
        loads, self._mass = weights / weights.sum(), float(weights.sum())
        settings = (loads, self.loss, float(self.alpha), self.fit_intercept)
        return matrix, [Problem(np.ascontiguousarray(column), *settings) for column in signs.T]

    def _target(self) -> float | None:
        """What the certificate has to show."""
        if self.eps is None:
            return EPS if isinstance(self.threshold, str) else None
        return float(self.eps)

    def _first(self, matrix) -> float:
        """Where the search begins."""
        return keeping(matrix, START) if isinstance(self.threshold, str) else float(self.threshold)

    def _search(
        self, matrix, problems, eps: float | None, first: float, floor: float, start=None
    ) -> Tried:
        """Halve the threshold until the certificate of every output holds; each fit starts where
        the last one ended.
        """
        for threshold in halvings(matrix, first, floor) if eps is not None else [first]:
            tried = self._try(matrix, problems, threshold, eps, start)
            worst = [
                max(getattr(one, name) for one in tried.certificates) for name in ("gap", "rel_gap")
            ]
            record = {
                "threshold": threshold,
                "kept_fraction": tried.kept.share,
                "bytes": tried.kept.size,
                "gap": worst[0],
                "rel_gap": worst[1],
            }
            self.history_.append(record)
            if tried.holds(eps, self.mode):
                break
            start = tried.fits
        return tried

    def _try(self, matrix, problems, threshold: float, eps: float | None, start) -> Tried:
        """Drop, solve, certify."""
        kept = drop_small(matrix, threshold)
        tol = float(self.tol) if eps is None else min(float(self.tol), 0.1 * eps)
        if self.estimator is not None:
            fits = given_solver(self.estimator, kept.matrix, problems, self._mass)
        else:
            fits = [
                solve(one, kept.matrix, tol, self.max_iter, start[k] if start else None)
                for k, one in enumerate(problems)
            ]
        return Tried(
            threshold,
            kept,
            fits,
            [certify(one, matrix, kept, fit) for one, fit in zip(problems, fits, strict=True)],
        )

    def _store(self, tried: Tried) -> None:
        self.coef_ = np.array([fit.weights for fit in tried.fits])
        self.intercept_ = np.array([fit.intercept for fit in tried.fits])
        self.threshold_, self.kept_fraction_ = float(tried.threshold), float(tried.kept.share)
        self.n_iter_ = max(1, *(fit.turns for fit in tried.fits))
        columns = {
            name: [getattr(one, name) for one in tried.certificates] for name in Certificate._fields
        }
        single = self._outputs() == 1 and not self.multilabel_
        self.certificate_ = {
            name: values[0] if single else np.array(values) for name, values in columns.items()
        }

    def _warn(self, tried: Tried, eps: float | None) -> None:
        """Say so where a solver stopped early, or nothing was enough for `eps`."""
        worst = max(
            one.solver_gap / max(one.primal_thresholded, np.finfo(float).tiny)
            for one in tried.certificates
        )
        if self.estimator is None and not all(fit.converged for fit in tried.fits):
            said = (
                f"used {self.max_iter} working sets, and its relative duality gap is still "
                f"{worst:.2g}, above tol={self.tol:g}"
            )
            warn_user(
                f"{type(self).__name__} {said}. Raise max_iter or tol, or scale the columns.",
                ConvergenceWarning,
            )
        elif not tried.holds(eps, self.mode):
            said = (
                f"found no threshold with a certificate of eps={eps:g}: even without one the "
                f"solver's own gap is {worst:.2g} of the objective"
            )
            warn_user(
                f"{type(self).__name__} {said}. Raise eps, or lower the tolerance of the estimator.",
                ConvergenceWarning,
            )

    # ------------------------------------------------------------------ path
    def path(self, X, y, alphas, eps, sample_weight=None):
        """Models for a falling sequence of strengths; along it dropped entries come back, as far as
        `eps` asks for them.

        Each strength begins at the threshold of the one before, and halves it until the certificate
        holds, but not below the threshold that theory allows beforehand. The model itself is not
        changed.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Rows.
        y : array-like of shape (n_samples,), or 0/1 matrix of shape (n_samples, n_labels)
            Classes, or one column a label.
        alphas : array-like of shape (n_alphas,)
            Strengths of the penalty, each below the one before.
        eps : float
            Largest distance of each model from its optimum on the whole data, in units of `mode`.
        sample_weight : array-like of shape (n_samples,), default=None
            Weights of the rows.

        Returns
        -------
        path : dict of ndarray
            "alpha", "threshold" and "kept_fraction", one a strength; "coef" of shape (n_alphas,
            n_outputs, n_features), "intercept", "primal" (on the whole data), "gap" and "rel_gap"
            of shape (n_alphas, n_outputs).
        """
        self._validate_params()
        alphas = np.asarray(alphas, dtype=float)
        if (
            alphas.ndim != 1
            or not len(alphas)
            or (alphas <= 0).any()
            or (np.diff(alphas) >= 0).any()
        ):
            raise ValueError(
                "alphas must be above 0 and fall from one to the next: what is known of the last "
                f"model holds for smaller ones only. Got {alphas}."
            )
        if not eps > 0:
            raise ValueError(f"eps must be above 0: of 0 no certificate is possible. Got {eps!r}.")
        walker = type(self)(**self.get_params(deep=False))
        matrix, problems = walker._prepare(X, y, sample_weight)
        walker.history_ = []
        first, start, reached, steps = self._first(matrix), None, AT_ZERO[self.loss], []
        for alpha in alphas.tolist():
            floor = safe_threshold(eps, self.mode, alpha, AT_ZERO[self.loss], reached)
            tried = walker._search(
                matrix,
                [one._replace(strength=alpha) for one in problems],
                eps,
                max(first, floor),
                floor,
                start,
            )
            first, start = tried.threshold, tried.fits
            reached = max(one.primal_original for one in tried.certificates)
            steps.append(tried)
        return _path(alphas, steps)

    # ------------------------------------------------------------------ what a fit shows
    def _scores(self, X):
        check_is_fitted(self)
        rows = take_blocks(self, X, reset=False)
        return (rows.scipy() if isinstance(rows, Csr) else rows) @ self.coef_.T + self.intercept_

    def _terms(self):
        return (LOSSES[self.loss],), ()  # asked for by predict_proba

    @property
    def support_(self):
        """Indices of the kept features; for several outputs the union."""
        check_is_fitted(self)
        return np.flatnonzero(self.coef_.any(axis=0))

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        return tags


def _path(alphas, steps: list[Tried]) -> dict[str, np.ndarray]:
    """What a path returns."""
    shown = {"primal": "primal_original", "gap": "gap", "rel_gap": "rel_gap"}
    return {
        "alpha": alphas,
        "threshold": np.array([one.threshold for one in steps]),
        "kept_fraction": np.array([one.kept.share for one in steps]),
        "coef": np.array([[fit.weights for fit in one.fits] for one in steps]),
        "intercept": np.array([[fit.intercept for fit in one.fits] for one in steps]),
        **{
            name: np.array([[getattr(c, field) for c in one.certificates] for one in steps])
            for name, field in shown.items()
        },
    }
