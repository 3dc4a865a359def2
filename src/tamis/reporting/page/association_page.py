"""A page of word associations: one types a word and sees the words that predict it."""

from importlib.resources import files
from os import PathLike

from tamis.reporting.page.feature_table import script_json
from tamis.reporting.page.formatting import count_noun, escape
from tamis.reporting.page.page import render_page
from tamis.reporting.page.page_body import PageBody
from tamis.system.files import atomic_writer
from tamis.system.terminal import without_secrets


def write_association_page(
    path: str | PathLike,
    lists: dict[str, list[tuple[str, float]]],
    *,
    title: str = "Associations",
    facts: dict[str, str] | None = None,
) -> None:
    """Write one HTML page on which one types a word and sees the words that predict it.

    The page needs no network and no other file: all lists are inside. The words of a list can be
    followed to their own lists.

    Parameters
    ----------
    path : str or path-like
        Where to write it. An existing file is replaced.
    lists : dict of {str: list of (str, float)}
        For each word the words that predict it with their weights, as `associations` gives them.
    title : str, default="Associations"
        Title of the page.
    facts : dict of {str: str} or None, default=None
        Further facts to show: corpus, command, versions.

    See Also
    --------
    associations : Makes the lists.
    write_page : A page about a model.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> from tamis import write_association_page
    >>> lists = {"ship": [("sea", 0.5), ("wave", 0.3)], "sea": [("ship", 0.6)]}
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     page = Path(folder) / "words.html"
    ...     write_association_page(page, lists, title="The sea")
    ...     "<h1>The sea</h1>" in page.read_text(encoding="utf-8")
    True
    """
    if not lists:
        raise ValueError("a page of associations needs at least one list; lists is empty.")
    words = list(
        dict.fromkeys([*lists, *(word for entries in lists.values() for word, _ in entries)])
    )
    index = {word: k for k, word in enumerate(words)}
    indexed_lists = {
        index[query]: [[index[word], round(weight, 4)] for word, weight in entries]
        for query, entries in lists.items()
    }
    first = next((index[query] for query, entries in lists.items() if entries), 0)
    data = script_json({"words": words, "lists": indexed_lists})
    body = PageBody()
    body.add_section("words", "Type a word")
    body.add_html(
        '<p><input id="association-word" type="search" autocomplete="off" spellcheck="false" '
        f'aria-label="Word" data-first="{first}"></p>'
    )
    body.add_html(
        '<div id="association-near" aria-label="Words with a list"></div><h3 '
        'id="association-title" aria-live="polite"></h3>'
    )
    body.add_html('<div class="scroll"><table><tbody id="association-list"></tbody></table></div>')
    body.add_paragraph(
        "Weights of a sparse regression of the word's column on those of all other words; a "
        "negative weight speaks against the word. Of words that occur together, one may take the "
        "weight of the others."
    )
    body.add_html(f'<script type="application/json" id="association-data">{data}</script>')
    if facts:
        body.add_section("making", "How this was made")
        body.add_pairs(
            [(escape(name), escape(without_secrets(value))) for name, value in facts.items()],
            "Corpus and settings.",
        )
    body.close()
    style, script = (
        (files("tamis.reporting.page") / f"association_page.{suffix}").read_text(encoding="utf-8")
        for suffix in ("css", "js")
    )
    abstract = f"{count_noun(len(lists), 'word')} with the words that predict them."
    text = render_page(str(title), abstract, body, style, script)
    with atomic_writer(path, "write") as file:
        file.write(text.encode("utf-8", "replace"))
