"""Base of SDist and SDistClassifier: their parameters and their `fit`."""

from numbers import Integral, Real
from typing import cast

import numpy as np
from joblib import effective_n_jobs
from sklearn.utils import check_random_state
from sklearn.utils._param_validation import Interval
from threadpoolctl import threadpool_limits

from tamis.base.class_messages import one_class_message
from tamis.base.estimators.estimator import validate_training
from tamis.base.parameters import (
    AUTO,
    BOOL,
    NON_NEGATIVE,
    OPEN_UNIT_INTERVAL,
    POSITIVE_INTEGER,
    RANDOM_STATE,
    Auto,
    Seed,
    at_least,
    estimator,
    one_of_strings,
    parameter,
)
from tamis.base.targets import ClassTargets
from tamis.base.validation import warn_user
from tamis.methods.metric_learning.boosting import Boost, SDistOptions
from tamis.methods.metric_learning.candidates import DistinctRows, Scaling
from tamis.methods.metric_learning.learnt_metric import LearntMetric
from tamis.methods.metric_learning.rules import EarlyStopping
from tamis.solvers.neighbors import MAX_EXACT_COLUMNS, MAX_EXACT_ROWS
from tamis.system.progress import Progress
from tamis.system.threads import locked

MIN_ROWS_PER_COLUMN = 10  # from which steps select columns without screening, unless there are many
POSITIVE_FRACTION = Interval(Real, 0, 1, closed="right")
FINITE_NUMBER = Interval(Real, None, None, closed="neither")


@estimator(kw_only=True)
class SDistParameters(LearntMetric):
    """Keyword parameters of the steps."""

    subsample: float | Auto = parameter(
        "auto",
        [POSITIVE_FRACTION, AUTO],
        'Fraction of the rows in the bag of a step, drawn without replacement. "auto" is 0.5, or '
        "0.3 above 10,000 rows.",
    )
    max_features: str | int | float | None = parameter(
        "sqrt",
        [one_of_strings("sqrt"), POSITIVE_INTEGER, OPEN_UNIT_INTERVAL, None],
        "Candidate columns drawn for a step: the square root of their number, a number, a "
        "fraction, or all (None).",
    )
    refresh_every: int = parameter(
        50,
        [at_least(0)],
        "Steps after which neighbours are searched again in the metric so far, once 10 steps were "
        "accepted. 0 never searches again.",
    )
    complexity: float = parameter(
        0.01,
        [NON_NEGATIVE],
        "Penalty on the trace of the square root of W. The number of steps minimises the total "
        "loss plus this penalty. Values that matter grow with the number of rows: try 1 to 100 "
        "for 500 rows.",
    )
    max_order: int = parameter(
        1,
        [POSITIVE_INTEGER],
        "Largest number of columns in a product: 1 is the linear metric, 2 adds squares and "
        "products of selected columns.",
    )
    max_terms: int = parameter(
        3000, [at_least(0)], "Largest number of products among the candidates."
    )
    oob_z: float | Auto | None = parameter(
        "auto",
        [FINITE_NUMBER, AUTO, None],
        "Out-of-bag screening: a step is accepted only if its mean gain on the rows outside the "
        "bag is this many standard errors above 0, and these rows set its weight. None accepts "
        'every step that lowers the loss, as published. "auto" is 1, or None where the bag holds '
        "all rows.",
    )
    screen: str | None = parameter(
        "auto",
        [one_of_strings("auto", "moments"), None],
        'Which columns may be drawn at all. "moments": those whose mean, square or product with '
        "another column differs between classes beyond chance (5 % for all together; all columns "
        'where none does). It does not detect effects of three columns together. "auto" screens '
        "where there are fewer than 10 rows per column or more than 200 columns, None never, as "
        "published.",
    )
    opp_per_class: bool = parameter(
        False,
        [BOOL],
        "With several classes, whether a row has k neighbours in every other class instead of k in "
        "all of them together.",
    )
    standardize: bool = parameter(
        True,
        [BOOL],
        "Whether columns (and products) are scaled to standard deviation 1. Sparse columns stay "
        "sparse.",
    )
    early_stopping: bool = parameter(
        False,
        [BOOL],
        "Whether to hold out rows and choose the number of steps by the error on them, instead of "
        "by `complexity`.",
    )
    validation_fraction: float = parameter(
        0.1, [OPEN_UNIT_INTERVAL], "Fraction of each class that `early_stopping` holds out."
    )
    n_iter_no_change: int = parameter(
        10,
        [POSITIVE_INTEGER],
        "With `early_stopping`, evaluations (every 10 accepted steps) without improvement after "
        "which the fit ends.",
    )
    n_jobs: int | None = parameter(
        None,
        [Integral, None],
        "Threads of the neighbour search and of BLAS; None is 1, and -1 all cores.",
    )
    random_state: Seed = parameter(
        None, [RANDOM_STATE], "Seed of the bags and of the drawn columns."
    )
    verbose: bool | Auto = parameter(
        "auto", [BOOL, AUTO], 'Progress bar: "auto" shows it on a terminal after three seconds.'
    )


@estimator
class MetricLearner(SDistParameters):
    """A metric learnt by sDist."""

    n_neighbors: int = parameter(
        3, [POSITIVE_INTEGER], "Neighbours of a row in its class, and in the others, k."
    )
    rho: float = parameter(
        0.1,
        [POSITIVE_FRACTION],
        "Fraction of the drawn columns that a direction may use; at least one.",
    )
    cardinality: int | None = parameter(
        None,
        [POSITIVE_INTEGER, None],
        "Largest number of columns of a direction; None leaves it to `rho`. 1 makes a weighted sum "
        "of squared differences; more allow oblique directions.",
    )
    max_iter: int = parameter(
        250,
        [POSITIVE_INTEGER],
        "Directions tried; a smaller learning rate needs more, such as 500 for 0.1.",
    )
    learning_rate: float = parameter(0.2, [POSITIVE_FRACTION], "Factor of the weight of each step.")

    @locked
    def fit(self, X, y, sample_weight=None):
        """Learn the metric.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Rows.
        y : array-like of shape (n_samples,)
            Classes.
        sample_weight : array-like of shape (n_samples,), default=None
            Weights of the rows; a row of weight 0 changes nothing, a row of weight 2 counts as two
            equal rows.

        Returns
        -------
        self : object
        """
        self._validate_params()
        training = validate_training(self, X, y, sample_weight)
        targets = cast(ClassTargets, training.targets)
        codes = targets.class_indices(training.columns)
        self._check_counts(codes, training.weights, targets.classes)
        rows = DistinctRows.from_rows(training.rows, codes, training.weights, len(targets.classes))
        with threadpool_limits(effective_n_jobs(self.n_jobs)):
            self._learn(rows, targets)
        return self

    # ------------------------------------------------------------------ preparation
    def _check_counts(self, codes, weights, classes) -> None:
        """Raise for a class in which a row has no neighbour; a row of weight 2 counts as two equal
        rows.
        """
        name = type(self).__name__
        total_weights = np.bincount(codes, weights=weights, minlength=len(classes))
        if np.count_nonzero(total_weights) < 2:
            raise ValueError(one_class_message(name, classes[total_weights.argmax()]))
        rows = np.bincount(codes, minlength=len(classes))
        too_small = classes[(rows < 2) & (total_weights < 2.0)]
        if len(too_small):
            raise ValueError(
                f"{name}: class {too_small.tolist()[0]!r} has fewer than 2 rows of weight above 0, "
                "but a row needs a neighbour of its class. Merge or drop such classes."
            )

    def _options(self, n_rows: int, n_columns: int) -> SDistOptions:
        """Resolve the parameters of the steps for the shape of X."""
        fraction = (
            self.subsample if self.subsample != "auto" else 0.3 if n_rows > MAX_EXACT_ROWS else 0.5
        )
        bag_size = (
            n_rows
            if fraction == 1.0
            else min(n_rows, max(2 * self.n_neighbors, round(fraction * n_rows)))
        )
        z = self.oob_z
        if z == "auto":
            z = None if bag_size == n_rows else 1.0
        elif z is not None and fraction == 1.0:
            raise ValueError(
                f"oob_z={z} needs rows outside the bag, but subsample=1.0 leaves none. Set "
                "oob_z=None or a smaller subsample."
            )
        features = self.max_features
        few_rows = n_rows < MIN_ROWS_PER_COLUMN * n_columns or n_columns > MAX_EXACT_COLUMNS
        return SDistOptions(
            n_neighbors=self.n_neighbors,
            rho=float(self.rho),
            cardinality=self.cardinality,
            max_iter=self.max_iter,
            learning_rate=float(self.learning_rate),
            bag_size=bag_size,
            max_features=int(features) if isinstance(features, Integral) else features,
            refresh_every=self.refresh_every,
            complexity=float(self.complexity),
            max_order=self.max_order,
            max_terms=self.max_terms,
            standardize=self.standardize,
            oob_z=z,
            opp_per_class=self.opp_per_class,
            screen=self.screen == "moments" or (self.screen == "auto" and few_rows),
            n_jobs=effective_n_jobs(self.n_jobs),
        )

    def _split_rows(
        self, rows: DistinctRows, classes, random
    ) -> tuple[np.ndarray, np.ndarray | None]:
        """Return the rows to train on and those to hold out from each class, or all and None."""
        order, class_selections = rows.order, []
        if not self.early_stopping:
            return order, None
        for c, label in enumerate(classes.tolist()):
            class_rows = order[rows.codes[order] == c]
            n_held_out = min(
                max(1, round(self.validation_fraction * len(class_rows))), len(class_rows) - 2
            )
            if n_held_out < 1:
                raise ValueError(
                    f"early_stopping holds out rows of every class, but class {label!r} has "
                    f"{len(class_rows)} distinct rows; it needs 3."
                )
            class_selections.append(random.permutation(class_rows)[:n_held_out])
        held_out = np.concatenate(class_selections)
        return order[~np.isin(order, held_out)], np.sort(held_out)

    # ------------------------------------------------------------------ the fit
    def _learn(self, rows: DistinctRows, targets: ClassTargets) -> None:
        """Take all steps and store the metric."""
        random = np.random.default_rng(check_random_state(self.random_state).randint(2**31 - 1))
        train_rows, held_out = self._split_rows(rows, targets.classes, random)
        boost = self._start_boosting(rows.select(train_rows), random)
        early_stopping = None
        if held_out is not None:
            validation_data = rows.matrix[held_out], rows.codes[held_out], rows.weights[held_out]
            early_stopping = EarlyStopping(
                *validation_data, self._validation_rule(), self.n_iter_no_change
            )
        with Progress(type(self).__name__, self.max_iter, self.verbose) as progress:
            boost.run(progress, early_stopping)
        if boost.steps[0]["status"] == "fallback":
            warn_user(
                f"{type(self).__name__}: no step passed in {self.max_iter}; the metric is the best "
                "single direction of all rows and columns, which may be noise. Lower oob_z, raise "
                "max_iter, or give more rows.",
                UserWarning,
            )
        n_steps = boost.best_n_steps() if early_stopping is None else early_stopping.best_n_steps
        self._store_metric(boost.metric(n_steps), boost.scaling)
        self._targets = targets
        self._store_training_rows(rows)

    def _start_boosting(self, rows: DistinctRows, random) -> Boost:
        """Return the initial state of a fit."""
        scaling = Scaling(rows.matrix, rows.weights, self.standardize)
        if not len(scaling.usable):
            raise ValueError(
                f"{type(self).__name__}: all {rows.matrix.shape[1]} columns are constant, so no "
                "two rows differ. Check X."
            )
        return Boost(*rows, self._options(*rows.matrix.shape), scaling, random)

    def _validation_rule(self) -> str:
        """Return the rule that classifies held-out rows in early stopping."""
        return "knn"

    def _store_training_rows(self, rows: DistinctRows) -> None:
        """Store the training rows where the model needs them; a transformer does not."""
