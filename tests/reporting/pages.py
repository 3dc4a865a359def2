"""Data for pages, and a parser of pages that checks nesting, ids and addresses."""

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
    """The elements of a page; parsing fails where elements are not nested."""

    def __init__(self, path):
        super().__init__(convert_charrefs=True)
        self.text = path.read_text(encoding="utf-8")
        self.open_tags, self.elements, self.text_of = [], [], {}
        self.feed(self.text)
        self.close()
        assert not self.open_tags, f"not closed: {self.open_tags}"

    def handle_starttag(self, tag, attributes):
        names = [name for name, _ in attributes]
        assert len(names) == len(set(names)), f"{tag} has an attribute twice: {names}"
        self.elements.append((tag, dict(attributes)))
        if tag not in VOID:
            self.open_tags.append((tag, len(self.elements) - 1))

    def handle_startendtag(self, tag, attributes):
        assert self.open_tags[0][0] == "html"
        self.elements.append((tag, dict(attributes)))

    def handle_endtag(self, tag):
        assert self.open_tags, f"</{tag}> closes nothing"
        assert self.open_tags[-1][0] == tag, f"</{tag}> closes <{self.open_tags[-1][0]}>"
        self.open_tags.pop()

    def handle_data(self, data):
        for _, number in self.open_tags:
            self.text_of[number] = self.text_of.get(number, "") + data

    def find_all(self, tag, **required):
        """Return the attributes of all elements with this tag and these attributes."""
        return [
            attributes
            for name, attributes in self.elements
            if name == tag and all(attributes.get(key) == value for key, value in required.items())
        ]

    def texts(self, tag, **required):
        """Return the texts inside all such elements."""
        return [
            self.text_of.get(number, "")
            for number, (name, attributes) in enumerate(self.elements)
            if name == tag and all(attributes.get(key) == value for key, value in required.items())
        ]

    def ids(self):
        return [attributes["id"] for _, attributes in self.elements if "id" in attributes]

    def with_class(self, tag, css_class):
        """Return the attributes of all elements of a tag that have a class."""
        return [
            attributes
            for attributes in self.find_all(tag)
            if css_class in (attributes.get("class") or "").split()
        ]

    def sections(self):
        return [attributes["id"] for attributes in self.find_all("section")]

    def data(self):
        """Return the columns of the table of kept features, by header."""
        (stored,) = self.texts("script", id="kept-data")
        table = json.loads(stored)
        headers = self.texts("span", role="button")
        assert len(headers) == len(table["kinds"]) == len(table["values"])
        return dict(zip(headers, table["values"], strict=True))

    def check(self):
        """Check what holds for every page: unique ids, links to ids, no resource from outside, no
        code outside of the script.
        """
        ids = self.ids()
        assert len(ids) == len(set(ids)), "an id occurs twice"
        for tag, attributes in self.elements:
            for name, value in attributes.items():
                assert not name.startswith("on"), f"{tag} has {name}"
                assert name != "style"
                if name in ("href", "src", "action", "xlink:href"):
                    assert value == "data:," or value[1:] in ids, f"{tag} leads to {value}"
                if name == "aria-labelledby":
                    assert value in ids
        assert not {"img", "iframe", "object", "embed", "form", "base"} & {
            tag for tag, _ in self.elements
        }
        assert "://" not in "".join(self.texts("style") + self.texts("script", id=None))
        assert "url(" not in self.text
        assert "@import" not in self.text
        for tag in ("svg", "table", "figcaption"):
            assert not [
                text
                for text in self.texts(tag)
                if "nan" in text.split() or "inf" in text.split() or "None" in text.split()
            ]
        for number in (
            value
            for _, attributes in self.elements
            for key, value in attributes.items()
            if key in ("cx", "cy", "x", "y", "d", "width", "height")
        ):
            assert "nan" not in number, number
            assert "inf" not in number, number
        return self
