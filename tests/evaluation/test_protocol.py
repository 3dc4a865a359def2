"""compare and Record: the same rows for all, tuning without test rows, figures by hand, plain data
that comes back.
"""

import json
import sys

import joblib
import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.linear_model import Lasso
from sklearn.pipeline import make_pipeline

from tamis import (
    FTRLClassifier,
    FTRLRegressor,
    RDAClassifier,
    Record,
    SieveClassifier,
    StabilitySelector,
    compare,
    selection_kappa,
    selection_stability,
)
from tamis.datasets import make_text
from tamis.evaluation.comparison_fits import Candidate, pick_settings

X, Y, _ = make_text(n_samples=240, n_features=150, random_state=0)
RDA, FTRL = RDAClassifier(max_iter=3, tol=None), FTRLClassifier(max_iter=3, tol=None)
SEEN: list = []


class Witness(ClassifierMixin, BaseEstimator):
    """Writes down what it is given; keeps `level` features and errs on rows whose first column is
    above it.
    """

    def __init__(self, level=1, random_state=None):
        self.level = level
        self.random_state = random_state

    def fit(self, X, y):
        SEEN.append((self.level, self.random_state, X[:, 0].astype(int).tolist(), y.tolist()))
        self.classes_, self.support_ = np.unique(y), np.arange(self.level)
        return self

    def predict(self, X):
        return np.where(X[:, 0] < 100 * self.level, X[:, 1], 1 - X[:, 1]).astype(int)


def numbered(n, start=0):
    y = np.arange(n) % 2
    return np.c_[np.arange(start, start + n), y, np.zeros(n), np.ones(n)].astype(float), y


def test_orders_are_permutations_shared_by_all_models_and_test_rows_are_never_trained_on():
    SEEN.clear()
    rows, y = numbered(100)
    test, y_test = numbered(20, 1000)
    compare(
        {"a": Witness(), "b": Witness(2)},
        rows,
        y,
        X_test=test,
        y_test=y_test,
        runs=3,
        random_state=0,
    )
    assert len(SEEN) == 6
    assert all(sorted(order) == list(range(100)) for _, _, order, _ in SEEN)
    a, b = SEEN[:3], SEEN[3:]
    assert [s[1:] for s in a] == [s[1:] for s in b]
    assert len({tuple(s[2]) for s in a}) == len({s[1] for s in a}) == 3
    assert all(labels == [k % 2 for k in order] for _, _, order, labels in SEEN)


def test_subsamples_hold_their_share_of_every_class():
    SEEN.clear()
    rows, _ = numbered(100)
    y = (np.arange(100) < 20).astype(int)
    compare(
        [Witness()], rows, y, X_test=rows[:10], y_test=y[:10], runs=4, subsample=0.8, random_state=0
    )
    for _, _, order, labels in SEEN:
        assert len(order) == len(set(order)) == 80
        assert sum(labels) == 16
    assert len({frozenset(s[2]) for s in SEEN}) == 4


def test_folds_are_the_same_for_all_and_inside_the_training_rows():
    SEEN.clear()
    rows, y = numbered(80)
    tune = {"a": {"level": [1, 2]}, "b": {"level": [3]}}
    record = compare(
        {"a": Witness(), "b": Witness()},
        rows,
        y,
        tune=tune,
        folds=4,
        runs=2,
        test_size=0.25,
        random_state=0,
    )
    fits = SEEN[:12]
    folds = [tuple(s[2]) for s in fits]
    assert folds[:4] == folds[4:8] == folds[8:12]
    training = set().union(*folds)
    assert len(training) == 60
    for row in training:
        assert sum(row in fold for fold in folds[:4]) == 3
    assert all(set(s[2]) == training for s in SEEN[12:])
    assert [row["candidates"] for row in record.rows] == [2, 1]


def test_two_picks():
    candidates = [
        Candidate("m", {"k": 0}, 0.10, 0.02, 0.50),
        Candidate("m", {"k": 1}, 0.11, 0.02, 0.20),
        Candidate("m", {"k": 2}, 0.119, 0.02, 0.10),
        Candidate("m", {"k": 3}, 0.121, 0.05, 0.01),
    ]
    (least, a), (sparse, b) = pick_settings(candidates, True)
    assert (least, a.params, sparse, b.params) == ("least", {"k": 0}, "sparse", {"k": 2})
    assert [pick for pick, _ in pick_settings(candidates[:1], True)] == ["least, sparse"]
    assert [pick for pick, _ in pick_settings(candidates[:1], False)] == ["given"]


def test_the_standard_error_is_that_of_the_held_out_rows():
    rows, y = numbered(100)
    record = compare(
        {"w": Witness()},
        rows,
        y,
        tune={"w": {"level": [0]}},
        runs=2,
        X_test=rows,
        y_test=y,
        random_state=0,
    )
    assert record.rows[0]["tuning_error"] == 1.0
    assert record.rows[0]["error"] == 1.0
    assert record.rows[0]["kept"] == 0.0


@pytest.mark.parametrize("subsample", [None, 0.7])
def test_figures_by_hand(subsample):
    record = compare(
        {"rda": RDA}, X, Y, runs=4, subsample=subsample, keep_supports=True, random_state=3
    )
    row, runs = record.rows[0], record.runs
    supports = [run["support"] for run in runs]
    assert row["error"] == pytest.approx(np.mean([run["error"] for run in runs]))
    assert row["error_sd"] == pytest.approx(np.std([run["error"] for run in runs], ddof=1))
    assert row["kept"] == pytest.approx(np.mean([len(s) for s in supports]) / 150)
    assert row["kappa"] == pytest.approx(selection_kappa(supports, 150))
    assert row["stability"] == pytest.approx(selection_stability(supports, 150).value)
    assert record.settings["test_rows"] == 72
    assert len(set(record.seeds)) == 4


def test_jobs_and_kinds_of_rows_do_not_change_the_figures():
    def figures(rows, **options):
        record = compare(
            {"rda": RDA, "ftrl": FTRL},
            rows,
            Y,
            tune={"rda": {"alpha": [1e-3, 1e-2]}},
            runs=3,
            random_state=1,
            **options,
        )
        return [
            [row[name] for name in ("model", "pick", "error", "kept", "kappa", "stability")]
            for row in record.rows
        ]

    one = figures(X)
    assert one == figures(X.toarray()) == figures(sp.csc_matrix(X))
    with joblib.parallel_backend("threading"):
        assert one == figures(X, n_jobs=2)


def test_regression_and_pipelines_with_a_selector():
    random = np.random.default_rng(0)
    rows = random.normal(size=(90, 12))
    y = rows[:, 0] * 2 + 0.1 * random.normal(size=90)
    record = compare({"lasso": Lasso(0.1)}, rows, y, runs=3, random_state=0)
    assert record.settings["task"] == "regression"
    assert record.rows[0]["error"] < 0.1
    assert "squared error" in record.table()
    piped = make_pipeline(
        StabilitySelector(RDA, n_pairs=2, param_values=2, threshold=0.6, n_selected=20), RDA
    )
    found = compare({"stability": piped}, X, Y, runs=2, random_state=0)
    assert 0 < found.rows[0]["kept"] <= 20 / 150


def test_a_record_is_plain_data_that_comes_back():
    record = compare(
        [RDA, RDA],
        X,
        Y,
        tune={"RDAClassifier": {"alpha": np.array([1e-3, 1e-2]), "loss": ["hinge"]}},
        runs=2,
        random_state=0,
    )
    stored = json.loads(json.dumps(record.to_dict(), allow_nan=True))
    again = Record.from_dict(stored)
    assert again.to_dict()["runs"] == record.to_dict()["runs"]
    assert again.table() == record.table()
    assert [row["model"] for row in again.rows][-1] == "RDAClassifier 2"
    assert again.versions["tamis"]
    assert len(record.to_frame()) == len(record.rows)
    assert record.table(rich=True).row_count == len(record.rows)
    assert str(record) == "\n".join([record.table(), *record.found()])


def test_bad_records_and_missing_pandas(monkeypatch):
    with pytest.raises(ValueError, match="no record of format 1"):
        Record.from_dict({"rows": []})
    with pytest.raises(ValueError, match="a record has no 'extra'"):
        Record.from_dict({"format": 1, "extra": 2})
    monkeypatch.setitem(sys.modules, "pandas", None)
    with pytest.raises(ImportError, match="needs pandas"):
        Record().to_frame()


@pytest.mark.parametrize(
    ("options", "failure", "words"),
    [
        ({"models": []}, ValueError, "at least one model"),
        ({"models": [RDA, Lasso()]}, ValueError, "cannot be compared"),
        ({"models": [StabilitySelector()]}, TypeError, "put a selector into a pipeline"),
        ({"tune": {"x": {}}}, ValueError, "tune names 'x'"),
        ({"runs": 1}, ValueError, "'runs' parameter of compare"),
        ({"subsample": 1.5}, ValueError, "'subsample' parameter of compare"),
        ({"X_test": X}, ValueError, "both of X_test and y_test"),
        ({"X_test": X[:, :9], "y_test": Y}, ValueError, "150 features, but X_test has 9"),
        ({"y": Y[:-1]}, ValueError, "inconsistent numbers of samples"),
    ],
)
def test_refusals(options, failure, words):
    given = {"models": [RDA], "y": Y, **options}
    with pytest.raises(failure, match=words):
        compare(given.pop("models"), X, given.pop("y"), **given)


# --------------------------------------------------------------------------- checks
def checked(X, y, models=None, **options):
    models = models or {"FTRL": FTRLClassifier(max_iter=3, tol=None)}
    record = compare(models, X, y, runs=2, random_state=0, **options)
    return {check["code"]: check for check in record.checks}, record


def test_checks_of_the_data_stand_under_the_table():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(400, 8))
    y = (X[:, 0] + X[:, 1] > 0).astype(int)
    found, record = checked(X, y)
    assert list(found) == ["TAM001", "TAM002", "TAM007", "TAM009", "TAM010", "TAM012"]
    assert {check["state"] for check in found.values()} == {"passed"}
    assert str(record) == record.table()
    assert Record.from_dict(record.to_dict()) == record
    # Noise, a column of large numbers, copies, a leak, a rare and small class.
    names = [f"x{k}" for k in range(8)]
    found, record = checked(X, rng.permutation(y), names=names)
    assert found["TAM001"]["state"] == "found"
    assert "no method is better than guessing" in str(record)
    spoilt = X.copy()
    spoilt[:, 3] *= 1e6
    spoilt[:, 5] = y + 0.01 * X[:, 5]
    spoilt[10:60] = spoilt[:50]
    rare = np.where(np.arange(400) < 12, 2, y)
    found, record = checked(spoilt, np.r_[y[:10], y[:50], y[60:]], names=names)
    assert "x3 (" in found["TAM007"]["said"]
    assert "FTRL" in found["TAM007"]["said"]
    assert found["TAM009"]["state"] == "found"
    assert "x5 (" in found["TAM010"]["said"]
    # And the large numbers spoil the model.
    codes = [line.split()[0] for line in str(record).splitlines() if line.startswith("TAM0")]
    assert codes == ["TAM001", "TAM007", "TAM009", "TAM010"]
    found, _ = checked(X, rare)
    assert found["TAM002"]["state"] == found["TAM012"]["state"] == "found"
    found, record = checked(spoilt, y, names=names, silence=["TAM007", "TAM010"])
    assert found["TAM007"]["state"] == found["TAM010"]["state"] == "silenced"
    assert "x3" not in str(record)
    sieve = {"sieve": SieveClassifier(n_paths=2, n_folds=2, random_state=0)}
    assert checked(spoilt, y, sieve)[0]["TAM007"]["state"] == "passed"
    with pytest.raises(ValueError, match="no check has the code 'TAM099'"):
        checked(X, y, silence=["TAM099"])


def test_checks_of_numbers():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(300, 5))
    models = {"FTRL": FTRLRegressor(max_iter=5, tol=None)}
    found, _ = checked(X, X[:, 0] + 0.1 * X[:, 1] + 3.0, models)
    assert found["TAM001"]["state"] == "passed"
    assert "always the mean" in found["TAM001"]["said"]
    assert found["TAM002"]["state"] == "not checked"
    assert checked(X, X[:, 2], models)[0]["TAM010"]["state"] == "found"
    assert checked(X, rng.normal(size=300), models)[0]["TAM001"]["state"] == "found"
