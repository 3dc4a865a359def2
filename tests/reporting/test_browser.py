"""The page in a browser: search, sort, theme and tips, without console messages and without
requests other than the page.
"""

import numpy as np
import pytest
from cli.commands import tamis
from reporting.browser import Browser, find_browser
from reporting.pages import AUDIT, HISTORY
from reporting.test_page import HOSTILE, WideModel

from tamis import write_page
from tamis.reporting.page.plot_data import DOUBT

pytestmark = [
    pytest.mark.peer,
    pytest.mark.skipif(
        find_browser() is None, reason="no Chromium on this machine (chromium, google-chrome)"
    ),
]
FEATURE_NAMES = [*HOSTILE[:10], *(f"word {k}" for k in range(20_000 - 10))]
TEXTS_OUTSIDE = """font => [...document.querySelectorAll('svg')].flatMap(chart => {
    chart.style.fontFamily = font;
    const frame = chart.getBoundingClientRect();
    return [...chart.querySelectorAll('text')].filter(word => {
        const box = word.getBoundingClientRect();
        return box.left < frame.left - 1 || box.right > frame.right + 1
            || box.top < frame.top - 1 || box.bottom > frame.bottom + 1;
    }).map(word => word.textContent);
})"""
CELL_TEXTS = (
    "[...document.querySelectorAll('#kept tbody tr')].map(row => row.cells[{}].textContent)"
)


@pytest.fixture(scope="module")
def browser():
    with Browser() as opened:
        yield opened


@pytest.fixture
def tab(browser, request):
    """The browser; a console message or a request to the network fails the test."""
    yield browser
    assert browser.complaints() == []
    assert all(
        address.startswith("file:") and address.endswith(".html") for address in browser.requests()
    )
    assert len(browser.requests()) == 1


@pytest.fixture(scope="module")
def wide(tmp_path_factory):
    """A page of 20,000 kept features."""
    path = tmp_path_factory.mktemp("wide") / "page.html"
    model = WideModel(20_000)
    model.selection_probability_ = np.linspace(0.0, 1.0, 20_000)[None]
    write_page(
        path,
        title="Wide",
        model=model,
        names=FEATURE_NAMES,
        density=10.0 ** -(np.arange(20_000) % 9.0),
    )
    return path, model


@pytest.fixture(scope="module")
def full(tmp_path_factory, sieve, record, density):
    path = tmp_path_factory.mktemp("full") / "page.html"
    write_page(
        path,
        title="Full",
        audit=AUDIT,
        model=sieve,
        density=density,
        record=record,
        history=HISTORY,
        facts={"Seed": "0"},
    )
    return path


def type_in(tab, text):
    tab.ask(
        f"(() => {{ const box = document.getElementById('kept-search'); box.value = {text!r}; "
        f"box.dispatchEvent(new Event('input')); }})()"
    )


def press(tab, column):
    tab.ask(f"document.querySelectorAll('#kept .sort')[{column}].click()")


def test_search(tab, wide):
    path, _ = wide
    tab.open(path)
    assert len(tab.ask(CELL_TEXTS.format(2))) == 50
    type_in(tab, "WORD 1999")
    names = tab.ask(CELL_TEXTS.format(2))
    # Two names, and the column 1999.
    assert sorted(names) == ["word 11999", "word 1989", "word 1999"]
    assert (
        tab.ask("document.getElementById('kept-status').textContent")
        == f"1–{len(names)} of {len(names)} found among 20,000"
    )
    type_in(tab, "no such word")
    assert tab.ask(CELL_TEXTS.format(2)) == []
    assert tab.ask("document.getElementById('kept-status').textContent") == "Nothing found"
    type_in(tab, "")
    assert tab.ask("document.getElementById('kept-status').textContent") == "1–50 of 20,000"


def test_sort(tab, wide):
    path, model = wide
    weights = model.coef_[0]
    tab.open(path)
    columns = [int(text.replace(",", "")) for text in tab.ask(CELL_TEXTS.format(1))]
    assert columns == np.argsort(-np.abs(weights), kind="stable")[:50].tolist()  # as it was written
    press(tab, 4)
    press(tab, 4)
    assert (
        tab.ask("document.querySelectorAll('#kept th')[4].getAttribute('aria-sort')") == "ascending"
    )
    columns = [int(text.replace(",", "")) for text in tab.ask(CELL_TEXTS.format(1))]
    assert columns == np.argsort(np.abs(weights), kind="stable")[:50].tolist()
    press(tab, 3)
    assert set(tab.ask(CELL_TEXTS.format(3))) == {"+"}
    press(tab, 3)
    assert set(tab.ask(CELL_TEXTS.format(3))) == {"−"}
    press(tab, 5)
    assert tab.ask(CELL_TEXTS.format(5))[0] == "1.000"
    assert tab.ask("document.querySelectorAll('#kept th[aria-sort]').length") == 1
    press(tab, 1)
    assert tab.ask(CELL_TEXTS.format(1)) == [str(k) for k in range(50)]
    type_in(tab, "word 2")
    # The order stays.
    assert tab.ask(CELL_TEXTS.format(1)) == sorted(
        tab.ask(CELL_TEXTS.format(1)), key=lambda text: int(text.replace(",", ""))
    )


def test_features_that_were_seldom_selected_stay_marked(tab, wide):
    path, model = wide
    tab.open(path)
    press(tab, 1)
    press(tab, 4)
    columns = [int(text.replace(",", "")) for text in tab.ask(CELL_TEXTS.format(1))]
    marks = tab.ask("[...document.querySelectorAll('#kept .doubt')].map(mark => mark.title)")
    assert marks == [DOUBT] * int((model.selection_probability_[0, columns] < 0.5).sum())


def test_pages_of_the_table(tab, wide):
    path, _ = wide
    tab.open(path)
    first = tab.ask(CELL_TEXTS.format(0))
    assert tab.ask("document.getElementById('kept-back').disabled")
    tab.ask("document.getElementById('kept-next').click()")
    assert tab.ask(CELL_TEXTS.format(0)) == [str(k) for k in range(51, 101)]
    note = (
        "[getComputedStyle(document.getElementById('kept-note')).display, "
        "document.getElementById('kept-note').textContent]"
    )
    assert tab.ask(note) == ["none", "Rows 51–100 of 20,000."]
    tab.call("Emulation.setEmulatedMedia", media="print")
    assert tab.ask(note)[0] == "block"  # on paper the note says which rows are shown
    assert tab.ask("getComputedStyle(document.getElementById('kept-controls')).display") == "none"
    tab.call("Emulation.setEmulatedMedia", media="")
    tab.ask("document.getElementById('kept-back').click()")
    assert tab.ask(CELL_TEXTS.format(0)) == first == [str(k) for k in range(1, 51)]


def test_numbers_read_the_same_with_and_without_the_script(tab, wide):
    path, _ = wide
    tab.open(path)
    table_text = "document.querySelector('#kept tbody').innerText"
    with_script = tab.ask(table_text)
    tab.call("Emulation.setScriptExecutionDisabled", value=True)
    tab.open(path)
    without_script = tab.ask(table_text)
    assert tab.ask("document.getElementById('theme').hidden")
    tab.call("Emulation.setScriptExecutionDisabled", value=False)
    assert with_script == without_script
    assert "1.0e−8" in without_script  # a fraction that would read as zero


def test_hostile_names_are_shown_as_words(tab, wide):
    path, _ = wide
    tab.open(path)
    for name in (HOSTILE[0], HOSTILE[1], HOSTILE[3]):
        type_in(tab, name)
        assert tab.ask(CELL_TEXTS.format(2)) == [name]
    assert tab.ask("document.scripts.length") == 2


def test_keys_sort_too(tab, full):
    tab.open(full)
    tab.ask("document.querySelectorAll('#kept .sort')[1].focus()")
    for kind in ("keyDown", "keyUp"):
        tab.call(
            "Input.dispatchKeyEvent",
            type=kind,
            key="Enter",
            code="Enter",
            windowsVirtualKeyCode=13,
            text="\r" if kind == "keyDown" else "",
        )
    assert (
        tab.ask("document.querySelectorAll('#kept th')[1].getAttribute('aria-sort')") == "ascending"
    )


@pytest.mark.parametrize(("scheme", "other_scheme"), [("light", "dark"), ("dark", "light")])
def test_theme(tab, full, scheme, other_scheme):
    tab.open(full, scheme=scheme)
    background = "getComputedStyle(document.documentElement).backgroundColor"
    before = tab.ask(background)
    assert tab.ask("document.getElementById('theme').textContent").lower() == other_scheme
    tab.ask("document.getElementById('theme').click()")
    after = tab.ask(background)
    assert {before, after} == {"rgb(255, 254, 251)", "rgb(22, 24, 27)"}
    assert tab.ask("document.getElementById('theme').textContent").lower() == scheme
    tab.open(full, scheme=scheme)  # nothing is remembered
    assert tab.ask(background) == before


@pytest.mark.parametrize("width", [1280, 390])
def test_nothing_is_wider_than_the_screen_or_empty(tab, full, width):
    tab.open(full, width=width, mobile=width < 500)
    assert tab.ask("document.documentElement.scrollWidth") <= width
    assert tab.ask(
        "[...document.querySelectorAll('svg')].every(chart => chart.getBoundingClientRect().width "
        "> 200)"
    )
    for font in ("", "'DejaVu Sans'", "'Liberation Serif'"):  # where the page's own are missing
        assert tab.ask(f"({TEXTS_OUTSIDE})({font!r})") == []
    assert tab.ask(
        "[...document.querySelectorAll('svg')].every(chart => chart.querySelector('circle, rect, "
        ".line'))"
    )


def test_a_phone_shows_tables_line_by_line(tab, tmp_path):
    """Names, signs and values of a table are on the screen, without scrolling to the side."""
    rng = np.random.default_rng(0)
    x = rng.normal(size=400)
    twin = [f"{v:.3f}" for v in x + 0.01 * rng.normal(size=400)]
    cities = rng.choice(["Aachen in the west", "Bonn", "Ulm on the Danube"], 400)
    lines = [f"{v:.3f},{n},{c},{v > 0}" for v, n, c in zip(x, twin, cities, strict=True)]
    (tmp_path / "a.csv").write_text("size,twin,city,y\n" + "\n".join(lines) + "\n")
    (tmp_path / "b.csv").write_text("size,twin,city,y\n" + "\n".join(lines[:200]) + "\n")
    options = ["--test", "b.csv", "--report", "page.html"]
    assert tamis("fit", "a.csv", *options, cwd=tmp_path).code == 0
    tab.open(tmp_path / "page.html", width=390, mobile=True)
    right_edge_query = (
        "[...document.querySelectorAll('{}')].map(e => e.getBoundingClientRect().right)"
    )
    for cells in (".stacked td:not(:empty)", "#kept td:nth-child(3)", "#kept td:nth-child(5)"):
        right_edges = tab.ask(right_edge_query.format(cells))
        assert right_edges
        assert max(right_edges) <= 390
    assert tab.ask("getComputedStyle(document.querySelector('#kept td:nth-child(2)')).display") == (
        "none"
    )


def test_tips(tab, full):
    tab.open(full)
    position = tab.ask("""(async () => {
        const dot = document.querySelector('circle[data-tip]');
        dot.scrollIntoView({ block: 'center' });
        for (let frame = 0; frame < 3; frame++)  // until the scroll event has come
            await new Promise(requestAnimationFrame);
        const box = dot.getBoundingClientRect();
        return [box.x + box.width / 2, box.y + box.height / 2, dot.dataset.tip];
    })()""")
    tab.call("Input.dispatchMouseEvent", type="mouseMoved", x=position[0], y=position[1])
    assert tab.ask("document.getElementById('tip').hidden") is False
    assert tab.ask("document.getElementById('tip').textContent") == position[2]
    tab.call("Input.dispatchMouseEvent", type="mouseMoved", x=2, y=2)
    assert tab.ask("document.getElementById('tip').hidden") is True
