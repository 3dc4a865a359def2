"""Text: entries of a political weblog, and whether one that does not say "iraq" is about it."""

import numpy as np

from benchmarks.pages import Goal
from benchmarks.walks import sets
from benchmarks.walks.session import Session

TITLE = "Text"
ABOUT = """
    kos_bow, 3,430 entries of a weblog of 2004, without labels: the target made here is whether an
    entry has the word "iraq", which was taken out of all of them, with "iraqi" and "iraqis". The
    set has counts, so the words of an entry come in random order, and runs of words mean nothing.
    Made up: the day of an entry, its author, who says nothing, and gaps where no author is known.
    Three tenths of the entries are held out to judge by.
"""
WORD = "iraq"
AUTHORS = ("armando", "dana", "meteor", "theo")


def walk(session: Session, quick: bool) -> list[Goal]:
    """Raw strings in a table: kinds, a model of few words, one entry explained."""
    entries(session, 800 if quick else None)
    session.run("cut -c 1-110 blog.csv | head -3")
    session.run("tamis check blog.csv")
    session.run(
        "tamis fit blog.csv --test blog_test.parquet --target about_iraq --missing zero "
        "--out blog.tamis --report blog.html"
    )
    session.report("blog.html")
    session.say("A model of a hundred words, and of words hashed into 2^16 columns:")
    session.run(
        "tamis fit blog.csv --test blog_test.parquet --missing zero "
        "--set n_features_to_select=100 --top 10 --out hundred.tamis"
    )
    session.run(
        "tamis fit blog.csv --test blog_test.parquet --missing zero --hash-bits 16 --top 10"
    )
    session.run("tamis explain hundred.tamis blog_test.parquet --row 3 --top 8")
    session.say(
        "A file that scores texts without tamis; SQL does not split texts, and says what does:"
    )
    session.run("tamis export hundred.tamis --out hundred.py && wc -c hundred.py")
    session.run("tamis export hundred.tamis --to sql", expected=1)
    session.say("A frame is read as the file was, by the model and by the exported file:")
    session.python(PYTHON)
    return [session.made_up("text", "blog.tamis", ("day", "author", "id"))]


PYTHON = """
import numpy as np, pandas, runpy, tamis

blog = pandas.read_parquet("blog_test.parquet")
model = tamis.load("hundred.tamis")
print("error of a frame:", round((model.predict(blog) != blog["about_iraq"]).mean(), 4))
war = {"day": "2004-05-01", "author": "dana", "entry": "troops and weapons in the war"}
print("one entry:", model.predict([war])[0])
alone = runpy.run_path("hundred.py")["predict_proba"]
rows = blog.astype(object).where(blog.notna(), None).to_dict("records")
away = np.abs([alone(row) for row in rows] - model.predict_proba(blog)).max()
print("exported file and model agree:", away < 1e-9)
"""


def entries(session: Session, most: int | None) -> None:
    """Write the entries, as CSV to learn from and as Parquet to judge by."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    stored = sets.load("kos_bow")
    X, terms = sets.rows(stored)[:most], stored["terms"].astype(object)
    about = np.asarray(X[:, terms == WORD].sum(axis=1)).ravel() > 0
    rng = np.random.default_rng(0)
    told = np.array([term.startswith(WORD) for term in terms])
    texts = []
    for k in range(X.shape[0]):
        own = slice(X.indptr[k], X.indptr[k + 1])
        places, counts = X.indices[own], X.data[own].astype(int)
        said = np.repeat(places, np.where(told[places], 0, counts))
        texts.append(" ".join(terms[rng.permutation(said)]))
    days = np.datetime64("2004-01-01") + rng.integers(0, 366, len(texts))
    authors = rng.choice(np.array([*AUTHORS, None], dtype=object), len(texts)).tolist()
    columns = {
        "id": [f"e{k:05d}" for k in range(len(texts))],
        "day": days.astype(str).tolist(),
        "author": authors,
        "entry": texts,
        "about_iraq": np.where(about, "yes", "no").tolist(),
    }
    first, rest = (sets.select(columns, part) for part in sets.held_out(len(texts)))
    sets.write_csv(session.folder / "blog.csv", first)
    pq.write_table(pa.table(rest), session.folder / "blog_test.parquet")
