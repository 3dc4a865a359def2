"""Streams and clicks: Vowpal Wabbit's text, one pass, one row at a time."""

import numpy as np

from benchmarks.walks import sets
from benchmarks.walks.session import Session
from benchmarks.walks.tables import FIELDS, fields

TITLE = "Streams and clicks"
ABOUT = """
    a9a again, as a log of events in Vowpal Wabbit's text: people who were shown something, their
    words in two namespaces, gaps left out. Made up: the tags, and a namespace of visits with one of
    20,000 identifiers a row, which says nothing and must not be learnt by heart. Then
    rcv1_vw_small (1,000 + 500 news texts of 47,118 columns) as compressed svmlight.
"""
PERSON = ("age", "education", "education_years", "marital", "relationship", "race", "sex")


def walk(session: Session, quick: bool) -> None:
    """A log learnt in one pass, its progressive error, a service that goes on learning."""
    clicks(session, 3000 if quick else None)
    session.run("cut -c 1-110 clicks.vw | head -2")
    session.run("tamis check clicks.vw")
    session.run(
        "tamis fit clicks.vw --test clicks_test.vw --method ftrl --passes 1 --hash-bits 18 "
        "--out clicks.tamis --report clicks.html --top 12"
    )
    session.report("clicks.html")
    session.run("tamis explain clicks.tamis clicks_test.vw --row 5 --top 6")
    session.run("tail -3 clicks_test.vw | tamis predict clicks.tamis - --format vw --proba")
    session.say("The same in Python, then one event at a time, scored before it is learnt:")
    session.python(PYTHON)
    news(session)
    session.say("News, as compressed svmlight, in one pass and by the sieve:")
    session.run("tamis fit news.svm.gz --test news_test.svm.gz --method ftrl --top 5")
    session.run("tamis fit news.svm.gz --test news_test.svm.gz --report news.html --top 5")
    session.report("news.html")


PYTHON = """
import tamis

rows = tamis.open_rows("clicks.vw", hash_bits=18, chunk_rows=1000)
model = tamis.train(tamis.FTRLClassifier(), rows, validate="progressive")
print("progressive error", round(model.train_history_[-1]["error"], 4))
service = tamis.live(model)
wrong = seen = 0
for line in open("clicks_test.vw"):
    label, *spaces = line.split("|")
    event = {f"{space.split()[0]}^{word}": 1.0 for space in spaces for word in space.split()[1:]}
    truth = int(label.split()[0])
    wrong, seen = wrong + (service.predict(event) != truth), seen + 1
    service.learn(event, truth)
print("one at a time:", round(wrong / seen, 4), "of", seen)
"""


def clicks(session: Session, most: int | None) -> None:
    """Write the census as events."""
    stored, rng = sets.load("a9a"), np.random.default_rng(0)
    for name, part in (("clicks", "_train"), ("clicks_test", "_test")):
        X, y = sets.rows(stored, part).toarray()[:most], stored[f"y{part}"][:most]
        columns = fields(X)
        visits = rng.integers(0, 20_000, len(y)).tolist()
        with open(session.folder / f"{name}.vw", "w") as file:
            for k, label in enumerate(y.tolist()):
                own = {f: columns[f][k] for f in FIELDS if columns[f][k] is not None}
                person = " ".join(f"{f}={own[f]}" for f in PERSON if f in own)
                work = " ".join(f"{f}={word}" for f, word in own.items() if f not in PERSON)
                line = f"{label} {name}{k}|person {person} |work {work} |visit v{visits[k]}"
                file.write(line + "\n")


def news(session: Session) -> None:
    """Write rcv1 as compressed svmlight."""
    import gzip

    stored = sets.load("rcv1_vw_small")
    for name, part in (("news", "_train"), ("news_test", "_test")):
        path = session.folder / f"{name}.svm"
        sets.write_svmlight(path, sets.rows(stored, part), stored[f"y{part}"])
        with gzip.open(f"{path}.gz", "wb") as file:
            file.write(path.read_bytes())
        path.unlink()
