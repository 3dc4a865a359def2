"""A page while it grows: sections, figures and tables with their numbers and ids."""

from collections.abc import Collection

from tamis.reporting.page.formatting import safe


class Sheet:
    """Collects the body of a page; figures and tables are numbered as they come."""

    def __init__(self):
        self.parts: list[str] = []
        self.sections: list[tuple[str, str]] = []
        self.counts = {"Figure": 0, "Table": 0}

    def section(self, key: str, title: str) -> None:
        """Open a section, closing the one before."""
        self.close()
        self.sections.append((key, title))
        self.parts.append(f'<section id="{key}"><h2>{len(self.sections)}. {safe(title)}</h2>')

    def close(self) -> None:
        """Close the open section, if any."""
        if self.sections and self.parts[-1] != "</section>":
            self.parts.append("</section>")

    def paragraph(self, markup: str) -> None:
        """A paragraph of text that is HTML already."""
        self.parts.append(f"<p>{markup}</p>")

    def figure(self, charts: list[str], caption: str) -> None:
        """Charts side by side (one below the other on a phone) and what they show, in HTML."""
        kind = "panels" if len(charts) > 1 else "panels single"
        label = self._label("Figure")
        self.parts.append(
            f'<figure id="{label.lower().replace(" ", "-")}"><div '
            f'class="{kind}">{"".join(charts)}</div>'
        )
        self.parts.append(f"<figcaption><b>{label}.</b> {caption}</figcaption></figure>")

    def table(
        self,
        head: list[str],
        lines: list[list[str]],
        caption: str,
        numbers: Collection[int] = (),
        key: str = "",
        kind: str = "",
    ) -> None:
        """A table of HTML cells, its caption above; columns in `numbers` stand to the right."""
        label = self._label("Table")
        heads = "".join(
            _cell("th", text, k in numbers, ' scope="col"') for k, text in enumerate(head)
        )
        body = "".join(
            "<tr>"
            + "".join(_cell("td", text, k in numbers) for k, text in enumerate(line))
            + "</tr>"
            for line in lines
        )
        named = f' id="{key}"' if key else f' id="{label.lower().replace(" ", "-")}"'
        looks = f' class="{kind}"' if kind else ""
        top = f"<thead><tr>{heads}</tr></thead>" if head else ""
        # The caption stands outside what scrolls, so that a phone shows all of it.
        said = f"caption-{self.counts['Table']}"
        self.parts.append(
            f'<figure class="table"><figcaption id="{said}"><b>{label}.</b> {caption}</figcaption>'
        )
        self.parts.append(
            f'<div class="scroll"><table{named}{looks} '
            f'aria-labelledby="{said}">{top}<tbody>{body}</tbody></table></div></figure>'
        )

    def pairs(self, lines: list[tuple[str, str]], caption: str) -> None:
        """A table of names and values, both HTML."""
        self.table([], [list(line) for line in lines], caption, kind="pairs")

    def raw(self, markup: str) -> None:
        """HTML as it is."""
        self.parts.append(markup)

    def _label(self, kind: str) -> str:
        self.counts[kind] += 1
        return f"{kind} {self.counts[kind]}"


def _cell(tag: str, text: str, number: bool, more: str = "") -> str:
    return f'<{tag}{more} class="n">{text}</{tag}>' if number else f"<{tag}{more}>{text}</{tag}>"
