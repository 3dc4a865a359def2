"""What the transformer and the classifier share: parameters, and the walk from rows to a metric."""

from numbers import Integral, Real
from typing import cast

import numpy as np
from joblib import effective_n_jobs
from sklearn.utils import check_random_state
from sklearn.utils._param_validation import Interval
from threadpoolctl import threadpool_limits

from tamis.base.class_messages import one_class_message
from tamis.base.estimators.estimator import take
from tamis.base.parameters import (
    AUTO,
    BOOL,
    COUNT,
    FRACTION,
    NUMBER,
    RANDOM,
    Auto,
    Seed,
    at_least,
    estimator,
    one_of,
    parameter,
)
from tamis.base.targets import ClassTargets
from tamis.base.validation import warn_user
from tamis.methods.metric_learning.boosting import Boost, Options
from tamis.methods.metric_learning.candidates import Distinct, Scaling
from tamis.methods.metric_learning.learnt_metric import LearntMetric
from tamis.methods.metric_learning.rules import Watch
from tamis.solvers.neighbors import MANY_COLUMNS, MANY_ROWS
from tamis.system.progress import Progress
from tamis.system.threads import locked

ENOUGH = 10  # rows a column above which steps find their columns unaided, unless these are many
WHOLE = Interval(Real, 0, 1, closed="right")
ANY = Interval(Real, None, None, closed="neither")


@estimator(kw_only=True)
class Boosted(LearntMetric):
    """What is asked of the steps by name."""

    subsample: float | Auto = parameter(
        "auto",
        [WHOLE, AUTO],
        'Share of the rows in the bag of a step, drawn without replacement. "auto" is 0.5, and 0.3 '
        "above 10,000 rows.",
    )
    max_features: str | int | float | None = parameter(
        "sqrt",
        [one_of("sqrt"), COUNT, FRACTION, None],
        "Candidate columns drawn for a step: the root of their number, a number, a share, or all "
        "(None).",
    )
    refresh_every: int = parameter(
        50,
        [at_least(0)],
        "Steps after which neighbours are found anew in the metric so far, once 10 steps were "
        "accepted. 0 keeps the first ones.",
    )
    complexity: float = parameter(
        0.01,
        [NUMBER],
        "Price of the trace of the root of W. The steps kept are those of least total loss plus "
        "this price. Values that matter grow with the number of rows: try 1 to 100 a 500 rows.",
    )
    max_order: int = parameter(
        1,
        [COUNT],
        "Most columns in a product: 1 is the linear metric, 2 adds squares and products of "
        "selected columns.",
    )
    max_terms: int = parameter(3000, [at_least(0)], "Most products among the candidates.")
    oob_z: float | Auto | None = parameter(
        "auto",
        [ANY, AUTO, None],
        "Out-of-bag screening: a step counts only if its mean gain on the rows outside the bag is "
        "so many standard errors above 0, and these rows set its weight. None accepts every step "
        'that lowers the loss, as published. "auto" is 1, or None where the bag holds all rows.',
    )
    screen: str | None = parameter(
        "auto",
        [one_of("auto", "moments"), None],
        'Which columns may be drawn at all. "moments": those whose mean, square or product with '
        "another column differs between classes beyond chance (5 % for all together; all columns "
        'where none does). Effects of three columns alone escape it. "auto" screens where there '
        "are fewer than 10 rows a column or more than 200 columns, None never, as published.",
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
        "Whether columns (and products) are brought to deviation 1. Sparse columns are never made "
        "dense for it.",
    )
    early_stopping: bool = parameter(
        False,
        [BOOL],
        "Whether to hold out rows and keep the steps of least error on them, in place of "
        "`complexity`.",
    )
    validation_fraction: float = parameter(
        0.1, [FRACTION], "Share of each class that is held out with `early_stopping`."
    )
    n_iter_no_change: int = parameter(
        10,
        [COUNT],
        "With `early_stopping`, looks (every 10 accepted steps) without improvement after which "
        "the fit ends.",
    )
    n_jobs: int | None = parameter(
        None,
        [Integral, None],
        "Threads of the neighbour search and of BLAS; None is 1, and -1 all cores.",
    )
    random_state: Seed = parameter(None, [RANDOM], "Seed of the bags and of the drawn columns.")
    verbose: bool | Auto = parameter(
        "auto", [BOOL, AUTO], 'Progress bar: "auto" shows it on a terminal after three seconds.'
    )


@estimator
class MetricLearner(Boosted):
    """A metric learnt by sDist."""

    n_neighbors: int = parameter(3, [COUNT], "Neighbours of each side, k.")
    rho: float = parameter(
        0.1, [WHOLE], "Share of the drawn columns that a direction may use; at least one."
    )
    cardinality: int | None = parameter(
        None,
        [COUNT, None],
        "Most columns of a direction; None leaves it to `rho`. 1 makes a weighted sum of squared "
        "differences; more find oblique directions.",
    )
    max_iter: int = parameter(
        250, [COUNT], "Directions tried; shorter steps need more, as 500 of 0.1."
    )
    learning_rate: float = parameter(0.2, [WHOLE], "What the weight of a step is multiplied by.")

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
            Weights of the rows; a row of weight 0 changes nothing, one of weight 2 is two equal
            rows.

        Returns
        -------
        self : object
        """
        self._validate_params()
        taken = take(self, X, y, sample_weight)
        targets = cast(ClassTargets, taken.targets)
        codes = targets.codes_of(taken.columns)
        self._check_counts(codes, taken.weights, targets.classes)
        rows = Distinct.of(taken.rows, codes, taken.weights, len(targets.classes))
        with threadpool_limits(effective_n_jobs(self.n_jobs)):
            self._learn(rows, targets)
        return self

    # ------------------------------------------------------------------ preparation
    def _check_counts(self, codes, weights, classes) -> None:
        """Refuse classes whose rows have no neighbour of their own class; one row of weight 2 is
        two equal rows.
        """
        name = type(self).__name__
        mass = np.bincount(codes, weights=weights, minlength=len(classes))
        if np.count_nonzero(mass) < 2:
            raise ValueError(one_class_message(name, classes[mass.argmax()]))
        rows = np.bincount(codes, minlength=len(classes))
        lonely = classes[(rows < 2) & (mass < 2.0)]
        if len(lonely):
            raise ValueError(
                f"{name}: class {lonely.tolist()[0]!r} has fewer than 2 rows of weight above 0; a "
                "row needs a neighbour of its own class. Merge or drop such classes."
            )

    def _options(self, rows: int, columns: int) -> Options:
        """What is asked of the steps on so many rows and columns."""
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
        features = self.max_features
        lost = rows < ENOUGH * columns or columns > MANY_COLUMNS
        return Options(
            n_neighbors=self.n_neighbors,
            rho=float(self.rho),
            cardinality=self.cardinality,
            max_iter=self.max_iter,
            learning_rate=float(self.learning_rate),
            bag=bag,
            max_features=int(features) if isinstance(features, Integral) else features,
            refresh_every=self.refresh_every,
            complexity=float(self.complexity),
            max_order=self.max_order,
            max_terms=self.max_terms,
            standardize=self.standardize,
            oob_z=z,
            each=self.opp_per_class,
            screen=self.screen == "moments" or (self.screen == "auto" and lost),
            n_jobs=effective_n_jobs(self.n_jobs),
        )

    def _split(self, rows: Distinct, classes, random) -> tuple[np.ndarray, np.ndarray | None]:
        """Rows to learn from and rows to hold out, class by class, or all and None."""
        order, held = rows.order, []
        if not self.early_stopping:
            return order, None
        for c, label in enumerate(classes.tolist()):
            mine = order[rows.codes[order] == c]
            count = min(max(1, round(self.validation_fraction * len(mine))), len(mine) - 2)
            if count < 1:
                raise ValueError(
                    f"early_stopping holds out rows of every class, but class {label!r} has "
                    f"{len(mine)} distinct rows; it needs 3."
                )
            held.append(random.permutation(mine)[:count])
        outside = np.concatenate(held)
        return order[~np.isin(order, outside)], np.sort(outside)

    # ------------------------------------------------------------------ the fit
    def _learn(self, rows: Distinct, targets: ClassTargets) -> None:
        """Run all steps and store the metric."""
        random = np.random.default_rng(check_random_state(self.random_state).randint(2**31 - 1))
        learnt, held = self._split(rows, targets.classes, random)
        boost = self._begun(rows.picked(learnt), random)
        watch = None
        if held is not None:
            outside = rows.matrix[held], rows.codes[held], rows.weights[held]
            watch = Watch(*outside, self._rule(), self.n_iter_no_change)
        with Progress(type(self).__name__, self.max_iter, self.verbose) as progress:
            boost.run(progress, watch)
        if boost.steps[0]["status"] == "fallback":
            warn_user(
                f"{type(self).__name__}: no step passed in {self.max_iter}; the metric is the one "
                "best direction of all rows and columns, which may be noise. Lower oob_z, raise "
                "max_iter, or give more rows.",
                UserWarning,
            )
        length = boost.best_length() if watch is None else watch.length
        self._keep(boost.metric(length), boost.scaling)
        self._targets = targets
        self._remember(rows)

    def _begun(self, rows: Distinct, random) -> Boost:
        """The state of a fit on some rows."""
        scaling = Scaling(rows.matrix, rows.weights, self.standardize)
        if not len(scaling.usable):
            raise ValueError(
                f"{type(self).__name__}: all {rows.matrix.shape[1]} columns are constant, so no "
                "two rows differ. Check X."
            )
        return Boost(*rows, self._options(*rows.matrix.shape), scaling, random)

    def _rule(self) -> str:
        """How held-out rows are classified."""
        return "knn"

    def _remember(self, rows: Distinct) -> None:
        """What a model keeps of the rows: nothing."""
