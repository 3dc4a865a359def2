"""Many labels: reports that have several each, and many small tasks that look at one table."""

import numpy as np

from benchmarks.walks import sets
from benchmarks.walks.session import Session

TITLE = "Many labels"
ABOUT = """
    tmc2007_500: reports of flights (21,519 to learn from, 7,077 to judge by), 500 words that are
    there or not, and for each report which of 22 things went wrong: several labels a row, as
    svmlight writes them. Then school: examination scores of pupils in 139 schools, each school a
    task, a tenth public split of the set.
"""


def walk(session: Session, quick: bool) -> None:
    """Labels from a file, a model a label, all labels on one factored matrix, many tasks."""
    reports(session, 3000 if quick else None)
    session.run("cut -c 1-90 reports.svm | head -3")
    session.run("tamis check reports.svm")
    session.run(
        "tamis fit reports.svm --test reports_test.svm --out reports.tamis --report reports.html "
        "--top 8"
    )
    session.report("reports.html")
    session.run("head -3 reports_test.svm | tamis predict reports.tamis - --format svmlight")
    session.say("A lone label a row would be read as classes; these rows have several.")
    session.run("tamis fit reports.svm --test reports_test.svm --method ftrl --top 4")
    session.say("All labels on one factored matrix, each with a threshold of its own:")
    session.python(LOW_RANK)
    schools(session)
    session.say("139 schools that choose their features together, or each on its own:")
    session.python(TASKS)


LOW_RANK = """
import tamis
from sklearn.metrics import f1_score


def labels(path):
    (rows,) = tamis.open_rows(path, multilabel=True, chunk_rows=30_000, n_features=500)
    return rows.X, rows.targets.toarray()


(X, Y), (X_test, Y_test) = labels("reports.svm"), labels("reports_test.svm")
model = tamis.LowRankClassifier(n_components=100, random_state=0).fit(X, Y)
sieve = tamis.load("reports.tamis")
for name, found in (("low rank", model.predict(X_test)), ("sieve", sieve.predict(X_test))):
    f1 = f1_score(Y_test, found, average="macro", zero_division=0)
    print(f"{name}: {(found != Y_test).mean():.1%} of the labels wrong, macro F1 {f1:.3f}")
"""
TASKS = """
import numpy as np, tamis

with np.load("schools.npz") as z:
    X, y, task, train, test = (z[name] for name in ("X", "y", "task", "train", "test"))
spread = y[train].std()
for penalty in ("individual", "shared", "shared+sparse"):
    model = tamis.MultiTaskRegressor(alpha=0.05, penalty=penalty)
    model.fit(X[train], y[train] / spread, task[train])
    error = y[test] - spread * model.predict(X[test], task[test])
    told = 1 - np.mean(error**2) / y[test].var()
    kept = f"{len(model.support_)} of {X.shape[1]} features"
    print(f"{penalty}: {kept}, {told:.1%} of the variance explained")
"""


def reports(session: Session, most: int | None) -> None:
    """Write the reports; a row's labels are numbers with commas between them."""
    stored = sets.load("tmc2007_500")
    for name, part in (("reports", "_train"), ("reports_test", "_test")):
        X, Y = sets.rows(stored, part), stored[f"y{part}"]
        with open(session.folder / f"{name}.svm", "w") as file:
            for k in range(min(X.shape[0], most or X.shape[0])):
                own = ",".join(str(label) for label in np.flatnonzero(Y[k]).tolist())
                own_words = sorted(X.indices[X.indptr[k] : X.indptr[k + 1]].tolist())
                words = " ".join(f"{j + 1}:1" for j in own_words)
                file.write(f"{own} {words}\n")


def schools(session: Session) -> None:
    """Write the schools as arrays, the columns in units of their spread, no constant one."""
    stored = sets.load("school")
    X = stored["X"][:, :-1].astype(float)
    np.savez(
        session.folder / "schools.npz",
        X=(X - X.mean(axis=0)) / X.std(axis=0),
        y=stored["y"].astype(float),
        task=stored["task"],
        train=stored["split1_train"],
        test=stored["split1_test"],
    )
