"""``tamis associate``: words that predict a word, as a table, as JSON, or as a page."""

import argparse
import shlex

import numpy as np

from tamis.cli.messages import print_line, print_note
from tamis.cli.methods import UsageError
from tamis.cli.output import print_json, print_table
from tamis.data.bag import read_bag
from tamis.methods.low_rank_lasso.associations import Corpus


def run(args: argparse.Namespace) -> None:
    """Read the corpus, factor it, and print the words that predict each query."""
    if not args.query and not args.page:
        raise UsageError("nothing to do: name words with --query, or a page with --page.")
    X, terms = read_bag(args.corpus, args.vocabulary)
    corpus = Corpus(
        X, terms, args.components, args.weighting, dtype=args.dtype, random_state=args.seed
    )
    settings = {
        "top": args.top,
        "radius": args.radius,
        "robustness": args.robustness,
        "n_jobs": args.threads or -1,
    }
    associations = corpus.answer(args.query, **settings)
    facts = {
        "corpus": str(args.corpus),
        "documents": X.shape[0],
        "words": X.shape[1],
        "components": corpus.factors.n_components_,
        "error": corpus.factors.error_upper_,
    }
    if args.page:
        _write_page(args, corpus, associations, settings, facts)
    if args.json:
        answers = {
            query: [{"word": word, "weight": weight} for word, weight in words]
            for query, words in associations.items()
        }
        print_json({**facts, "associations": answers, "page": args.page})
        return
    if associations:
        _print_associations(associations, args.top)
    if args.page:
        print_line(f"page: {args.page}")


def _print_associations(associations: dict, top: int, queries_per_table: int = 6) -> None:
    """Print the words of each query in one column, a few queries a table."""
    queries = list(associations)
    for start in range(0, len(queries), queries_per_table):
        header = queries[start : start + queries_per_table]
        lists = [associations[query] for query in header]
        n_lines = min(max((len(words) for words in lists), default=0), top)
        lines = [
            [f"{words[k][0]} {words[k][1]:+.2f}" if k < len(words) else "" for words in lists]
            for k in range(n_lines)
        ]
        print_table(header, lines or [["-"] * len(header)], n_left=len(header))


def _format_fact(value: object) -> str:
    """Return a fact of the page as text."""
    if isinstance(value, int):
        return f"{value:,}"
    return f"{value:.4g}" if isinstance(value, float) else str(value)


def _write_page(args, corpus: Corpus, associations: dict, settings: dict, facts: dict) -> None:
    """Write a page with the lists of the queries and of the most frequent words."""
    from tamis.reporting.page.association_page import write_association_page

    by_frequency = np.argsort(-corpus.document_counts, kind="stable")[: args.frequent]
    frequent = [
        corpus.terms[column]
        for column in by_frequency
        if corpus.places[corpus.terms[column]] == column and corpus.squares[column] > 0.0
    ]
    words = list(dict.fromkeys([*args.query, *frequent]))
    print_note(f"making the lists of {len(words):,} words")
    formatted = {name: _format_fact(value) for name, value in facts.items()}
    formatted["command"] = shlex.join(args.command_line)
    write_association_page(
        args.page,
        associations | corpus.answer(words, **settings),
        title=args.title or "Associations",
        facts=formatted,
    )
