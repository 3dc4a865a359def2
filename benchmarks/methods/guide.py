"""Figures of the guide that no other page has: passive-aggressive intercepts, covariances, BCW
between ridge and SVM and in batches, quarters of confidence, and scaling before unlabelled rows.
"""

import os
import warnings
from pathlib import Path

import numpy as np
from sklearn.datasets import load_digits
from sklearn.model_selection import train_test_split

from benchmarks import realsets
from benchmarks.pages import Page, Table
from benchmarks.papers.confidence import sets
from tamis import AROWClassifier, BCWClassifier, PAClassifier, TriClassSVC

COST = 4.0  # C of BCW on usps
BATCHES = 64


def run(quick: bool) -> Page:
    """All tables of this part."""
    opening = """
        Small experiments behind sentences of the guide: {doc}`/confidence` and {doc}`/few_labels`.
        Errors are in per cent, on rows that took no part."""
    page = Page("guide", "Figures of the guide", opening)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for part in (intercepts, covariances, preconditioners, batches, quarters, scaling):
            page.tables.append(part(quick))
    return page


def _spread(errors) -> str:
    """Mean and spread, in per cent."""
    return f"{100 * np.mean(errors):.1f} ± {100 * np.std(errors):.1f}"


def _error(model, X, y) -> float:
    return 1.0 - model.score(X, y)


# --------------------------------------------------------------------------- online learners
def intercepts(quick: bool) -> Table:
    """Passive-aggressive learners on text, with and without an intercept."""
    found = {name: realsets.read(name) for name in realsets.available()}
    makers = {
        "PA-I": PAClassifier,
        "PA-I, `fit_intercept=False`": lambda **o: PAClassifier(fit_intercept=False, **o),
        "AROW": AROWClassifier,
    }
    orders = range(2 if quick else 10)
    rows = [
        [name]
        + [
            _spread(
                [
                    _error(
                        new(max_iter=1, tol=None, random_state=seed).fit(split.X, split.y),
                        split.X_test,
                        split.y_test,
                    )
                    for seed in orders
                ]
            )
            for split in found.values()
        ]
        for name, new in makers.items()
    ]
    note = f"""One pass, defaults, mean and spread over {len(orders)} orders of the rows, which have
        unit length."""
    caption = "The intercept of passive-aggressive learners"
    return Table(caption, ["one pass", *found], rows if found else [], note)


def covariances(quick: bool) -> Table:
    """AROW on correlated dense columns."""
    X, X_test, y, y_test = _digits()
    orders = range(2 if quick else 10)
    rows = [
        [
            covariance,
            _spread(
                [
                    _error(
                        AROWClassifier(
                            covariance=covariance, max_iter=1, tol=None, random_state=seed
                        ).fit(X, y),
                        X_test,
                        y_test,
                    )
                    for seed in orders
                ]
            ),
        ]
        for covariance in ("full", "diagonal")
    ]
    note = f"""scikit-learn's digits, even against odd, half of them to learn from; AROW at its
        defaults, one pass, {len(orders)} orders of the rows."""
    return Table("Full and diagonal covariance", ["covariance", "error"], rows, note)


def _digits():
    X, y = load_digits(return_X_y=True)
    return train_test_split(X / 16, y % 2, test_size=0.5, random_state=0)


# --------------------------------------------------------------------------- batches
def _usps():
    """The scans, even against odd, or nothing where the set is not there."""
    folder = os.environ.get("TAMIS_DATA")
    file, read = sets.DENSE["usps"]
    return read(Path(folder)) if folder and (Path(folder) / file).exists() else None


def preconditioners(quick: bool) -> Table:
    """BCW between ridge regression and a support vector machine."""
    split, rows = _usps(), []
    for share in (1.0, 0.1, 0.01, 0.001, 0.0) if split else ():
        model = BCWClassifier(
            COST, share * COST, loss="squared_hinge", max_iter=200, fit_intercept=False,
            random_state=0,
        ).fit(split.X, split.y)  # fmt: skip
        error = _error(model, split.X_test, split.y_test)
        rows.append([f"{share:g}", str(len(model.history_)), f"{100 * error:.1f}"])
    note = f"""usps, even against odd, squared hinge, C = {COST:g}, to the default gap. 0 is the
        support vector machine."""
    return Table("Sweeps and error by `cov_C / C`", ["cov_C / C", "sweeps", "error"], rows, note)


def batches(quick: bool) -> Table:
    """BCW in one batch and in many."""
    split, rows = _usps(), []
    orders = range(2 if quick else 10)
    for loss in ("hinge", "squared_hinge") if split else ():
        for prior, count in (("last", 1), ("last", BATCHES), ("dual", BATCHES)):
            errors = []
            for seed in orders:
                order = np.random.default_rng(seed).permutation(len(split.y))
                model = BCWClassifier(
                    loss=loss, prior_mean=prior, fit_intercept=False, random_state=seed
                )
                for part in np.array_split(order, count):
                    model.partial_fit(split.X[part], split.y[part], classes=[0, 1])
                errors.append(_error(model, split.X_test, split.y_test))
            rows.append([loss, prior if count > 1 else "-", str(count), _spread(errors)])
    note = f"usps, even against odd, C = 1, one sweep a batch, {len(orders)} orders of the rows."
    head = ["loss", "prior_mean", "batches", "error"]
    return Table("A stream in batches", head, rows, note)


def quarters(quick: bool) -> Table:
    """Errors of rows by rising confidence, and by rising margin."""
    X, X_test, y, y_test = _digits()
    model = BCWClassifier(random_state=0).fit(X, y)
    wrong = model.predict(X_test) != y_test
    ways = {
        "`predict_confidence`": model.predict_confidence(X_test),
        "size of the margin": np.abs(model.decision_function(X_test)),
    }
    rows = [
        [name]
        + [
            f"{100 * wrong[part].mean():.1f}"
            for part in np.array_split(np.argsort(values, kind="stable"), 4)
        ]
        for name, values in ways.items()
    ]
    note = "BCW on scikit-learn's digits, even against odd, as on the page."
    head = ["by", "least sure quarter", "second", "third", "surest"]
    return Table("Errors in quarters of rising confidence", head, rows, note)


# --------------------------------------------------------------------------- few labels
def scaling(quick: bool) -> Table:
    """The toy of the page on few labels: rows of no class, scaled columns, and both."""
    found: dict[str, list[float]] = {}
    for seed in range(2 if quick else 20):
        rng = np.random.default_rng(seed)

        def draw(count, side, rng=rng):
            return 0.3 * side + rng.normal(size=(count, 50)) * np.repeat([0.3, 3.0], [2, 48])

        X = np.concatenate([draw(10, 1), draw(10, -1), draw(500, 0)])
        y = np.repeat(["up", "down", "neither"], [10, 10, 500])
        test = np.concatenate([draw(500, 1), draw(500, -1)])
        truth = np.repeat(["up", "down"], 500)
        for name, unit in (("as they are", 1.0), ("in units of their spread", X.std(axis=0))):
            plain = TriClassSVC("svm", unlabeled="open").fit(X[:20] / unit, y[:20])
            model = TriClassSVC(
                "usvm", C_unlabeled=0.1, unlabeled="open", irrelevant_label="neither"
            )
            model.fit(X / unit, y)
            found.setdefault(f"{name}, labels alone", []).append(_error(plain, test / unit, truth))
            found.setdefault(f"{name}, rows of no class too", []).append(
                _error(model, test / unit, truth)
            )
    rows = [[name, _spread(errors)] for name, errors in found.items()]
    note = f"""The toy of the page: 20 labels, 500 rows of no class, 50 columns of which two tell;
        {len(next(iter(found.values())))} draws."""
    return Table("Scale first", ["columns", "error"], rows, note)
