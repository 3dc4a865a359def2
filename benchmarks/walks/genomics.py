"""Genomics: splice sites by position, far more columns than rows, and noise."""

import numpy as np

from benchmarks.pages import Goal, verdict
from benchmarks.walks import sets
from benchmarks.walks.session import Session

TITLE = "Genomics"
ABOUT = """
    Three tables. splice_grplasso: 400 places in a genome, half of them donor splice sites, with the
    letters at seven positions around. dexter: 300 rows of 20,000 columns to learn from and 300 to
    judge by; it is text, and stands here for a real set with far more columns than rows. And noise,
    made here: 80 rows of 5,000 columns that have nothing to do with their classes, where a sparse
    method that must name columns will name some. Gaps and dates are in none of them.
"""


def walk(session: Session, quick: bool) -> list[Goal]:
    """Groups of letters, p >> n, and a first line that says nothing was found."""
    splice(session)
    session.run("head -3 splice.csv && tamis check splice.csv")
    session.run(
        "tamis fit splice.csv --test splice_test.csv --out splice.tamis --report splice.html"
    )
    session.report("splice.html")
    session.say("A position is four columns that belong together: chosen or not as a group.")
    session.python(GROUPS)
    wide(session)
    session.run("tamis check wide.svm")
    session.run("tamis fit wide.svm --test wide_test.svm --report wide.html --top 8")
    session.report("wide.html")
    session.say("Which columns would be found again in other rows, with a bound on false ones:")
    session.python(STABLE)
    noise(session, 1000 if quick else 5000)
    session.say("Noise:")
    said = session.run("tamis fit noise.csv --report noise.html --out noise.tamis")
    session.report("noise.html")
    session.run("tamis inspect noise.tamis")
    lines = [line for line in said.splitlines() if not line.startswith(("tamis:", "fit:"))]
    return [
        Goal(
            "genomics: the first line about noise says that nothing was found",
            lines[0],
            verdict("othing" in lines[0]),
        )
    ]


GROUPS = """
import pandas, tamis

train, test = pandas.read_csv("splice.csv"), pandas.read_csv("splice_test.csv")
table = tamis.Table(kinds=dict.fromkeys(train.columns[:-1], "category"))
X, X_test = table.fit_transform(train.iloc[:, :-1]), table.transform(test.iloc[:, :-1])
groups = tamis.groups_from_names(table.get_feature_names_out(), separator="=")
model = tamis.GroupLassoClassifierCV(feature_groups=groups).fit(X, train["site"])
kept = dict.fromkeys(table.inverse(model.support_))
print(len(kept), "of 7 positions kept:", *kept)
print("test error", round(1 - model.score(X_test, test["site"]), 3))
"""
STABLE = """
import tamis
from sklearn.linear_model import LogisticRegression

(rows,) = tamis.open_rows("wide.svm", chunk_rows=1000)
lasso = LogisticRegression(l1_ratio=1.0, solver="liblinear")
selector = tamis.StabilitySelector(lasso, max_false=1.0, random_state=0)
selector.fit(rows.X, rows.targets)
print("stable:", selector.get_support(indices=True).tolist())
"""


def splice(session: Session) -> None:
    """Write the sites as letters, three tenths of them to judge by."""
    stored = sets.load("splice_grplasso")
    letters = stored["levels"].tolist()
    columns = {
        name: [letters[code] for code in column]
        for name, column in zip(stored["positions"].tolist(), stored["X"].T.tolist(), strict=True)
    }
    columns["site"] = np.where(stored["y"] > 0, "donor", "other").tolist()
    for name, part in zip(("splice", "splice_test"), sets.held_out(400), strict=True):
        sets.write_csv(session.folder / f"{name}.csv", sets.select(columns, part))


def wide(session: Session) -> None:
    """Write dexter as svmlight."""
    stored = sets.load("dexter")
    for name, part in (("wide", "_train"), ("wide_test", "_valid")):
        X, y = sets.rows(stored, part), stored[f"y{part}"]
        sets.write_svmlight(session.folder / f"{name}.svm", X, y)


def noise(session: Session, n_columns: int) -> None:
    """Write 80 rows of noise."""
    rng = np.random.default_rng(0)
    columns = {f"gene{j}": [f"{v:.3f}" for v in rng.normal(size=80)] for j in range(n_columns)}
    columns["group"] = rng.permutation(["case", "control"] * 40).tolist()
    sets.write_csv(session.folder / "noise.csv", columns)
