"""A page where one types a word and sees the words that predict it."""

from importlib.resources import files
from os import PathLike

from tamis.reporting.page.feature_table import script_safe
from tamis.reporting.page.formatting import counted, safe
from tamis.reporting.page.page import whole_page
from tamis.reporting.page.page_body import Sheet
from tamis.system.files import replacing
from tamis.system.terminal import without_secrets

DIGITS = 4


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
        Where to write it; a file that is there is replaced.
    lists : dict of {str: list of (str, float)}
        For each word the words that predict it with their weights, as `associations` gives them.
    title : str, default="Associations"
        Title of the page.
    facts : dict of {str: str} or None, default=None
        What else to tell: corpus, command, versions.

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
    places = {word: place for place, word in enumerate(words)}
    packed = {
        places[query]: [[places[word], round(weight, DIGITS)] for word, weight in entries]
        for query, entries in lists.items()
    }
    first = next((places[query] for query, entries in lists.items() if entries), 0)
    sheet = Sheet()
    sheet.section("words", "Type a word")
    sheet.raw(
        '<p><input id="association-word" type="search" autocomplete="off" spellcheck="false" '
        f'aria-label="Word" data-first="{first}"></p>'
    )
    sheet.raw(
        '<div id="association-near" aria-label="Words with a list"></div><h3 '
        'id="association-title" aria-live="polite"></h3>'
    )
    sheet.raw('<div class="scroll"><table><tbody id="association-list"></tbody></table></div>')
    said = (
        "Weights of a sparse regression of the word's column on those of all other words; a "
        "negative weight speaks against the word."
    )
    sheet.paragraph(
        f"{said} A word that stands for others that come with it may take their weight."
    )
    sheet.raw(
        '<script type="application/json" '
        f'id="association-data">{script_safe({"words": words, "lists": packed})}</script>'
    )
    if facts:
        sheet.section("making", "How this was made")
        sheet.pairs(
            [(safe(name), safe(without_secrets(value))) for name, value in facts.items()],
            "Corpus and settings.",
        )
    sheet.close()
    style, script = (
        (files("tamis.reporting.page") / f"association_page.{kind}").read_text(encoding="utf-8")
        for kind in ("css", "js")
    )
    text = whole_page(
        str(title),
        f"{counted(len(lists), 'word')} with the words that predict them.",
        sheet,
        style,
        script,
    )
    with replacing(path, "write") as file:
        file.write(text.encode("utf-8", "replace"))
