"""L1 classification on data without their small entries, with a certificate of what that costs."""

from typing import Any, ClassVar

import numpy as np
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils._param_validation import HasMethods
from sklearn.utils.validation import check_is_fitted

from tamis.base.estimators.classifier import LikelyClassifier
from tamis.base.estimators.estimator import take, take_asked
from tamis.base.parameters import (
    ABOVE,
    AUTO,
    BOOL,
    COUNT,
    NUMBER,
    Auto,
    estimator,
    is_auto,
    one_of,
    parameter,
)
from tamis.base.validation import warn_user
from tamis.methods.data_thresholding.bounds import AT_ZERO, Problem, safe_threshold
from tamis.methods.data_thresholding.certificate import Certificate
from tamis.methods.data_thresholding.search import Options, Tried, search, search_path, shown_path
from tamis.methods.data_thresholding.thresholds import keeping
from tamis.system.schema import array, count, number, plain, records
from tamis.terms.losses import LOSSES

MAX_ERROR = 0.01  # what threshold="auto" keeps to where nothing is asked for
START = 0.5  # share of the entries that its first try keeps


@estimator
class ThresholdedClassifier(LikelyClassifier):
    r"""Sparse linear classifier that learns from the large entries of the data alone, and says what
    that costs at most.

    Choose it where data hold many small entries, such as tf-idf weights of long texts, and the
    solver at hand is slow or short of memory: it sees a fraction of the entries. The solver in
    tamis is so fast that little time is left to save. Features should be of one scale, since one
    threshold cuts them all. `predict` takes rows as they are, not thresholded.

    With X(t) for the data without their entries of size at most t, it minimises

    .. math:: \Phi(X(t); w, b) = \frac{1}{\sum_i c_i} \sum_i c_i f(y_i (x_i(t)^T w + b))
       + \alpha \lVert w \rVert_1

    for the logistic or the hinge loss f and weights c of the rows, several classes one against the
    rest. A few passes over the whole data then bound, through the dual problem, how far the result
    is from the optimum on X itself: that is `certificate_`. With `max_error` the threshold is
    halved until the certificate is good enough; in the end nothing is dropped, and the certificate
    is that of a plain fit.

    {parameters}

    {attributes}

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
    >>> model = ThresholdedClassifier(alpha=1e-3, max_error=0.05).fit(X, y)
    >>> model.kept_fraction_ < 1.0
    True
    >>> model.certificate_["rel_gap"] <= 0.05
    True
    >>> model.certificate_["vacuous"]
    True
    """

    estimator: Any = parameter(
        None,
        [HasMethods(["fit", "get_params"]), None],
        "Who solves the problem on the thresholded data. None is the solver in tamis: Newton steps "
        "with coordinate descent, or a linear program for the hinge loss. Otherwise a linear L1 "
        "classifier with `coef_` and `intercept_`; its parameter `C` is set to 1 / (alpha sum of "
        "weights) or, if it has none, its `alpha` to alpha. The certificate holds whatever it "
        "returns.",
        "estimator or None",
    )
    alpha: float = parameter(1e-4, [ABOVE], "Strength of the L1 penalty.")
    loss: str = parameter(
        "logistic", [one_of("logistic", "hinge")], "Loss, which the certificate is about too."
    )
    threshold: float | Auto = parameter(
        "auto",
        [NUMBER, AUTO],
        'Entries of this size or less are dropped. "auto" begins where half of the entries stay, '
        "and needs a `max_error`; left out, that is 0.01.",
    )
    max_error: float | None = parameter(
        None,
        [ABOVE, None],
        "Largest distance from the optimum on the whole data. While none of the bounds in the "
        "certificate is that small, the threshold is halved. None takes the threshold as it is.",
    )
    mode: str = parameter(
        "relative",
        [one_of("relative", "absolute")],
        "Whether `max_error` is a share of the optimum, or in units of the objective.",
    )
    fit_intercept: bool = parameter(
        True, [BOOL], "Whether to learn an intercept; it is not penalised.", kw_only=True
    )
    max_iter: int = parameter(100, [COUNT], "Most working sets of a fit.", kw_only=True)
    tol: float = parameter(
        1e-4,
        [ABOVE],
        "Duality gap on the thresholded data, as a share of the objective, at which a fit ends. "
        "With `max_error` it is at most a tenth of that.",
        kw_only=True,
    )
    _contents: ClassVar[dict] = {
        "history_": records(),
        "coef_": array("f8", "outputs", "columns"),
        "intercept_": array("f8", "outputs"),
        "threshold_": number(float, least=0.0),
        "kept_fraction_": number(float, least=0.0, most=1.0),
        "certificate_": plain(),
        "n_iter_": count(),
    }
    _attributes: ClassVar[str] = """\
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
            objective on the thresholded data and on X; "dual_bound", which the optimum on X cannot
            be below; "gap", their difference, and "rel_gap", the same as a share of the bound (inf
            where that is 0: nothing is promised then); "apriori_abs" and "apriori_rel", what theory
            promised before the fit, and "vacuous", whether that is no more than what is known of a
            model without weights; "aposteriori", the bound that needs no dual; "upper_thresholded"
            and "dual_thresholded", bounds on both sides that need the thresholded data only;
            "solver_gap", how far from the optimum there.
        history_ : list of dict
            Per threshold tried: the threshold, kept fraction, bytes of the data, and the worst
            output's gap and relative gap.
        n_iter_ : int
            Working sets of the last fit, of the output that took most.
        n_features_in_ : int
            Number of columns.
        feature_names_in_ : ndarray of str
            Names of the columns, where X had them."""

    def _loss(self):
        return LOSSES[self.loss]

    # ------------------------------------------------------------------ training
    def _fit(self, X, y, sample_weight):
        """Check, prepare, try thresholds until one holds, store."""
        self._validate_params()
        matrix, problems, targets, mass = self._prepare(X, y, sample_weight)
        options, floor = self._options(mass, self._target()), 0.0
        if options.max_error is not None:
            allowed = (options.max_error, self.mode)
            floor = safe_threshold(*allowed, float(self.alpha), AT_ZERO[self.loss])
        steps = search(matrix, problems, options, self._first(matrix), floor)
        self._store(steps, targets)
        self._warn(steps[-1], options)
        return self

    def _prepare(self, X, y, sample_weight):
        """Rows in float64, one problem an output, targets, and the sum of the rows' weights."""
        taken = take(self, X, y, sample_weight)
        matrix = taken.rows
        matrix = matrix if matrix.dtype == np.float64 else matrix.astype(np.float64)
        mass = float(taken.weights.sum())
        settings = (taken.weights / mass, self.loss, float(self.alpha), self.fit_intercept)
        signs = taken.targets.signs(taken.columns)
        problems = [Problem(np.ascontiguousarray(column), *settings) for column in signs.T]
        return matrix, problems, taken.targets, mass

    def _options(self, mass: float, max_error: float | None) -> Options:
        tol = float(self.tol)
        return Options(self.estimator, mass, max_error, self.mode, tol, self.max_iter)

    def _target(self) -> float | None:
        """What the certificate has to show."""
        if self.max_error is None:
            return MAX_ERROR if is_auto(self.threshold) else None
        return float(self.max_error)

    def _first(self, matrix) -> float:
        """Where the search begins."""
        return keeping(matrix, START) if is_auto(self.threshold) else float(self.threshold)

    def _store(self, steps: list[Tried], targets) -> None:
        tried = steps[-1]

        def shown(name: str):
            values = targets.decision(np.array([[getattr(c, name) for c in tried.certificates]]))
            return values[0] if values.ndim == 2 else values[0].item()

        self._targets = targets
        self.history_ = [one.figures() for one in steps]
        self.coef_ = np.array([fit.weights for fit in tried.fits])
        self.intercept_ = np.array([fit.intercept for fit in tried.fits])
        self.threshold_, self.kept_fraction_ = float(tried.threshold), float(tried.kept.share)
        self.n_iter_ = max(1, *(fit.turns for fit in tried.fits))
        self.certificate_ = {name: shown(name) for name in Certificate._fields}

    def _warn(self, tried: Tried, options: Options) -> None:
        """Say so where a solver stopped early, or nothing was enough for `max_error`."""
        worst = max(
            one.solver_gap / max(one.primal_thresholded, np.finfo(float).tiny)
            for one in tried.certificates
        )
        if self.estimator is None and not all(fit.converged for fit in tried.fits):
            said = (
                f"used {self.max_iter} working sets, and its relative duality gap is still "
                f"{worst:.2g}, above tol={self.tol:g}. Raise max_iter or tol, or scale the columns."
            )
        elif not tried.holds(options):
            said = (
                f"found no threshold with a certificate of max_error={options.max_error:g}: even "
                f"without one the solver's own gap is {worst:.2g} of the objective. Raise "
                "max_error, or lower the tolerance of the estimator."
            )
        else:
            return
        warn_user(f"{type(self).__name__} {said}", ConvergenceWarning)

    # ------------------------------------------------------------------ path
    def path(self, X, y, alphas, max_error, sample_weight=None):
        """Models for a falling sequence of strengths; along it dropped entries come back, as far as
        `max_error` asks for them.

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
        max_error : float
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
        falling = alphas.ndim == 1 and len(alphas) and (np.diff(alphas) < 0).all()
        if not falling or (alphas <= 0).any():
            raise ValueError(
                "alphas must be above 0 and fall from one to the next: what is known of the last "
                f"model holds for smaller ones only. Got {alphas}."
            )
        if not max_error > 0:
            raise ValueError(
                f"max_error must be above 0: of 0 no certificate is possible. Got {max_error!r}."
            )
        walker = type(self)(**self.get_params(deep=False))  # X's columns are noted there
        matrix, problems, _, mass = walker._prepare(X, y, sample_weight)
        options = self._options(mass, float(max_error))
        steps = search_path(matrix, problems, options, self._first(matrix), alphas)
        return shown_path(alphas, steps)

    # ------------------------------------------------------------------ what a fit shows
    def _scores(self, X):
        return take_asked(self, X) @ self.coef_.T + self.intercept_

    @property
    def support_(self):
        """Indices of the kept features; for several outputs the union."""
        check_is_fitted(self)
        return np.flatnonzero(self.coef_.any(axis=0))
