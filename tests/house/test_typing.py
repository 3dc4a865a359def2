"""What type checkers and editors say to users: right programs pass, wrong lines are refused."""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

import tamis

pytest.importorskip("mypy")

ESTIMATORS = """
from pathlib import Path
from typing import Any, assert_type

import numpy as np
from scipy import sparse

import tamis
from tamis import (
    AROWClassifier, BCWClassifier, FOBOSClassifier, FTRLClassifier, FTRLRegressor,
    GroupLassoClassifier, LowRankLasso, SDist, SieveClassifier, StabilitySelector,
    StabilizedSGDClassifierCV, compare, load, open_rows, save, selection_stability, train,
)
from tamis.datasets import load_bag_of_words, make_text
from tamis.data.rows import Rows
from tamis.data.source import RowSource
from tamis.terms import Hinge, Huber
from tamis.testing import expected_failed_checks

X, y, planted = make_text(n_samples=100, n_features=50, noise=0.1, random_state=0)
dense = np.random.default_rng(0).normal(size=(100, 50))

fobos = FOBOSClassifier(alpha=1e-3, l1_ratio=0.5, loss="logistic", max_iter=5, tol=None)
fobos.fit(X, y, sample_weight=np.ones(100))
fobos = FOBOSClassifier(loss=Hinge(2.0), eta="auto", n_jobs=-1, class_weight="balanced")
ftrl = FTRLClassifier(grow=True, random_state=0).partial_fit(X, y, classes=[0, 1])
weights = ftrl.coef_[:, ftrl.support_].sum(axis=1) + ftrl.intercept_
real = FTRLRegressor(loss=Huber(1.0)).fit(dense, y.astype(float))
errors: list[float] = [float(v) for v in real.predict(dense) - y]
shares = SieveClassifier(random_state=0).fit(X, y).predict_proba(X)
paths = StabilizedSGDClassifierCV(n_paths=5, verbose=False).fit(X, y)
print(paths.selection_probability_, paths.cv_results_, paths.history_[-1])
arow = AROWClassifier(r=1.0).fit(X, y).decision_function(sparse.csr_array(dense))
batch = BCWClassifier().partial_fit(dense, y, classes=np.unique(y))
groups = GroupLassoClassifier(feature_groups=[0] * 25 + [1] * 25, alpha=0.1).fit(dense, y)
near = SDist(random_state=0).fit(dense, y).transform(dense)
low = LowRankLasso(n_components=5, radius=1.0).fit(X, dense)
selector = StabilitySelector(FOBOSClassifier(), max_false=1.0).fit(X, y)
kept = selector.transform(X)
"""
EDGES = """
rows = open_rows("a.svm")
assert_type(rows, RowSource)
for chunk in open_rows([Path("a.csv"), "b.csv"], target="y", categorical=["c"], on_bad="skip"):
    assert_type(chunk, Rows)
    print(chunk.X.shape, chunk.targets, chunk.first_line + 1)
print(rows.survey(columns=True).rows, rows.schema, rows.bad.count, rows.names or [])
model = train(FTRLClassifier(), rows, passes=2, validate="progressive", checkpoint=Path("c"))
assert_type(model, FTRLClassifier)
train(FTRLRegressor(), [(X, y)], validate=(X, y), progress=False)
save(model, "model.tamis")
save(fobos, Path("model.tamis"))
again = load(Path("model.tamis"), terms=[Hinge])
assert_type(again, Any)
again.partial_fit(X, y).predict(X)
record = compare({"one": fobos, "two": ftrl}, X, y, tune={"one": {"alpha": [0.1]}}, runs=4)
assert_type(record.table(), str)
found = selection_stability([[1, 2], [2, 3]], n_features=5)
print(found.value + found.low, record.rows[0]["error"], record.to_frame().head())
X, terms = load_bag_of_words("docword.txt", vocabulary=Path("vocab.txt"))
reasons: dict[str, str] = expected_failed_checks(fobos)
print(tamis.__version__.split("."))
"""

HEAD = """
from tamis import *
from tamis.datasets import make_text
from tamis.terms import Hinge
model, rows = FTRLClassifier(), open_rows("a.svm")
"""
WRONG = [
    "open_rows()",
    "open_rows(3)",
    'open_rows("a.svm", columns=3)',
    'open_rows("a.svm", chunk_rows="many")',
    'open_rows("a.svm", on_bad="ignore")',
    'open_rows("a.svm", categorical=3)',
    'open_rows("a.svm").names()',
    'rows.survey(tell="me")',
    "for chunk in rows: chunk.first_line.append(1)",
    "save(model)",
    "save(model, 3)",
    "load()",
    'load("model.tamis", [Hinge])',
    "train()",
    "train(model)",
    "train(3, rows)",
    "train(model, 3)",
    'train(model, rows, passes="two")',
    'train(model, rows, validate="often")',
    'train(model, rows, progress="never")',
    "compare({})",
    'compare({}, [[1.0]], [1], runs="many")',
    "selection_stability()",
    "selection_stability([[1], [2]], measure=3).value",
    'selection_kappa([[1], [2]]).split(".")',
    'make_text("many")',
    "Hinge([1])",
    "FOBOSClassifier(alpha=[1])",
    'FOBOSClassifier(max_iter="many")',
    'SieveClassifier(n_jobs="all")',
    "FOBOSClasifier()",
]


@pytest.fixture(scope="module")
def say(tmp_path_factory):
    """A function that gives mypy's words about a program, by line."""
    folder = tmp_path_factory.mktemp("typing")
    home = Path(tamis.__file__).parents[1]

    def ask(program: str) -> dict[int, str]:
        (folder / "program.py").write_text(program)
        mypy = [sys.executable, "-m", "mypy", "--ignore-missing-imports", "--config-file="]
        found = subprocess.run(
            [*mypy, "--follow-imports=silent", f"--cache-dir={folder / 'cache'}", "program.py"],
            cwd=folder,
            env={**os.environ, "MYPYPATH": str(home)},
            capture_output=True,
            text=True,
        )
        assert found.returncode in (0, 1), found.stdout + found.stderr
        said = re.findall(r"^program\.py:(\d+): error: (.*)", found.stdout, re.MULTILINE)
        return {int(line): words for line, words in said}

    return ask


@pytest.fixture(scope="module")
def right(say):
    """What mypy says of the right lines."""
    lines = (ESTIMATORS + EDGES).split("\n")
    return {lines[line - 1]: words for line, words in say(ESTIMATORS + EDGES).items()}


@pytest.fixture(scope="module")
def refused(say):
    """The wrong lines that mypy refuses."""
    lines = HEAD.count("\n")
    said = say(HEAD + "\n".join(WRONG) + "\n")
    assert min(said) > lines, "the names themselves are unknown"
    undefined = [words for words in said.values() if "name-defined" in words]
    assert len(undefined) == 1, undefined  # the misspelt one
    return {WRONG[line - lines - 1] for line in said}


def test_estimators_are_made_and_used(right):
    assert {line: words for line, words in right.items() if line in ESTIMATORS} == {}


def test_files_training_model_files_and_judging(right):
    assert {line: words for line, words in right.items() if line in EDGES} == {}


@pytest.mark.parametrize("line", WRONG)
def test_a_wrong_line_is_refused(line, refused):
    assert line in refused
