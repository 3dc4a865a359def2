"""`FDRSelector`: feature selection with a stated false discovery rate."""

from functools import partial
from numbers import Integral
from typing import Any, ClassVar

import numpy as np
import scipy.sparse as sp
from scipy.stats import norm
from sklearn.utils.validation import check_is_fitted

from tamis.base.estimators.column_names import get_column_names
from tamis.base.estimators.estimator import validate_training
from tamis.base.parameters import estimator, one_of_strings, parameter
from tamis.base.splits import split_halves
from tamis.base.targets import ClassTargets, NumberTargets
from tamis.base.validation import warn_user
from tamis.data.source import RowSource
from tamis.numerics.hashing import GOLDEN, count_duplicates, row_hashes
from tamis.numerics.targets import EncodedTargets
from tamis.selection.agreement import selection_kappa
from tamis.selection.false_discovery.base_selector import BaseFDRSelector, outcome_matrix
from tamis.selection.false_discovery.fit import (
    SelectionOptions,
    SelectionResult,
    prepare_tests,
    run_and_correct,
)
from tamis.selection.false_discovery.inputs import RepeatedReader
from tamis.selection.false_discovery.multiple_testing import sparse_rows
from tamis.selection.false_discovery.screening.by_pass import screen_pass
from tamis.selection.false_discovery.screening.by_path import screen_path
from tamis.selection.false_discovery.standardized_columns import StandardizedColumns
from tamis.selection.false_discovery.stream import ColumnScaling, select_rows
from tamis.system.files import record_sources
from tamis.system.schema import array, count, indices, number, record, rows
from tamis.system.schema import one_of as either
from tamis.system.threads import locked, single_threaded_blas

SCREENS = ("path", "ftrl", "rda")
MIN_ROWS_ONE_PASS = 100_000  # from so many rows on, one pass screens instead of the path
# Duplicates, as a fraction of the rows, above which a warning is given.
MAX_DUPLICATE_FRACTION = 0.02
MIN_COLUMNS_DUPLICATES = 20  # with fewer columns, rows may be equal by chance
CONFIDENCE_LEVEL = 0.95  # of the intervals in `table_`


@estimator
class FDRSelector(BaseFDRSelector):
    r"""Keep the features that may be claimed, at a stated false discovery rate.

    Use it when the result is a list of features, for a paper or for a decision. Use a sparse
    model (`SieveClassifier`) for predictions, and `StabilitySelector` for a bound that holds for
    any estimator. It does not predict: put a model after it in a pipeline.

    One sparse path over all rows selects about `n_candidates` candidates. Each is tested
    separately: the target and the column :math:`x_j` are both regressed on controls (the columns
    that the path selects, the column's strongest correlates, common factors of the table). With the
    residuals r and e

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

    Attributes
    ----------
    support_ : ndarray of int
        Columns with a q-value of at most `q`, ascending (of any output).
    qvalues_, pvalues_, scores_ : ndarray of shape (n_features,) or (n_outputs, n_features)
        The smallest rate at which a feature would be kept; the p-value of its test; z, signed:
        for classes towards `classes_[1]`, or towards the class of the row. Untested features
        have 1, 1 and 0; with `substitutes`, only heads of groups have q-values below 1.
    head_ : ndarray of int, of the same shape
        Head of the group that a column is in, -1 for none; a head is its own. By rising p-value
        a tested column that is a substitute of an earlier head joins its group, any other is the
        head of a new one. The p-value of a group is that of its head; columns that join leave
        the ranking, and all columns still count as hypotheses. Substitutes that were not tested
        belong to the group too.
    groups_ : dict
        For every head its substitutes, as pairs of column and correlation.
    table_ : list of dict
        A row for every head with a q-value below 1, the smallest q-value first: name, column
        and class, estimate of its effect given the controls (for one unit of the column: the
        change of the target, or of the log odds; for classes given what else is claimed too, up
        to one control in ten rows), its standard error and an interval of 95 %, `odds_ratio`
        for classes, z, p- and q-value, substitutes, and z of its test in two halves of the
        rows. ``pandas.DataFrame(selector.table_)`` is a table.
    candidates_, candidate_outputs_, controls_ : ndarray, ndarray, list of ndarray
        Of every test its column, the number of its class, label or target, and its controls.
    substitutes_ : csr_array of shape (n_tests, n_features)
        Correlations of each test's column with those that may stand in for it.
    n_components_ : int
        Common factors of the table that are controls of every test.
    n_rare_, ones_needed_ : int
        Number of columns that are too rare to be selected, and the nonzero rows that one needs.
    classes_ : ndarray
        Class labels, where y holds classes.
    n_features_in_ : int
        Number of columns.
    feature_names_in_ : ndarray of str
        Names of the columns, where X had them.

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
        [one_of_strings(*SCREENS), None],
        'How candidates are screened: "path" fits an L1 path on all rows, "ftrl" and "rda" learn '
        'in one pass at six penalties. None is "path" below 100,000 rows, else "ftrl".',
        '{"path", "ftrl", "rda"} or None',
    )
    correction: str = parameter(
        "bh",
        [one_of_strings("bh", "by")],
        '"bh" is valid for independent or positively dependent tests; "by" for any, at a cost of '
        "about log(n_features).",
        '{"bh", "by"}',
    )
    n_jobs: int | None = parameter(
        None,
        [Integral, None],
        "Threads of the tests; the result does not depend on it.",
        kw_only=True,
    )

    _contents: ClassVar[dict] = {
        "pvalues_": either(
            array("f8", "columns", minimum=0.0, maximum=1.0),
            array("f8", "outputs", "columns", minimum=0.0, maximum=1.0),
        ),
        "qvalues_": either(
            array("f8", "columns", minimum=0.0, maximum=1.0),
            array("f8", "outputs", "columns", minimum=0.0, maximum=1.0),
        ),
        "scores_": either(array("f8", "columns"), array("f8", "outputs", "columns")),
        "head_": either(
            array("i8", "columns", minimum=-1), array("i8", "outputs", "columns", minimum=-1)
        ),
        "support_": indices("kept", below="columns", increasing=True),
        "candidates_": indices("tests", below="columns"),
        "candidate_outputs_": array("i8", "tests", minimum=0),
        "_controls": rows("tests", "columns", minimum=1.0, maximum=1.0),
        "substitutes_": rows("tests", "columns", minimum=-1.0, maximum=1.0),
        "effects_": record(
            {
                "test": indices("shown", below="tests"),
                "estimate": array("f8", "shown", finite=False),
                "error": array("f8", "shown", finite=False),
                "halves": array("f8", "shown", "sides", finite=False),
            }
        ),
        "n_components_": count(),
        "n_rare_": count(),
        "ones_needed_": number(int, minimum=0),
    }

    @locked
    def fit(self, X, y, sample_weight=None, *, also=()):
        """Select features.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Rows.
        y : array-like of shape (n_samples,) or (n_samples, n_outputs)
            Classes, a 0/1 matrix of labels, or numbers.
        sample_weight : array-like of shape (n_samples,) or None, default=None
            How often each row was observed: a row of weight 2 counts as two independent rows.
        also : array-like of int, default=()
            Columns to test in any case, such as those that a model selected.

        Returns
        -------
        self : object
        """
        self._validate_params()
        training = validate_training(self, X, y, sample_weight, layout=_layout(X))
        outcomes, _ = outcome_matrix(training.targets, training.columns)
        return self._fit_table(training.targets, training.rows, outcomes, training.weights, also)

    def _fit_table(self, targets, X, outcomes: np.ndarray, weights: np.ndarray, also):
        """Fit to rows in memory: screen, test, correct, and set the attributes."""
        hashes, also = row_hashes(X), self._validate_also(also)
        if self.n_features_in_ >= MIN_COLUMNS_DUPLICATES and np.all(weights == 1.0):
            warn_duplicate_rows(hashes, outcomes)
        with single_threaded_blas():
            columns = StandardizedColumns(X, weights)
            selection = self._select(columns, targets, outcomes, also, split_halves(hashes))
        self._set_results(targets, columns, selection)
        return self

    def _select(
        self, columns: StandardizedColumns, targets, outcomes, also=(), row_halves=None
    ) -> SelectionResult:
        """Screen, test and correct; with `row_halves` compute z in both halves too."""
        logistic = isinstance(targets, ClassTargets)
        options, method = self._options(logistic), self.screen
        if method is None:
            method = "path" if columns.n_rows < MIN_ROWS_ONE_PASS else "ftrl"
        if method == "path":
            screened = [screen_path(columns, y, logistic, self.n_candidates) for y in outcomes.T]
        else:
            screened = screen_pass(columns, outcomes, logistic, self.n_candidates, method)
        screened = [screen.with_candidates(also) for screen in screened]
        plan, loadings, design = prepare_tests(
            columns, outcomes, screened, options.substitutes, options.n_controls
        )
        shape = columns.n_columns, targets.outputs
        return run_and_correct(design, plan, shape, options, loadings, row_halves)

    @locked
    def fit_rows(self, rows, *, also=(), memory=1000, progress="auto"):
        """Select features from rows that are read a few times and never held in memory as a whole.

        Fewer than 100,000 rows that fit into memory are read and passed to the algorithm of `fit`.
        More rows are read four times or more: to sum the columns, to screen them by online
        learners, to compute correlations, and to store the few columns that the tests need, in a
        temporary file where these exceed half of `memory`. Common factors come from 4,096 rows.

        Parameters
        ----------
        rows : RowSource (`tamis.open_rows`), or list of pairs (X, y) or triples with weights
            Rows that can be iterated several times.
        also : array-like of int, default=()
            Columns to test in any case, such as those that a model selected.
        memory : int, default=1000
            Megabytes for correlations and for the columns that the tests need. A smaller value
            costs more passes for the former and a temporary file for the latter.
        progress : bool or "auto", default="auto"
            Whether to show a bar.

        Returns
        -------
        self : object
        """
        self._validate_params()
        reader = RepeatedReader(rows, progress)
        moments, budget = reader.moments, 10**6 * memory // 2
        fits_in_memory = moments.n_rows < MIN_ROWS_ONE_PASS and 24 * moments.nonzeros <= budget
        self.n_features_in_ = moments.sums.shape[1]
        if hasattr(self, "feature_names_in_"):
            del self.feature_names_in_
        targets, also = reader.resolve_targets(self.targets), self._validate_also(also)
        if fits_in_memory and self.screen in (None, "path"):
            X, outcomes, weights = reader.read_all(targets)
            self._fit_table(targets, X, outcomes, weights, also)
        elif self.screen == "path":
            raise ValueError(
                f'screen="path" needs all {moments.n_rows:,} rows in memory. Use screen="ftrl", or '
                "more memory."
            )
        else:
            options, method = (
                self._options(isinstance(targets, ClassTargets)),
                self.screen or "ftrl",
            )
            chunks = partial(reader.chunks, targets)
            with single_threaded_blas():
                scaling, result = select_rows(chunks, moments, options, method, also, budget)
            self._set_results(targets, scaling, result)
        if isinstance(rows, RowSource):
            self.reading_ = rows.schema
            record_sources(self, rows.files)
        return self

    def replicate(self, X, y, sample_weight=None):
        """Select features on two halves of the rows separately.

        Parameters
        ----------
        X, y, sample_weight
            As in `fit`.

        Returns
        -------
        result : dict
            "supports" (the two selections), and "kappa", their agreement beyond chance. Halves have
            less power than all rows: a feature that neither half selects may still be real.
        """
        self._validate_params()
        training = validate_training(self, X, y, sample_weight, layout=_layout(X))
        outcomes, _ = outcome_matrix(training.targets, training.columns)
        X = training.rows.tocsr() if sp.issparse(training.rows) else training.rows
        row_halves, supports = split_halves(row_hashes(X)), []
        for half in (False, True):
            in_half = np.flatnonzero(row_halves == half)
            columns = StandardizedColumns(X[in_half], training.weights[in_half])
            with single_threaded_blas():
                result = self._select(columns, training.targets, outcomes[in_half])
            supports.append(np.unique(result.columns[result.qvalues <= self.q]))
        return {"supports": supports, "kappa": selection_kappa(supports, self.n_features_in_)}

    # ------------------------------------------------------------------ results
    def _set_results(
        self, targets, columns: StandardizedColumns | ColumnScaling, selection: SelectionResult
    ) -> None:
        """Set the fitted attributes from the result of a selection."""
        outputs, n_features = targets.outputs, columns.n_columns
        shape: tuple[int, ...] = (outputs, n_features)
        tested, results = (selection.outputs, selection.columns), selection.results
        pvalues, qvalues, scores = np.ones(shape), np.ones(shape), np.zeros(shape)
        pvalues[tested], qvalues[tested] = results.pvalues, selection.qvalues
        scores[tested] = results.scores
        heads = np.full(shape, -1, dtype=np.int64)
        n_tests = len(selection.representatives)
        firsts = np.flatnonzero(selection.representatives == np.arange(n_tests))
        # A column in the groups of two heads belongs to the one with the smaller p-value.
        for k in firsts[np.argsort(results.pvalues[firsts], kind="stable")][::-1]:
            heads[selection.outputs[k], selection.groups[k]] = selection.columns[k]
        heads[selection.outputs[firsts], selection.columns[firsts]] = selection.columns[firsts]
        shape = (n_features,) if outputs == 1 else shape
        self._targets = targets
        self.pvalues_, self.qvalues_ = pvalues.reshape(shape), qvalues.reshape(shape)
        self.scores_, self.head_ = scores.reshape(shape), heads.reshape(shape)
        self.support_ = np.unique(selection.columns[selection.qvalues <= self.q])
        self.candidates_, self.candidate_outputs_ = selection.columns, selection.outputs
        ones = [np.ones(len(controls)) for controls in selection.controls]
        self._controls = sparse_rows(selection.controls, ones, n_features)
        self.substitutes_ = sparse_rows(selection.groups, selection.correlations, n_features)
        units = columns.units[selection.columns[selection.effects["test"]]]
        scaled_effects = {name: selection.effects[name] * units for name in ("estimate", "error")}
        self.effects_ = selection.effects | scaled_effects
        self.n_components_ = selection.n_components
        self.ones_needed_ = ones_needed(self.q, n_features * outputs)
        rare = (columns.n_nonzeros > 0) & (
            columns.n_nonzeros < min(self.ones_needed_, columns.n_rows / 2)
        )
        self.n_rare_ = int(np.count_nonzero(rare))
        if self.n_rare_:
            warn_user(
                f"{self.n_rare_:,} of {n_features:,} columns have fewer than "
                f"{self.ones_needed_} rows that are not 0, too few to be selected among so many "
                "columns: the result says nothing about them.",
                UserWarning,
            )

    @property
    def controls_(self) -> list[np.ndarray]:
        """Controls of each test."""
        check_is_fitted(self)
        return np.split(self._controls.indices, self._controls.indptr[1:-1])

    @property
    def groups_(self) -> dict[int, list[tuple[int, float]]]:
        """Substitutes of every head, with their correlations."""
        check_is_fitted(self)
        heads = np.unique(self.head_[self.head_ >= 0])
        tests = {int(column): k for k, column in enumerate(self.candidates_)}
        groups = {}
        for head in heads.tolist():
            row = self.substitutes_[[tests[head]]]
            pairs = zip(row.indices.tolist(), row.data.tolist(), strict=True)
            groups[head] = sorted(pairs, key=lambda pair: -abs(pair[1]))
        return groups

    @property
    def table_(self) -> list[dict[str, Any]]:
        """A row for every head with a q-value below 1."""
        check_is_fitted(self)
        classes = self.classes_ if isinstance(self._targets, ClassTargets) else None
        is_multi_output = self._targets.outputs > 1
        z_limit = float(norm.ppf(0.5 + CONFIDENCE_LEVEL / 2.0))
        table: list[dict[str, Any]] = []
        effects = self.effects_
        for k, test in enumerate(effects["test"].tolist()):
            column, output = int(self.candidates_[test]), int(self.candidate_outputs_[test])
            at = (output, column) if is_multi_output else column
            estimate, error = effects["estimate"][k].item(), effects["error"][k].item()
            row: dict[str, Any] = {"name": get_column_names(self, [column])[0], "column": column}
            if is_multi_output:
                row["output"] = output if classes is None else classes[output]
            row |= {
                "estimate": estimate,
                "error": error,
                "low": estimate - z_limit * error,
                "high": estimate + z_limit * error,
            }
            if classes is not None:
                row["odds_ratio"] = float(np.exp(np.clip(estimate, -700.0, 700.0)))
            substitutes = self.substitutes_[[test]].indices.tolist()
            row |= {
                "z": float(self.scores_[at]),
                "pvalue": float(self.pvalues_[at]),
                "qvalue": float(self.qvalues_[at]),
                "substitutes": get_column_names(self, substitutes),
                "halves": tuple(effects["halves"][k].tolist()),
            }
            table.append(row)
        return table

    # ------------------------------------------------------------------ preparation
    def _encode_targets(
        self, y, n_rows: int, **known
    ) -> tuple[ClassTargets | NumberTargets, EncodedTargets]:
        """Return the kind of the targets, classes or numbers, and the encoded targets."""
        kind = ClassTargets if self._has_class_targets(y) else NumberTargets
        return kind.encode(y, n_rows, self, **known)

    def _options(self, logistic: bool) -> SelectionOptions:
        """Return the parameters of the selection."""
        return SelectionOptions(
            logistic,
            self._substitute_threshold(),
            self.n_candidates,
            self.n_controls,
            self.correction,
            self.n_jobs,
            self.q,
        )

    def _validate_also(self, also) -> np.ndarray:
        """Return the columns of `also`, sorted and checked."""
        columns = np.unique(np.asarray(also, dtype=np.int64).ravel())
        if len(columns) and not 0 <= columns[0] <= columns[-1] < self.n_features_in_:
            raise ValueError(
                f"also: column {columns[-1] if columns[0] >= 0 else columns[0]} is not one of the "
                f"{self.n_features_in_:,} columns of X, which count from 0."
            )
        return columns


def _layout(X) -> str:
    """Return the layout for validation: sparse X keeps its order of storage, by rows or columns.

    Rows are hashed and columns are tested, so the other order is computed once, later.
    """
    return "dense" if sp.issparse(X) and X.format != "csc" else "columns"


def ones_needed(q: float, n_hypotheses: int) -> int:
    """Return how many ones a 0/1 column needs to be the first discovery of `n_hypotheses`.

    Its z is at most about the square root of the number of ones.
    """
    return int(np.ceil(norm.isf(q / (2.0 * n_hypotheses)) ** 2))


def warn_duplicate_rows(hashes: np.ndarray, outcomes: np.ndarray) -> None:
    """Warn where many rows are duplicates: they are no independent evidence."""
    row_keys = hashes
    for outcome in outcomes.T:
        row_keys = row_keys * GOLDEN ^ (outcome + 0.0).view(np.uint64)
    fraction = count_duplicates(row_keys) / len(row_keys)
    if fraction > MAX_DUPLICATE_FRACTION:
        warn_user(
            f"{fraction:.0%} of the rows repeat others, targets included. If they are copies, "
            "p-values are too small: drop them. If such a row was really met so often, give it "
            "once, with sample_weight.",
            UserWarning,
        )
