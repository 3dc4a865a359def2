"""`FDRSelector`: features that may be claimed, at a stated rate of false ones."""

from functools import partial
from numbers import Integral

import numpy as np
import scipy.sparse as sp

from tamis.base.estimators.estimator import take
from tamis.base.parameters import estimator, one_of, parameter
from tamis.base.targets import ClassTargets, NumberTargets
from tamis.base.validation import warn_user
from tamis.data.source import RowSource
from tamis.numerics.csr import hashes_of
from tamis.numerics.targets import EncodedTargets
from tamis.selection.agreement import selection_kappa
from tamis.selection.false_discovery.claims import Claiming, outcomes_of
from tamis.selection.false_discovery.fit import MIX, Rules, Selection, select, sides_of
from tamis.selection.false_discovery.inputs import Given
from tamis.selection.false_discovery.results import Discoveries
from tamis.selection.false_discovery.screening.by_pass import screen_pass
from tamis.selection.false_discovery.screening.by_path import screen_path
from tamis.selection.false_discovery.standardized_columns import Columns
from tamis.selection.false_discovery.stream import select_rows
from tamis.system.files import made_from
from tamis.system.threads import one_thread

SCREENS = ("path", "ftrl", "rda")
MANY = 100_000  # rows from which one pass screens
REPEATS = 0.02  # of the rows: equal ones that are worth a word
WIDE = 20  # columns from which rows are not equal by chance


@estimator
class FDRSelector(Discoveries, Claiming):
    r"""Keep the features that may be claimed, at a stated false discovery rate.

    Choose it when the answer is a list of features to be believed, in a paper or by somebody who
    acts on it. Choose a sparse model (`SieveClassifier`) for predictions, and `StabilitySelector`
    for a bound that holds for any estimator. It does not predict: put a model behind it in a
    pipeline.

    One sparse path of all rows finds about `n_candidates` columns worth a test. Each is tested by
    itself: the target and the column :math:`x_j` are both regressed on controls (what the path
    keeps, the column's strongest correlates, common factors of the table), and of the residuals
    r and e

    .. math:: z_j = \sqrt{\frac{n - c}{n}}\; \frac{\sum_i e_i r_i}{\sqrt{\sum_i e_i^2 r_i^2}}

    is compared with a normal distribution; c is the number of controls. Benjamini and Hochberg's
    procedure over **all** columns, the untested with p-value 1, gives q-values, and those of at
    most `q` are kept. For classes the regressions are logistic, one class against the rest.

    **What is claimed.** In the mean over data sets, at most the share `q` of what is kept is false.
    With `substitutes`, the claim of a feature (the *head* of a group) is about it *or one of the
    columns that correlate with it by more than that*; None claims single features, and where
    columns are alike it finds few. With several classes, labels or targets there is a test for each
    of them and each candidate, and the rate is kept twice: of pairs of a feature and a class, and
    of the features in `support_`. The promise rests on large samples and on controls that hold what
    a column has in common with real ones; how far it was kept in simulated designs stands in the
    documentation, on the page of guarantees. Rows must be independent of each other: neither copies
    nor a series in time. Nothing is said about causes.

    {parameters}

    {attributes}

    See Also
    --------
    StabilitySelector : A bound on the number of false features, around any sparse model.
    SieveClassifier : Few features that predict, and the same ones on other rows.

    References
    ----------
    A. Belloni, V. Chernozhukov and C. Hansen, "Inference on Treatment Effects after Selection among
    High-Dimensional Controls", Review of Economic Studies 81, 2014 (double selection).

    R. Shah and J. Peters, "The Hardness of Conditional Independence Testing and the Generalised
    Covariance Measure", Annals of Statistics 48, 2020 (products of residuals).

    Y. Benjamini and Y. Hochberg, "Controlling the False Discovery Rate", Journal of the Royal
    Statistical Society B 57, 1995; Y. Benjamini and D. Yekutieli, Annals of Statistics 29, 2001.

    Examples
    --------
    >>> import numpy as np
    >>> from tamis import FDRSelector
    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(200, 1000))
    >>> X[:, 7] = X[:, 3] + 0.2 * rng.normal(size=200)  # a twin
    >>> y = X[:, [3, 20, 40]].sum(axis=1) + rng.normal(size=200)
    >>> selector = FDRSelector(q=0.1).fit(X, y)
    >>> selector.support_.tolist()
    [3, 20, 40]
    >>> [(j, round(r, 2)) for j, r in selector.groups_[3]]
    [(7, 0.98)]
    >>> row = selector.table_[0]
    >>> row["name"], row["qvalue"] < 1e-6, round(row["low"], 2), round(row["high"], 2)
    ('x40', True, 0.74, 1.02)
    >>> FDRSelector(q=0.1).fit(X, rng.normal(size=200)).support_.tolist()  # noise
    []
    """

    screen: str | None = parameter(
        None,
        [one_of(*SCREENS), None],
        'How candidates are found: "path" follows an L1 path of all rows, "ftrl" and "rda" learn '
        'in one pass at six penalties. None is "path" below 100,000 rows, else "ftrl".',
        '{"path", "ftrl", "rda"} or None',
    )
    correction: str = parameter(
        "bh",
        [one_of("bh", "by")],
        '"bh" is for tests that are independent or depend positively; "by" for any, at a price of '
        "about log(n_features).",
        '{"bh", "by"}',
    )
    n_jobs: int | None = parameter(
        None,
        [Integral, None],
        "Threads of the tests; the result does not depend on it.",
        kw_only=True,
    )

    def fit(self, X, y, sample_weight=None, *, also=()):
        """Select features.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Rows.
        y : array-like of shape (n_samples,) or (n_samples, n_outputs)
            Classes, a 0/1 matrix of labels, or numbers.
        sample_weight : array-like of shape (n_samples,) or None, default=None
            How often each row was met: a row of weight 2 counts as two independent rows.
        also : array-like of int, default=()
            Columns to test whatever the screen says, such as those that a model kept.

        Returns
        -------
        self : object
        """
        self._validate_params()
        taken = take(self, X, y, sample_weight, layout="columns")
        outcomes, _ = outcomes_of(taken.targets, taken.columns)
        with one_thread():
            self._fit_table(taken.targets, taken.rows, outcomes, taken.weights, self._also(also))
        return self

    def fit_rows(self, rows, *, also=(), memory=1000, progress="auto"):
        """Select features of rows that are read a few times and never held whole.

        Fewer than 100,000 rows that fit into memory are read and selected as `fit` does. Of more,
        one reading measures the columns, one screens by learners in one pass, one finds
        correlations, and one keeps the few columns that tests look at, in a temporary file where
        they are more than half of `memory`; common factors are sought in 4,096 rows.

        Parameters
        ----------
        rows : RowSource (`tamis.open_rows`), or list of pairs (X, y) or triples with weights
            Rows that can be gone over again.
        also : array-like of int, default=()
            Columns to test whatever the screen says, such as those that a model kept.
        memory : int, default=1000
            Megabytes for correlations and for the columns that tests look at. With less there are
            more readings for the former, and a temporary file for the latter.
        progress : bool or "auto", default="auto"
            Whether to show a bar.

        Returns
        -------
        self : object
        """
        self._validate_params()
        given = Given(rows, progress)
        moments, budget = given.moments, 10**6 * memory // 2
        small = moments.n_rows < MANY and 24 * moments.nonzeros <= budget
        self.n_features_in_ = moments.sums.shape[1]
        if hasattr(self, "feature_names_in_"):
            del self.feature_names_in_
        coded, more = given.coded(self.targets), self._also(also)
        with one_thread():
            self._fit_given(given, coded, more, budget, small)
        if isinstance(rows, RowSource):
            self.reading_ = rows.schema
            made_from(self, rows.files)
        return self

    def _fit_given(self, given: Given, coded, more: np.ndarray, budget: int, small: bool) -> None:
        """Select by readings, or from all rows where they are few."""
        moments = given.moments
        if small and self.screen in (None, "path"):
            self._fit_table(coded, *given.whole(coded), more)
        elif self.screen == "path":
            raise ValueError(
                f'screen="path" needs all {moments.n_rows:,} rows in memory. Use screen="ftrl", or '
                "more memory."
            )
        else:
            logistic = isinstance(coded, ClassTargets)
            chunks = partial(given.chunks, coded)
            how = self.screen or "ftrl"
            measured, found = select_rows(chunks, moments, self._rules(logistic), how, more, budget)
            self._show(coded, measured, found)

    def replicate(self, X, y, sample_weight=None):
        """Select in two halves of the rows, each by itself.

        Parameters
        ----------
        X, y, sample_weight
            As in `fit`.

        Returns
        -------
        found : dict
            "supports" (the two selections), and "kappa", their agreement beyond chance. Halves have
            less power than the whole: what neither finds may still be real.
        """
        self._validate_params()
        taken = take(self, X, y, sample_weight, layout="columns")
        outcomes, logistic = outcomes_of(taken.targets, taken.columns)
        hashes = hashes_of(taken.rows.tocsr() if sp.issparse(taken.rows) else taken.rows)
        sides, supports = sides_of(hashes), []
        for side in (False, True):
            mine = np.flatnonzero(sides == side)
            sparse = sp.issparse(taken.rows)
            part = taken.rows.tocsr()[mine].tocsc() if sparse else taken.rows[mine]
            columns = Columns(part, taken.weights[mine])
            with one_thread():
                chosen = self._select(columns, outcomes[mine], logistic)
            supports.append(np.unique(chosen.columns[chosen.qvalues <= self.q]))
        return {"supports": supports, "kappa": selection_kappa(supports, self.n_features_in_)}

    # ------------------------------------------------------------------ preparation
    def _code(self, y, n_rows: int, **known) -> tuple[ClassTargets | NumberTargets, EncodedTargets]:
        """Classes or numbers, and the columns that hold them."""
        kind = ClassTargets if self._holds_classes(y) else NumberTargets
        return kind.of(y, n_rows, self, **known)

    def _rules(self, logistic: bool) -> Rules:
        """What a selection goes by."""
        return Rules(
            logistic,
            self._bar(),
            self.n_candidates,
            self.n_controls,
            self.correction,
            self.n_jobs,
            self.q,
        )

    def _also(self, also) -> np.ndarray:
        """Columns that the user wants to see tested."""
        found = np.unique(np.asarray(also, dtype=np.int64).ravel())
        if len(found) and not 0 <= found[0] <= found[-1] < self.n_features_in_:
            raise ValueError(
                f"also: column {found[-1] if found[0] >= 0 else found[0]} is not one of the "
                f"{self.n_features_in_:,} columns of X, which count from 0."
            )
        return found

    def _fit_table(
        self, targets, X, outcomes: np.ndarray, weights: np.ndarray, also: np.ndarray
    ) -> None:
        """Select from rows that are in memory, dense or by columns."""
        hashes = hashes_of(X.tocsr() if sp.issparse(X) else X)
        if self.n_features_in_ >= WIDE and np.all(weights == 1.0):
            warn_repeats(hashes, outcomes)
        columns, logistic = Columns(X, weights), isinstance(targets, ClassTargets)
        found = self._select(columns, outcomes, logistic, sides_of(hashes), also)
        self._show(targets, columns, found)

    def _select(
        self, columns: Columns, outcomes: np.ndarray, logistic: bool, sides=None, also=()
    ) -> Selection:
        """Screen, test and claim; z in two halves too where the `sides` of the rows are given."""
        rules = self._rules(logistic)
        how = self.screen or ("path" if columns.n_rows < MANY else "ftrl")
        if how == "path":
            found = [screen_path(columns, y, logistic, self.n_candidates) for y in outcomes.T]
        else:
            found = screen_pass(columns, outcomes, logistic, self.n_candidates, how)
        found = [screen.with_more(also) for screen in found]
        return select(columns, outcomes, found, rules, sides)


def warn_repeats(hashes: np.ndarray, outcomes: np.ndarray) -> None:
    """Say it where rows come twice: they are no independent evidence."""
    words = hashes
    for outcome in outcomes.T:
        words = words * MIX ^ (outcome + 0.0).view(np.uint64)
    share = 1.0 - len(np.unique(words)) / len(words)
    if share > REPEATS:
        warn_user(
            f"{share:.0%} of the rows repeat others, targets included. If they are copies, "
            "p-values are too small: drop them. If such a row was really met so often, give it "
            "once, with sample_weight.",
            UserWarning,
        )
