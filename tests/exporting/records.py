"""Tables with dates, texts, words and gaps, and models of them."""

import datetime
import re

import numpy as np

from tamis import FTRLClassifier, Table

WORDS = ["Good", "bad", "film", "an", "élan", "it's", "x", "ÉCLAIR", "İstanbul", "ΟΔΟΣ", "½half"]
WAYS = {
    "ymd": "%Y-%m-%d",
    "stamps": "%Y-%m-%d %H:%M:%S.%f",
    "y/m/d": "%Y/%m/%d %H:%M",
    "d.m.y": "%d.%m.%Y %H:%M:%S",
    "m/d/y": "%m/%d/%Y",
    "d/m/y": "%d/%m/%Y",
}
KINDS = {"when": "date", "notes": "text", "city": "category", "age": "number"}


def columns_of(way="stamps", n=160, gaps=True, seed=0):
    """Columns of a table, and classes that go by the month, the words and the city."""
    rng = np.random.default_rng(seed)
    begun = datetime.datetime(1899, 12, 1)
    when = [begun + datetime.timedelta(milliseconds=int(k)) for k in rng.integers(0, 8e12, n)]
    notes = [" ".join(rng.choice(WORDS, rng.integers(0, 9))) + "." for _ in range(n)]
    city = [["Bonn", "L'Aquila", "None"][k] for k in rng.integers(0, 3, n)]
    age = rng.normal(1e6, 9.0, n).tolist()
    votes = [
        (d.month < 7) + t.count("Good") + (c == "Bonn")
        for d, t, c in zip(when, notes, city, strict=True)
    ]
    table = {"when": [d.strftime(WAYS[way]) for d in when], "notes": notes}
    table |= {"city": city, "age": age}
    if gaps:
        for name, column in table.items():
            table[name] = [None if rng.random() < 0.1 else value for value in column]
    return table, np.where(np.array(votes) > 1, "yes", "no")


def fitted(table, y, **settings):
    """A table and a model of it, as two steps."""
    from sklearn.pipeline import make_pipeline

    kinds = {name: KINDS[name] for name in table} | settings.pop("kinds", {})
    steps = make_pipeline(Table(kinds=kinds, **settings), FTRLClassifier(1e-5, random_state=0))
    return steps.fit(table, y)


def rows_of(table):
    """A table as a list of records."""
    return [dict(zip(table, row, strict=True)) for row in zip(*table.values(), strict=True)]


def tokens_of(texts):
    """Tokens of texts as a graph takes them: a column a token, the rest empty."""
    actual = [re.findall(r"\w\w+", (text or "").lower()) for text in texts]
    width = max(map(len, actual))
    return np.array([own + [""] * (width - len(own)) for own in actual], dtype=object)
