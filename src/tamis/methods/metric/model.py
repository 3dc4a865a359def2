"""What the sDist transformer and classifier share: the walk from rows to a metric, and what a
metric shows.
"""

from numbers import Integral, Real
from typing import Any, ClassVar

import numpy as np
import scipy.sparse as sp
from joblib import effective_n_jobs
from sklearn.base import TransformerMixin
from sklearn.utils import check_random_state, column_or_1d
from sklearn.utils._param_validation import Interval, StrOptions
from sklearn.utils.validation import _check_feature_names_in, check_is_fitted
from threadpoolctl import threadpool_limits

from tamis.base.border import check_classes, take_blocks, take_weights, warn_user
from tamis.base.contents import (
    array,
    count,
    early,
    index_tuple,
    indices,
    labels,
    listing,
    part,
    records,
    rows,
)
from tamis.base.estimator import Estimator
from tamis.base.machine.progress import Progress
from tamis.base.parameters import AUTO, COUNT, NUMBER
from tamis.base.rows import Csr, settle
from tamis.methods.metric.boosting import Boost, Metric, Wishes
from tamis.methods.metric.candidates import Scaling
from tamis.methods.metric.steps import components_of
from tamis.solvers.neighbours import MANY_ROWS

SHARE = Interval(Real, 0, 1, closed="neither")
WHOLE = Interval(Real, 0, 1, closed="right")
ENOUGH = 10  # rows a column above which steps find their columns unaided
SHARED: dict[str, Any] = {
    "n_neighbors": [COUNT],
    "rho": [WHOLE],
    "kappa": [COUNT, None],
    "n_steps": [COUNT],
    "learning_rate": [WHOLE],
    "subsample": [WHOLE, AUTO],
    "max_features": [StrOptions({"sqrt"}), COUNT, Interval(Real, 0, 1, closed="neither"), None],
    "refresh_every": [Interval(Integral, 0, None, closed="left")],
    "complexity": [NUMBER],
    "max_order": [COUNT],
    "max_terms": [Interval(Integral, 0, None, closed="left")],
    "oob_z": [Interval(Real, None, None, closed="neither"), AUTO, None],
    "screen": [StrOptions({"moments", "auto"}), None],
    "engine": [StrOptions({"power", "stabilized"})],
    "opp_per_class": ["boolean"],
    "standardize": ["boolean"],
    "n_components": [COUNT, None],
    "early_stopping": ["boolean"],
    "validation_fraction": [SHARE],
    "n_iter_no_change": [COUNT],
    "n_jobs": [Integral, None],
    "random_state": ["random_state"],
    "verbose": ["boolean", AUTO],
}


class SDistBase(TransformerMixin, Estimator):
    """A metric learnt by sDist."""

    _parameter_constraints: ClassVar[dict] = SHARED

    def fit(self, X, y, sample_weight=None):
        """Learn the metric.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Rows.
        y : array-like of shape (n_samples,)
            Classes.
        sample_weight : array-like of shape (n_samples,), default=None
            Weights of the rows; a row of weight 0 changes nothing, one of weight 2 is two equal
            rows.

        Returns
        -------
        self : object
        """
        self._validate_params()
        matrix, codes, weights, order = self._take(X, y, sample_weight)
        with threadpool_limits(effective_n_jobs(self.n_jobs)):
            self._learn(matrix, codes, weights, order)
        return self

    # ------------------------------------------------------------------ preparation
    def _take(self, X, y, sample_weight):
        """Checked rows, class numbers, weights, and an order of the rows that hangs on their
        content alone; equal rows are one.
        """
        rows = take_blocks(self, X, reset=True)
        matrix = rows.scipy() if isinstance(rows, Csr) else rows
        codes = self._codes(y, matrix.shape[0])
        weights = take_weights(sample_weight, matrix.shape[0], some=True)
        weights = np.array(weights) if len(weights) else np.ones(matrix.shape[0])
        if not weights.all():
            kept = np.flatnonzero(weights)
            matrix, codes, weights = matrix[kept], codes[kept], weights[kept]
        self._check_counts(codes, weights)
        signs = np.where(codes[:, None] == np.arange(len(self.classes_)), 1.0, -1.0)
        matrix, signs, weights, order = settle(matrix, signs, weights)
        return matrix, signs.argmax(axis=1), weights, order

    def _codes(self, y, n_rows: int) -> np.ndarray:
        if y is None:
            raise ValueError(
                f"{type(self).__name__} requires y to be passed, but the target y is None."
            )
        y = column_or_1d(y, warn=True)
        if len(y) != n_rows:
            raise ValueError(
                f"Found input variables with inconsistent numbers of samples: {[n_rows, len(y)]}"
            )
        check_classes(y)
        self.classes_, codes = np.unique(y, return_inverse=True)
        return codes

    def _check_counts(self, codes, weights) -> None:
        """Refuse classes whose rows have no neighbour of their own class; one row of weight 2 is
        two equal rows.
        """
        mass = np.bincount(codes, weights=weights, minlength=len(self.classes_))
        if np.count_nonzero(mass) < 2:
            only = self.classes_.tolist()[mass.argmax()]
            raise ValueError(
                f"{type(self).__name__} needs samples of at least 2 classes in the data, but y "
                f"holds only one class: {only!r}."
            )
        rows = np.bincount(codes, minlength=len(self.classes_))
        lonely = self.classes_[(rows < 2) & (mass < 2.0)]
        if len(lonely):
            raise ValueError(
                f"{type(self).__name__}: class {lonely.tolist()[0]!r} has fewer than 2 rows of "
                "weight above 0; a row needs a neighbour of its "
                "own class. Merge or drop such classes."
            )

    def _wishes(self, rows: int, columns: int) -> Wishes:
        share = self.subsample if self.subsample != "auto" else 0.3 if rows > MANY_ROWS else 0.5
        bag = rows if share == 1.0 else min(rows, max(2 * self.n_neighbors, round(share * rows)))
        z = self.oob_z
        if z == "auto":
            z = None if bag == rows else 1.0
        elif z is not None and share == 1.0:
            raise ValueError(
                f"oob_z={z} needs rows outside the bag, but subsample=1.0 leaves none. Set "
                "oob_z=None or a smaller subsample."
            )
        features = (
            int(self.max_features) if isinstance(self.max_features, Integral) else self.max_features
        )
        return Wishes(
            self.n_neighbors,
            float(self.rho),
            self.kappa,
            self.n_steps,
            float(self.learning_rate),
            bag,
            features,
            self.refresh_every,
            float(self.complexity),
            self.max_order,
            self.max_terms,
            z,
            self.engine,
            self.opp_per_class,
            self.screen == "moments" or (self.screen == "auto" and rows < ENOUGH * columns),
            effective_n_jobs(self.n_jobs),
        )

    _contents: ClassVar[dict] = {
        "classes_": early(labels("classes", least=1)),
        "_scaling": part(Scaling, "columns"),
        "terms_": listing(index_tuple("columns"), "terms", 1),
        "_spreads": array("f8", "terms", least=np.finfo(float).tiny, finite=False),
        "_loadings": rows("terms", "steps", formats=("csc",)),
        "components_": array("f8", "components", "terms", order=None),
        "candidates_": indices("candidates", below="columns", distinct=True),
        "steps_": records(),
        "n_steps_": count(),
        "history_": records(),
    }

    # ------------------------------------------------------------------ the fit
    def _learn(self, matrix, codes, weights, order) -> None:
        """Run all steps and store the metric."""
        random = np.random.default_rng(check_random_state(self.random_state).randint(2**31 - 1))
        learnt, held = self._split(codes, order, random)
        boost = self._boost(matrix, codes, weights, order if held is None else learnt, random)
        watch = None if held is None else Watch(self, matrix[held], codes[held], weights[held])
        with Progress(type(self).__name__, self.n_steps, self.verbose) as progress:
            boost.run(progress, watch)
        if boost.steps[0]["status"] == "fallback":
            warn_user(
                f"{type(self).__name__}: no step passed in {self.n_steps}; the metric is the one "
                "best direction of all rows and columns, which may "
                "be noise. Lower oob_z, raise n_steps, or give more rows.",
                UserWarning,
            )
        self._store(
            boost.metric(boost.best_length() if watch is None else watch.length),
            boost.scaling,
            matrix,
            codes,
            weights,
        )

    def _boost(self, matrix, codes, weights, rows, random) -> Boost:
        """The state of a fit on some rows, given in the order to draw them."""
        if len(rows) < len(codes):
            inside = np.sort(rows)
            matrix, codes, weights, rows = (
                matrix[inside],
                codes[inside],
                weights[inside],
                np.searchsorted(inside, rows),
            )
        scaling = Scaling(matrix, weights, self.standardize)
        if not len(scaling.usable):
            raise ValueError(
                f"{type(self).__name__}: all {matrix.shape[1]} columns are constant, so no two "
                "rows differ. Check X."
            )
        return Boost(matrix, codes, weights, rows, self._wishes(*matrix.shape), scaling, random)

    def _split(self, codes, order, random):
        """Rows to learn from and rows to hold out, class by class, or all and None."""
        if not self.early_stopping:
            return order, None
        held = []
        for c in range(len(self.classes_)):
            mine = order[codes[order] == c]
            count = min(max(1, round(self.validation_fraction * len(mine))), len(mine) - 2)
            if count < 1:
                few = self.classes_.tolist()[c]
                raise ValueError(
                    f"early_stopping holds out rows of every class, but class {few!r} has "
                    f"{len(mine)} distinct rows; it needs 3."
                )
            held.append(random.permutation(mine)[:count])
        held = np.concatenate(held)
        return order[~np.isin(order, held)], np.sort(held)

    def _store(self, metric: Metric, scaling, matrix, codes, weights) -> None:
        self._scaling, self._spreads, self._loadings = scaling, metric.spreads, metric.loadings
        self.terms_, self.steps_, self.history_, self.n_steps_ = (
            metric.terms,
            metric.steps,
            metric.history,
            len(metric.steps),
        )
        self.candidates_ = metric.candidates
        self.components_ = components_of(metric.loadings.toarray(), self.n_components)

    # ------------------------------------------------------------------ what a fit shows
    def transform(self, X):
        """Rows as points whose Euclidean distances are the learnt ones.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Rows.

        Returns
        -------
        Z : ndarray of shape (n_samples, n_components)
        """
        check_is_fitted(self)
        rows = take_blocks(self, X, reset=False)
        return self._points(rows.scipy() if isinstance(rows, Csr) else rows)

    def _points(self, matrix) -> np.ndarray:
        columns = sp.csc_array(matrix) if sp.issparse(matrix) else matrix
        return self._scaling.projected(columns, self.terms_, self._spreads, self.components_)

    def get_feature_names_out(self, input_features=None):
        """Names of the components: sdist0, sdist1, and so on.

        Parameters
        ----------
        input_features : array-like of str or None, default=None
            For scikit-learn; names of the columns, checked and not used.

        Returns
        -------
        names : ndarray of str
        """
        check_is_fitted(self)
        _check_feature_names_in(self, input_features)
        return np.asarray(
            [f"sdist{number}" for number in range(len(self.components_))], dtype=object
        )

    def get_term_names(self, input_features=None):
        """Names of the terms: a column's own, products as "a b", squares as "a^2".

        Parameters
        ----------
        input_features : array-like of str or None, default=None
            Names of the columns; None takes those of `fit`, or x0, x1, and so on.

        Returns
        -------
        names : list of str
        """
        check_is_fitted(self)
        names = _check_feature_names_in(self, input_features)
        return [term_name(term, names) for term in self.terms_]

    @property
    def metric_(self):
        """The metric W over the terms."""
        check_is_fitted(self)
        if self.n_components is None or len(self.components_) < self.n_components:
            return sp.csr_array(self._loadings @ self._loadings.T)
        return sp.csr_array(self.components_.T @ self.components_)

    def _term_shares(self) -> np.ndarray:
        shares = (self.components_**2).sum(axis=0)
        return shares / shares.sum()

    @property
    def feature_importances_(self):
        """Share of each column in the trace of W."""
        check_is_fitted(self)
        found = np.zeros(self.n_features_in_)
        for term, share in zip(self.terms_, self._term_shares(), strict=True):
            np.add.at(found, list(term), share / len(term))
        return found

    @property
    def interaction_importances_(self):
        """Products and their share in the trace of W, the largest first."""
        check_is_fitted(self)
        found = [
            (term, float(share))
            for term, share in zip(self.terms_, self._term_shares(), strict=True)
            if len(term) > 1
        ]
        return sorted(found, key=lambda pair: -pair[1])

    @property
    def support_(self):
        """Columns that the metric looks at."""
        check_is_fitted(self)
        return np.unique([column for term in self.terms_ for column in term])

    def __sklearn_is_fitted__(self):
        return hasattr(self, "components_")

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        tags.target_tags.required = True
        return tags


def term_name(term, names) -> str:
    """A product in words: "a b", "a^2"."""
    powers = {column: term.count(column) for column in term}
    return " ".join(
        str(names[column]) if power == 1 else f"{names[column]}^{power}"
        for column, power in powers.items()
    )


class Watch:
    """Early stopping: errors of the metric so far on held-out rows, by the votes of their
    neighbours.
    """

    def __init__(self, model, matrix, codes, weights):
        self.matrix, self.codes, self.weights = (
            sp.csc_array(matrix) if sp.issparse(matrix) else matrix,
            codes,
            weights,
        )
        self.k, self.rule, self.patience = (
            model.n_neighbors,
            getattr(model, "rule", "knn"),
            model.n_iter_no_change,
        )
        self.error, self.length, self.idle = np.inf, 0, 0

    def __call__(self, boost) -> bool:
        """Look; True when the error has not improved for long."""
        from tamis.methods.metric.rules import Rules

        rules = Rules(
            boost.points(),
            boost.codes,
            boost.weights,
            int(boost.codes.max()) + 1,
            self.k,
            self.rule,
            boost.wishes.n_jobs,
        )
        guesses = rules.scores(boost.points(self.matrix)).argmax(axis=1)
        error = float(np.average(guesses != self.codes, weights=self.weights))
        boost.steps[-1]["validation_error"] = error
        better = error < self.error
        self.error, self.length, self.idle = (
            (error, len(boost.steps), 0) if better else (self.error, self.length, self.idle + 1)
        )
        return self.idle >= self.patience
