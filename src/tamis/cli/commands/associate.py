"""``tamis associate``: words that predict a word, as a table, as JSON, or as a page."""

import argparse
import shlex

import numpy as np

from tamis.cli.messages import note, say
from tamis.cli.methods import UsageError
from tamis.cli.output import print_json, table
from tamis.data.bag import read_bag
from tamis.methods.low_rank_lasso.words import Corpus


def run(given: argparse.Namespace) -> None:
    """Read the corpus, factor it, answer, show."""
    if not given.query and not given.page:
        raise UsageError("nothing to answer: name words with --query, or a page with --page.")
    X, terms = read_bag(given.corpus, given.vocabulary)
    corpus = Corpus(
        X, terms, given.components, given.weighting, dtype=given.dtype, random_state=given.seed
    )
    settings = {
        "top": given.top,
        "radius": given.radius,
        "robustness": given.robustness,
        "n_jobs": given.threads or -1,
    }
    lists = corpus.answer(given.query, **settings)
    facts = {
        "corpus": str(given.corpus),
        "documents": X.shape[0],
        "words": X.shape[1],
        "components": corpus.factors.n_components_,
    }
    facts["error"] = corpus.factors.error_upper_
    if given.page:
        _page(given, corpus, lists, settings, facts)
    if given.json:
        answers = {
            query: [{"word": word, "weight": weight} for word, weight in words]
            for query, words in lists.items()
        }
        print_json({**facts, "associations": answers, "page": given.page})
        return
    if lists:
        _table(lists, given.top)
    if given.page:
        say(f"page: {given.page}")


def _table(lists: dict, top: int) -> None:
    """One column a query, a few queries a table."""
    queries = list(lists)
    for at in range(0, len(queries), 6):
        part = queries[at : at + 6]
        deep = max((len(lists[query]) for query in part), default=0)
        cell = [
            [f"{lists[q][k][0]} {lists[q][k][1]:+.2f}" if k < len(lists[q]) else "" for q in part]
            for k in range(min(deep, top))
        ]
        table(part, cell or [["-"] * len(part)], left=len(part))


def _told(value: object) -> str:
    """A fact as it is shown."""
    if isinstance(value, int):
        return f"{value:,}"
    return f"{value:.4g}" if isinstance(value, float) else str(value)


def _page(given, corpus: Corpus, lists: dict, settings: dict, facts: dict) -> None:
    """Lists of the queries and of the most frequent words, on a page."""
    from tamis.reporting.page.rank_page import write_association_page

    often = np.argsort(-corpus.rows_with, kind="stable")[: given.frequent]
    frequent = [
        corpus.terms[column]
        for column in often
        if corpus.places[corpus.terms[column]] == column and corpus.squares[column] > 0.0
    ]
    asked = list(dict.fromkeys([*given.query, *frequent]))
    note(f"making the lists of {len(asked):,} words")
    told = {name: _told(value) for name, value in facts.items()}
    told["command"] = shlex.join(given.words)
    write_association_page(
        given.page,
        lists | corpus.answer(asked, **settings),
        title=given.title or "Associations",
        facts=told,
    )
