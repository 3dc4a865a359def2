"""Material for pages, and a page taken apart: nesting, ids, addresses, data."""

import json
from html.parser import HTMLParser

AUDIT = {
    "files": ["a.svm", "b.svm.gz"],
    "format": "svmlight",
    "rows": 400,
    "features": 300,
    "nonzeros": 12345,
    "density": 0.1028,
    "labels": {"ham": 210, "spam": 190},
    "bad": {"count": 2, "first": ["a.svm, line 3: 'x' is no number", "b.svm.gz, line 9: index 0"]},
    "memory_bytes": 3_500_000,
    "file_bytes": 2_200_000,
    "suggested": "sieve",
}
HISTORY = [
    {"rows": 100 * k, "loss": 1.0 / k, "error": 0.5 / k, "nonzeros": 300 // k} for k in range(1, 6)
]
VOID = {"meta", "link", "br", "input"}


class Page(HTMLParser):
    """Elements of a page; raises where something is not closed as it was opened."""

    def __init__(self, path):
        super().__init__(convert_charrefs=True)
        self.text = path.read_text(encoding="utf-8")
        self.open, self.elements, self.words = [], [], {}
        self.feed(self.text)
        self.close()
        assert not self.open, f"never closed: {self.open}"

    def handle_starttag(self, tag, attributes):
        names = [name for name, _ in attributes]
        assert len(names) == len(set(names)), f"{tag} has an attribute twice: {names}"
        self.elements.append((tag, dict(attributes)))
        if tag not in VOID:
            self.open.append((tag, len(self.elements) - 1))

    def handle_startendtag(self, tag, attributes):
        assert self.open[0][0] == "html"
        self.elements.append((tag, dict(attributes)))

    def handle_endtag(self, tag):
        assert self.open, f"</{tag}> closes nothing"
        assert self.open[-1][0] == tag, f"</{tag}> closes <{self.open[-1][0]}>"
        self.open.pop()

    def handle_data(self, data):
        for _, number in self.open:
            self.words[number] = self.words.get(number, "") + data

    def all(self, tag, **wanted):
        """Attributes of all elements with this tag and these attributes."""
        return [
            found
            for name, found in self.elements
            if name == tag and all(found.get(key) == value for key, value in wanted.items())
        ]

    def said(self, tag, **wanted):
        """Words inside all such elements."""
        return [
            self.words.get(number, "")
            for number, (name, found) in enumerate(self.elements)
            if name == tag and all(found.get(key) == value for key, value in wanted.items())
        ]

    def ids(self):
        return [found["id"] for _, found in self.elements if "id" in found]

    def classes(self, tag, kind):
        """Elements of a tag that have a class among theirs."""
        return [found for found in self.all(tag) if kind in (found.get("class") or "").split()]

    def sections(self):
        return [found["id"] for found in self.all("section")]

    def data(self):
        """Columns of the table of kept features, by their heads."""
        (stored,) = self.said("script", id="kept-data")
        table = json.loads(stored)
        heads = self.said("span", role="button")
        assert len(heads) == len(table["kinds"]) == len(table["values"])
        return dict(zip(heads, table["values"], strict=True))

    def check(self):
        """What is true of every page: unique ids, links that lead somewhere, nothing from outside,
        nothing that runs but the script.
        """
        ids = self.ids()
        assert len(ids) == len(set(ids)), "an id stands twice"
        for tag, found in self.elements:
            for name, value in found.items():
                assert not name.startswith("on"), f"{tag} has {name}"
                assert name != "style"
                if name in ("href", "src", "action", "xlink:href"):
                    assert value == "data:," or value[1:] in ids, f"{tag} leads to {value}"
                if name == "aria-labelledby":
                    assert value in ids
        assert not {"img", "iframe", "object", "embed", "form", "base"} & {
            tag for tag, _ in self.elements
        }
        assert "://" not in "".join(self.said("style") + self.said("script", id=None))
        assert "url(" not in self.text
        assert "@import" not in self.text
        for tag in ("svg", "table", "figcaption"):
            assert not [
                words
                for words in self.said(tag)
                if "nan" in words.split() or "inf" in words.split() or "None" in words.split()
            ]
        for number in (
            value
            for _, found in self.elements
            for key, value in found.items()
            if key in ("cx", "cy", "x", "y", "d", "width", "height")
        ):
            assert "nan" not in number, number
            assert "inf" not in number, number
        return self
