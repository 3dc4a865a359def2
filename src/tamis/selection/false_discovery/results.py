"""What a selection tells: q-values, groups, and a table of effects."""

from typing import Any, ClassVar

import numpy as np
from scipy.stats import norm
from sklearn.utils.validation import check_is_fitted

from tamis.base.estimators.column_names import names_of
from tamis.base.estimators.estimator import Left
from tamis.base.targets import ClassTargets
from tamis.base.validation import warn_user
from tamis.selection.false_discovery.fit import Selection
from tamis.selection.false_discovery.multiple_testing import stacked
from tamis.selection.false_discovery.standardized_columns import Columns
from tamis.selection.false_discovery.stream import Measured
from tamis.system.schema import array, count, indices, number, record, rows
from tamis.system.schema import one_of as either

LEVEL = 0.95  # of the intervals of effects


class Discoveries(Left):
    """Stands left of an estimator with a rate `q`: shows what its fit has found."""

    _contents: ClassVar[dict] = {
        "pvalues_": either(
            array("f8", "columns", least=0.0, most=1.0),
            array("f8", "outputs", "columns", least=0.0, most=1.0),
        ),
        "qvalues_": either(
            array("f8", "columns", least=0.0, most=1.0),
            array("f8", "outputs", "columns", least=0.0, most=1.0),
        ),
        "scores_": either(array("f8", "columns"), array("f8", "outputs", "columns")),
        "head_": either(
            array("i8", "columns", least=-1), array("i8", "outputs", "columns", least=-1)
        ),
        "support_": indices("kept", below="columns", increasing=True),
        "candidates_": indices("tests", below="columns"),
        "candidate_outputs_": array("i8", "tests", least=0),
        "_controls": rows("tests", "columns", least=1.0, most=1.0),
        "substitutes_": rows("tests", "columns", least=-1.0, most=1.0),
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
        "ones_needed_": number(int, least=0),
    }
    _attributes: ClassVar[str] = """\
        support_ : ndarray of int
            Columns with a q-value of at most `q`, ascending (of any output).
        qvalues_, pvalues_, scores_ : ndarray of shape (n_features,) or (n_outputs, n_features)
            The smallest rate at which a feature would be kept; the p-value of its test; z, signed:
            for classes towards `classes_[1]`, or towards the class of the row. Untested features
            have 1, 1 and 0; with `substitutes`, only heads of groups have q-values below 1.
        head_ : ndarray of int, of the same shape
            Head of the group that a column is in, -1 for none; a head is its own.
        groups_ : dict
            For every head its substitutes, as pairs of column and correlation.
        table_ : list of dict
            A row for every head with a q-value below 1, the smallest p-value first: name, column
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
            Columns too rare to be found, and the nonzero rows that a column would need.
        classes_ : ndarray
            Class labels, where y holds classes.
        n_features_in_ : int
            Number of columns.
        feature_names_in_ : ndarray of str
            Names of the columns, where X had them."""

    def _show(self, targets, columns: Columns | Measured, found: Selection) -> None:
        """All attributes of a selection."""
        outputs, width = targets.outputs, columns.n_columns
        shape: tuple[int, ...] = (outputs, width)
        at = (found.outputs, found.columns)
        pvalues, qvalues, scores = np.ones(shape), np.ones(shape), np.zeros(shape)
        pvalues[at], qvalues[at], scores[at] = (
            found.found.pvalues,
            found.qvalues,
            found.found.scores,
        )
        heads = np.full(shape, -1, dtype=np.int64)
        own = np.flatnonzero(found.heads == np.arange(len(found.heads)))
        # A column in the groups of two heads belongs to the one with the smaller p-value.
        for k in own[np.argsort(found.found.pvalues[own], kind="stable")][::-1]:
            heads[found.outputs[k], found.groups[k]] = found.columns[k]
        heads[found.outputs[own], found.columns[own]] = found.columns[own]
        shape = (width,) if outputs == 1 else shape
        self._targets = targets
        self.pvalues_, self.qvalues_ = pvalues.reshape(shape), qvalues.reshape(shape)
        self.scores_, self.head_ = scores.reshape(shape), heads.reshape(shape)
        self.support_ = np.unique(found.columns[found.qvalues <= self.q])
        self.candidates_, self.candidate_outputs_ = found.columns, found.outputs
        ones = [np.ones(len(controls)) for controls in found.controls]
        self._controls = stacked(found.controls, ones, width)
        self.substitutes_ = stacked(found.groups, found.correlations, width)
        shown = found.shown
        units = columns.units[found.columns[shown.tests]]
        self.effects_ = {
            "test": shown.tests,
            "estimate": shown.effects * units,
            "error": shown.errors * units,
            "halves": shown.halves,
        }
        self.n_components_ = found.n_components
        self.ones_needed_ = ones_needed(self.q, width * outputs)
        rare = (columns.ones > 0) & (columns.ones < min(self.ones_needed_, columns.n_rows / 2))
        self.n_rare_ = int(np.count_nonzero(rare))
        if self.n_rare_:
            warn_user(
                f"{self.n_rare_:,} of {width:,} columns have fewer than {self.ones_needed_} rows "
                "that are not 0, too few to be found among so many: nothing is said about them.",
                UserWarning,
            )

    @property
    def controls_(self) -> list[np.ndarray]:
        """Columns that each test is held against."""
        check_is_fitted(self)
        return np.split(self._controls.indices, self._controls.indptr[1:-1])

    @property
    def groups_(self) -> dict[int, list[tuple[int, float]]]:
        """Substitutes of every head, with their correlations."""
        check_is_fitted(self)
        heads = np.unique(self.head_[self.head_ >= 0])
        tests = {int(column): k for k, column in enumerate(self.candidates_)}
        found = {}
        for head in heads.tolist():
            row = self.substitutes_[[tests[head]]]
            pairs = zip(row.indices.tolist(), row.data.tolist(), strict=True)
            found[head] = sorted(pairs, key=lambda pair: -abs(pair[1]))
        return found

    @property
    def table_(self) -> list[dict[str, Any]]:
        """A row for every head with a q-value below 1."""
        check_is_fitted(self)
        classes = self.classes_ if isinstance(self._targets, ClassTargets) else None
        several = self._targets.outputs > 1
        reach = float(norm.ppf(0.5 + LEVEL / 2.0))
        found: list[dict[str, Any]] = []
        effects = self.effects_
        for k, test in enumerate(effects["test"].tolist()):
            column, output = int(self.candidates_[test]), int(self.candidate_outputs_[test])
            at = (output, column) if several else column
            estimate, error = effects["estimate"][k].item(), effects["error"][k].item()
            row: dict[str, Any] = {"name": names_of(self, [column])[0], "column": column}
            if several:
                row["output"] = output if classes is None else classes[output]
            row |= {
                "estimate": estimate,
                "error": error,
                "low": estimate - reach * error,
                "high": estimate + reach * error,
            }
            if classes is not None:
                row["odds_ratio"] = float(np.exp(np.clip(estimate, -700.0, 700.0)))
            mates = self.substitutes_[[test]].indices.tolist()
            row |= {
                "z": float(self.scores_[at]),
                "pvalue": float(self.pvalues_[at]),
                "qvalue": float(self.qvalues_[at]),
                "substitutes": names_of(self, mates),
                "halves": tuple(effects["halves"][k].tolist()),
            }
            found.append(row)
        return found


def ones_needed(q: float, family: int) -> int:
    """Nonzero rows without which a column of ones cannot be the first discovery of a family: z is
    at most about the root of their number.
    """
    return int(np.ceil(norm.isf(q / (2.0 * family)) ** 2))
