"""The body of a page: sections, figures and tables, with their numbers and ids."""

from collections.abc import Collection

from tamis.reporting.page.formatting import escape


class PageBody:
    """Collects the HTML of a page; sections, figures and tables are numbered in order."""

    def __init__(self):
        self.fragments: list[str] = []
        self.sections: list[tuple[str, str]] = []
        self.counts = {"Figure": 0, "Table": 0}

    def add_section(self, key: str, title: str) -> None:
        """Open a section with an id and a title, and close the section before it."""
        self.close()
        self.sections.append((key, title))
        self.fragments.append(f'<section id="{key}"><h2>{len(self.sections)}. {escape(title)}</h2>')

    def close(self) -> None:
        """Close the open section, if any."""
        if self.sections and self.fragments[-1] != "</section>":
            self.fragments.append("</section>")

    def add_paragraph(self, markup: str) -> None:
        """Add a paragraph of HTML."""
        self.fragments.append(f"<p>{markup}</p>")

    def add_figure(self, charts: list[str], caption: str) -> None:
        """Add charts side by side (in one column on a phone) with a caption in HTML."""
        css_class = "panels" if len(charts) > 1 else "panels single"
        label = self._next_label("Figure")
        self.fragments.append(
            f'<figure id="{label.lower().replace(" ", "-")}"><div '
            f'class="{css_class}">{"".join(charts)}</div>'
        )
        self.fragments.append(f"<figcaption><b>{label}.</b> {caption}</figcaption></figure>")

    def add_table(
        self,
        header: list[str],
        lines: list[list[str]],
        caption: str,
        numeric: Collection[int] = (),
        key: str = "",
        css_class: str = "",
    ) -> None:
        """Add a table of HTML cells below its caption; columns in `numeric` are right-aligned."""
        label = self._next_label("Table")
        header_cells = "".join(
            _cell("th", text, k in numeric, ' scope="col"') for k, text in enumerate(header)
        )
        body = "".join(
            "<tr>"
            + "".join(_cell("td", text, k in numeric) for k, text in enumerate(line))
            + "</tr>"
            for line in lines
        )
        table_id = key or label.lower().replace(" ", "-")
        classes = f' class="{css_class}"' if css_class else ""
        head = f"<thead><tr>{header_cells}</tr></thead>" if header else ""
        # The caption stands outside of the part that scrolls, so that a phone shows all of it.
        caption_id = f"caption-{self.counts['Table']}"
        self.fragments.append(
            f'<figure class="table"><figcaption id="{caption_id}"><b>{label}.</b> '
            f"{caption}</figcaption>"
        )
        self.fragments.append(
            f'<div class="scroll"><table id="{table_id}"{classes} '
            f'aria-labelledby="{caption_id}">{head}<tbody>{body}</tbody></table></div></figure>'
        )

    def add_pairs(self, pairs: list[tuple[str, str]], caption: str) -> None:
        """Add a table of names and values, both in HTML."""
        self.add_table([], [list(pair) for pair in pairs], caption, css_class="pairs")

    def add_html(self, markup: str) -> None:
        """Add HTML."""
        self.fragments.append(markup)

    def _next_label(self, kind: str) -> str:
        self.counts[kind] += 1
        return f"{kind} {self.counts[kind]}"


def _cell(tag: str, text: str, is_numeric: bool, attributes: str = "") -> str:
    css_class = ' class="n"' if is_numeric else ""
    return f"<{tag}{attributes}{css_class}>{text}</{tag}>"
