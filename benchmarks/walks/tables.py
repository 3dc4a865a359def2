"""Tables: census rows with words, gaps and dates, and a table from a German spreadsheet."""

import datetime as dt

import numpy as np

from benchmarks.pages import Goal
from benchmarks.walks import sets
from benchmarks.walks.session import Session

TITLE = "Tables"
ABOUT = """
    a9a, the adult census (32,561 rows to learn from, 16,281 to judge by), with its dummies turned
    back into words: the gaps in `workclass`, `occupation` and `country` are those of the set, ages
    and hours are fifths of the people. Made up: `id`, and the day of the interview, which says
    nothing. Then wdbc (569 rows, 30 numbers) as a German spreadsheet writes it.
"""
# The dummies of a9a in their order: fifths of a number, or words; from the set's description.
FIELDS = {
    "age": 5,
    "workclass": "Private Self-emp-not-inc Self-emp-inc Federal-gov Local-gov State-gov "
    "Without-pay Never-worked",
    "sample_weight": 5,
    "education": "Bachelors Some-college 11th HS-grad Prof-school Assoc-acdm Assoc-voc 9th 7th-8th "
    "12th Masters 1st-4th 10th Doctorate 5th-6th Preschool",
    "education_years": 5,
    "marital": "Married-civ-spouse Divorced Never-married Separated Widowed Married-spouse-absent "
    "Married-AF-spouse",
    "occupation": "Tech-support Craft-repair Other-service Sales Exec-managerial Prof-specialty "
    "Handlers-cleaners Machine-op-inspct Adm-clerical Farming-fishing Transport-moving "
    "Priv-house-serv Protective-serv Armed-Forces",
    "relationship": "Wife Own-child Husband Not-in-family Other-relative Unmarried",
    "race": "White Asian-Pac-Islander Amer-Indian-Eskimo Other Black",
    "sex": "Female Male",
    "capital_gain": 2,
    "capital_loss": 2,
    "hours": 5,
    "country": "United-States Cambodia England Puerto-Rico Canada Germany Outlying-US India Japan "
    "Greece South China Cuba Iran Honduras Philippines Italy Poland Jamaica Vietnam Mexico "
    "Portugal Ireland France Dominican-Republic Laos Ecuador Taiwan Haiti Columbia Hungary "
    "Guatemala Nicaragua Scotland Thailand Yugoslavia El-Salvador Trinadad&Tobago Peru Hong "
    "Holand-Netherlands",
}


def walk(session: Session, quick: bool) -> list[Goal]:
    """From a census with gaps to a verdict, a scorecard and SQL; then decimal commas."""
    census(session, 3000 if quick else None)
    session.run("head -3 census.csv")
    session.run("tamis check census.csv")
    session.say("Gaps are refused until somebody says what they mean:")
    session.run("tamis fit census.csv", expected=1)
    session.run(
        "tamis fit census.csv --missing indicator --test census_test.parquet "
        "--out census.tamis --report census.html"
    )
    session.report("census.html")
    session.run("tamis explain census.tamis census_test.parquet --row 17 --top 8")
    session.run(
        "tamis export census.tamis --to scorecard --test census_test.parquet > card.md; "
        "head -9 card.md; echo ...; tail -5 card.md"
    )
    session.run("tamis export census.tamis --to sql | cut -c 1-98 | head -12")
    session.say("Rows in a frame and in a database are read by the columns the model remembers:")
    session.python(PYTHON)
    cells(session)
    session.say(
        "A spreadsheet with semicolons and decimal commas, and what is said about it before "
        "anybody tells:"
    )
    session.run("tamis check cells.csv", most=24)
    session.run("tamis fit cells.csv --decimal , --test cells_test.csv --report cells.html --top 8")
    session.report("cells.html")
    return [session.made_up("tables", "census.tamis", ("interviewed", "id"))]


PYTHON = """
import duckdb, pandas, tamis

model = tamis.load("census.tamis")
people = pandas.read_parquet("census_test.parquet")
print("error of a frame:", round((model.predict(people) != people["income"]).mean(), 4))
print("one person:", model.predict(people.iloc[[16]].to_dict("records"))[0])
query = duckdb.sql("select * from 'census_test.parquet' where hours >= 4")
rows = tamis.open_rows(query, target="income", missing="indicator")
print(sum(chunk.X.shape[0] for chunk in rows), "rows of a query")
"""


def census(session: Session, most: int | None) -> None:
    """Write the census as CSV to learn from and as Parquet to judge by."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    stored = sets.load("a9a")
    for part, first in (("_train", 0), ("_test", 100_000)):
        X, y = sets.rows(stored, part).toarray()[:most], stored[f"y{part}"][:most]
        columns = {"id": [f"p{first + k:06d}" for k in range(len(y))], **fields(X)}
        days = np.random.default_rng(first).integers(0, 365, len(y)).tolist()
        begin = dt.date(1994, 1, 1)
        columns["interviewed"] = [(begin + dt.timedelta(day)).isoformat() for day in days]
        columns["income"] = np.where(y > 0, ">50K", "<=50K").tolist()
        if part == "_train":
            sets.write_csv(session.folder / "census.csv", columns)
        else:
            pq.write_table(pa.table(columns), session.folder / "census_test.parquet")


def fields(X: np.ndarray) -> dict[str, list]:
    """The words that dummies stand for; no dummy is a gap."""
    columns, at = {}, 0
    for name, levels in FIELDS.items():
        words = list(range(1, levels + 1)) if isinstance(levels, int) else levels.split()
        own = X[:, at : at + len(words)]
        places = np.where(own.any(axis=1), own.argmax(axis=1), -1).tolist()
        columns[name] = [words[k] if k >= 0 else None for k in places]
        at += len(words)
    return columns


def cells(session: Session) -> None:
    """Write wdbc with semicolons and decimal commas, a part of it to judge by."""
    stored = sets.load("wdbc")
    numbers = {
        f"m{j + 1}": [f"{v:.6g}".replace(".", ",") for v in column]
        for j, column in enumerate(stored["X"].T.tolist())
    }
    columns = {**numbers, "finding": np.where(stored["y"] > 0, "ill", "well").tolist()}
    for name, part in zip(("cells", "cells_test"), sets.held_out(len(stored["y"])), strict=True):
        sets.write_csv(session.folder / f"{name}.csv", sets.select(columns, part), ";")
