"""`FDRStream`: feature selection at any time of a stream, with a stated false discovery rate."""

from collections.abc import Callable
from numbers import Integral
from typing import ClassVar

import numpy as np
import scipy.sparse as sp
from sklearn.utils._param_validation import Interval
from sklearn.utils.validation import check_is_fitted

from tamis.base.estimators.estimator import validate_training
from tamis.base.parameters import estimator, parameter
from tamis.base.targets import ClassTargets, NumberTargets
from tamis.base.validation import warn_user
from tamis.selection.anytime.evidence import BLOCK_ROWS, PendingRows, StreamEvidence
from tamis.selection.false_discovery.base_selector import BaseFDRSelector, outcome_matrix
from tamis.selection.false_discovery.multiple_testing import (
    evalue_pvalues,
    find_representatives,
    representative_qvalues,
)
from tamis.system.schema import count, nested_object, records
from tamis.system.schema import one_of as either
from tamis.system.threads import locked, single_threaded_blas


@estimator
class FDRStream(BaseFDRSelector):
    r"""Features that may be claimed at any moment of a stream, at a stated false discovery rate.

    Use it where rows keep arriving and results are read repeatedly: a test for a fixed number of
    rows that is repeated after every chunk selects something from pure noise sooner or later. Use
    `FDRSelector` for a fixed data set: it tests on the first rows too, and at a lower threshold.

    The first `n_screen` rows serve the screen: a sparse path selects candidates and their controls,
    as in `FDRSelector`; then these rows are discarded. Every later row is evidence. For each test
    the column and the target are predicted from the controls by fits to the rows *before*. With the
    residuals e and r of all rows so far

    .. math:: E_j = \sqrt{\frac{\rho_j}{V_j + \rho_j}}\;
        \exp\frac{S_j^2}{2 (V_j + \rho_j)}, \qquad S_j = \sum_i e_i r_i, \quad
        V_j = \sum_i e_i^2 r_i^2

    is the e-value: what a bet against the column's being noise has made of 1. Those that the e-BH
    procedure keeps at rate `q` are the selection. Evidence grows by blocks of 100 rows, wherever
    calls cut the stream.

    **What is claimed.** Stop whenever you like, by any rule that looks at the past: in the mean
    over streams at most the share `q` of what is kept *then* is false: of pairs of a feature and a
    class where there are several, and of the features. It holds for any dependence between tests,
    and up to two approximations: sums of many products behave like normal ones (at symmetric noise
    that is exact), and fits to the past stand for true ones. As in `FDRSelector` a noise column
    must share with real ones only what its controls hold, and here these are fixed by the first
    rows: a weak real feature that the screen missed, alike to a noise column that has it not among
    its controls, turns that column into a false claim in a stream that is long enough. Nothing is
    found that was not screened; what is claimed may be withdrawn by later rows, and the set of all
    that was *ever* claimed has no bound. Rows must be independent of each other, and the law behind
    them stay the same.

    {parameters}

    Attributes
    ----------
    support_ : ndarray of int
        Columns that are kept at rate `q` now, ascending (of any output).
    log_evalues_ : ndarray of shape (n_features,) or (n_outputs, n_features)
        Logarithms of the e-values; 0 for untested columns.
    qvalues_ : ndarray of the same shape
        The smallest rate at which a feature would be kept now; 1 for untested columns, and with
        `substitutes` for all that are not the head of a group.
    history_ : list of dict
        When each feature was kept for the first time: number of rows, column, number of the class,
        label or target, and the logarithm of the e-value.
    candidates_, candidate_outputs_ : ndarray, ndarray
        Of every test its column, and the number of its class, label or target.
    n_rows_, n_tested_ : int
        Rows so far, and rows that count as evidence.
    classes_ : ndarray
        Class labels, where y holds classes.
    n_features_in_ : int
        Number of columns.
    feature_names_in_ : ndarray of str
        Names of the columns, where X had them.

    See Also
    --------
    FDRSelector : The same claim about rows that are all there, with effects and intervals.

    References
    ----------
    R. Wang and A. Ramdas, "False Discovery Rate Control with E-values", Journal of the Royal
    Statistical Society B 84, 2022 (e-BH).

    I. Waudby-Smith, D. Arbour, R. Sinha, E. Kennedy and A. Ramdas, "Time-uniform Central Limit
    Theory and Asymptotic Confidence Sequences", Annals of Statistics 52, 2024.

    V. de la Peña, "A General Class of Exponential Inequalities for Martingales and Ratios", Annals
    of Probability 27, 1999 (symmetric products).

    Examples
    --------
    >>> import numpy as np
    >>> from tamis import FDRStream
    >>> rng = np.random.default_rng(0)
    >>> stream = FDRStream(q=0.1, n_screen=500, targets="numbers")
    >>> for chunk in range(8):
    ...     X = rng.normal(size=(250, 300))
    ...     y = X[:, 3] - X[:, 20] + 0.15 * X[:, 40] + rng.normal(size=250)
    ...     print(stream.partial_fit(X, y).support_)
    []
    []
    [ 3 20]
    [ 3 20]
    [ 3 20]
    [ 3 20 40]
    [ 3 20 40]
    [ 3 20 40]
    """

    n_screen: int = parameter(
        1000,
        [Interval(Integral, 20, None, closed="left")],
        "First rows, which are kept to find candidates and controls and are no evidence. What is "
        "real and too weak for them is not found later.",
    )
    _contents: ClassVar[dict] = {
        "_stage": either(
            nested_object(PendingRows, "columns", "outputs"),
            nested_object(StreamEvidence, "columns", "outputs"),
        ),
        "n_rows_": count(),
        "history_": records(),
    }

    @locked
    def fit(self, X, y):
        """Start anew and take these rows as a stream.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Rows.
        y : array-like of shape (n_samples,) or (n_samples, n_outputs)
            Classes, a 0/1 matrix of labels, or numbers.

        Returns
        -------
        self : object
        """
        self._learn_rows(X, y, whole=True)
        if not self.n_tested_:
            warn_user(
                f"FDRStream keeps the first {self.n_screen:,} rows to screen on, and tests the "
                f"later ones by {BLOCK_ROWS}; of {self.n_rows_:,} rows none was tested. Lower "
                "n_screen, "
                "or use FDRSelector.",
                UserWarning,
            )
        return self

    @locked
    def partial_fit(self, X, y, classes=None):
        """Take the next rows of the stream.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Rows.
        y : array-like of shape (n_samples,) or (n_samples, n_outputs)
            Classes, a 0/1 matrix of labels, or numbers.
        classes : array-like or None, default=None
            All classes; None in the first call takes those of its rows.

        Returns
        -------
        self : object
        """
        return self._learn_rows(X, y, whole=False, classes=classes)

    def _learn_rows(self, X, y, *, whole: bool, classes=None):
        """Validate rows and learn from them."""
        self._validate_params()
        is_continued = not whole and "_stage" in vars(self)
        known: ClassTargets | NumberTargets | None = self._targets if is_continued else None
        training = validate_training(
            self, X, y, None, layout="rows", is_fit=whole, known=known, classes=classes
        )
        outcomes, logistic = outcome_matrix(training.targets, training.columns)
        rows = sp.csr_array(training.rows.to_scipy(), dtype=np.float64)
        if not is_continued:
            self.n_rows_: int = 0
            self.history_: list[dict] = []
            empty = sp.csr_array((0, rows.shape[1]))
            self._stage: PendingRows | StreamEvidence = PendingRows(
                empty, np.zeros((0, outcomes.shape[1]))
            )
        self._targets: ClassTargets | NumberTargets = training.targets
        if isinstance(self._stage, PendingRows):
            n_missing = self.n_screen - len(self._stage)
            self._stage = self._stage.appended(sp.csr_array(rows[:n_missing]), outcomes[:n_missing])
            self.n_rows_ += min(n_missing, len(outcomes))
            rows, outcomes = sp.csr_array(rows[n_missing:]), outcomes[n_missing:]
            if len(self._stage) < self.n_screen:
                return self
            self._stage = StreamEvidence.from_first_rows(
                self._stage,
                logistic,
                self._substitute_threshold(),
                self.n_candidates,
                self.n_controls,
            )
        stage = self._stage
        with single_threaded_blas():
            for _ in stage.learn(rows, outcomes):
                self._record_selected(stage, self.n_screen + stage.n_tested)
        self.n_rows_ += len(outcomes)
        return self

    def _record_selected(self, stage: StreamEvidence, n_rows: int) -> None:
        """Add newly selected features to the history."""
        recorded = {(entry["column"], entry["output"]) for entry in self.history_}
        evalues = stage.log_evalues()
        for k in np.flatnonzero(self._test_qvalues(stage) <= self.q):
            column, output = int(stage.tests[k]), int(stage.outputs[k])
            if (column, output) not in recorded:
                entry = {"rows": n_rows, "column": column, "output": output}
                self.history_.append({**entry, "log_evalue": float(evalues[k])})

    def _test_qvalues(self, stage: StreamEvidence) -> np.ndarray:
        """Return the q-value of every test; 1 for those in the group of another head.

        Heads may depend on the evidence: the bound of e-BH holds for any set of e-values that are
        large enough for the size of the set.
        """
        evalues = stage.log_evalues()
        groups = [stage.group(k) for k in range(len(evalues))]
        representatives = find_representatives(-evalues, stage.outputs, stage.tests, groups)
        families = len(stage.tests), len(np.unique(stage.tests))
        pvalues, n_outputs = evalue_pvalues(evalues), self._targets.outputs
        return representative_qvalues(pvalues, stage.tests, representatives, n_outputs, families)

    # ------------------------------------------------------------------ results
    def _evidence(self) -> StreamEvidence | None:
        """Return the evidence; None before the screen."""
        check_is_fitted(self)
        return self._stage if isinstance(self._stage, StreamEvidence) else None

    def _over_columns(
        self, values_of: Callable[[StreamEvidence], np.ndarray], fill: float
    ) -> np.ndarray:
        """Return values of the tests as an array over outputs and columns."""
        stage, outputs = self._evidence(), self._targets.outputs
        values = np.full((outputs, self.n_features_in_), fill)
        if stage is not None:
            values[stage.outputs, stage.tests] = values_of(stage)
        return values[0] if outputs == 1 else values

    @property
    def log_evalues_(self) -> np.ndarray:
        """Logarithms of the e-values."""
        return self._over_columns(StreamEvidence.log_evalues, 0.0)

    @property
    def qvalues_(self) -> np.ndarray:
        """The smallest rate at which a feature would be selected now."""
        return self._over_columns(self._test_qvalues, 1.0)

    @property
    def support_(self) -> np.ndarray:
        """Columns that are selected now."""
        return np.flatnonzero((np.atleast_2d(self.qvalues_) <= self.q).any(axis=0))

    @property
    def candidates_(self) -> np.ndarray:
        """Columns of the tests."""
        stage = self._evidence()
        return np.zeros(0, np.int64) if stage is None else stage.tests

    @property
    def candidate_outputs_(self) -> np.ndarray:
        """Outputs of the tests."""
        stage = self._evidence()
        return np.zeros(0, np.int64) if stage is None else stage.outputs

    @property
    def n_tested_(self) -> int:
        """Rows that count as evidence."""
        stage = self._evidence()
        return 0 if stage is None else stage.n_tested

    def __sklearn_is_fitted__(self):
        return "_stage" in vars(self)

    # ------------------------------------------------------------------ preparation
    def _encode_targets(self, y, n_rows: int, *, classes=None, **known):
        """Return the kind of the targets, classes or numbers, and the encoded targets."""
        begun = known.get("known")
        if self._has_class_targets(y) if begun is None else isinstance(begun, ClassTargets):
            if begun is None and classes is None:
                known["is_fit"] = True  # the first rows have all classes
            return ClassTargets.encode(y, n_rows, self, classes=classes, **known)
        return NumberTargets.encode(y, n_rows, self, **known)
