"""Chapter 4: words that predict a word."""

import functools
import time
from pathlib import Path

from benchmarks.papers.stabilized.page import pipe
from tamis.datasets import load_bag_of_words
from tamis.methods.low_rank_lasso.associations import Corpus

CORPORA = {
    "kos": (
        "kos_bow.npz",
        ("iraq", "kerry", "poll", "tax", "marriage", "oil", "senate", "health", "media", "dean"),
    ),
    "nips": (
        "nips_bow_7605.npz",
        (
            "kernel",
            "neuron",
            "speech",
            "reinforcement",
            "bayesian",
            "visual",
            "robot",
            "chip",
            "entropy",
            "tree",
        ),
    ),
    "nytimes": (
        "docword.nytimes.txt*",
        (
            "music",
            "film",
            "stock",
            "court",
            "computer",
            "religion",
            "war",
            "school",
            "food",
            "health",
        ),
    ),
    "pubmed": (
        "docword.pubmed.txt*",
        (
            "diabetes",
            "asthma",
            "cancer",
            "arthritis",
            "parkinson",
            "lung",
            "skin",
            "brain",
            "heart",
            "virus",
        ),
    ),
}


def words(path: Path, queries, rank: int = 50) -> dict:
    """Lists of the queries that are in the corpus, and seconds in all."""
    X, terms = load_bag_of_words(path)
    begin = time.process_time()
    corpus = Corpus(X, terms, rank, dtype="float32" if X.nnz > 10**7 else "float64")
    asked = [query for query in queries if query in corpus.places]
    lists = corpus.answer(asked)
    seconds = time.process_time() - begin
    signed = {
        query: [word if weight > 0.0 else f"−{word}" for word, weight in found]
        for query, found in lists.items()
    }
    return {"lists": signed, "seconds": seconds, "shape": list(X.shape), "rank": rank}


def cells(folder: Path | None, quick: bool) -> dict:
    """All corpora whose files are there."""
    found: dict = {}
    if folder is None:
        return found
    for name, (pattern, queries) in CORPORA.items():
        for path in [path for path in sorted(folder.glob(pattern)) if not quick or name == "kos"][
            :1
        ]:
            found[f"words of {name}"] = functools.partial(words, path, queries)
    return found


def write(found: dict) -> list[str]:
    """Tables 4.1 and 4.2: queries as heads, their words below."""
    lines = [
        "## Words that predict a word",
        "",
        "Ten words of largest weight, robustness 0.1, radius 1, counts weighed by tf-idf. A minus "
        "marks words that speak against.",
        "",
    ]
    for name in CORPORA:
        cell = found.get(f"words of {name}")
        if cell is None:
            continue
        size = f"{cell['shape'][0]:,} documents, {cell['shape'][1]:,} words, rank {cell['rank']}"
        lines += [
            f"### {name} ({size}; {len(cell['lists'])} queries in {cell['seconds']:.1f} s)",
            "",
        ]
        queries = list(cell["lists"])
        for at in range(0, len(queries), 5):
            part = queries[at : at + 5]
            rows = [
                [cell["lists"][q][k] if k < len(cell["lists"][q]) else "" for q in part]
                for k in range(10)
            ]
            lines += pipe([f"**{query}**" for query in part], rows)
    missing = [name for name in ("nytimes", "pubmed") if f"words of {name}" not in found]
    if missing:
        lines += [
            f"Not at hand: {', '.join(missing)}. With `docword.*.txt` and `vocab.*.txt` in the "
            "folder the same command makes their tables.",
            "",
        ]
    return lines


def judge(found: dict) -> list[str]:
    """How long the queries took."""
    lines = []
    for name in CORPORA:
        cell = found.get(f"words of {name}")
        if cell is not None:
            lines.append(
                f"- Words of {name}: {len(cell['lists'])} queries in {cell['seconds']:.1f} s, "
                "factorisation included."
            )
    return lines
