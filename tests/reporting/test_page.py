"""The page: sections where there is material, true figures, hostile names, the same bytes, one file
written whole.
"""

import copy
import os
import re
import warnings

import numpy as np
import pytest
from processes import run_process
from reporting.pages import AUDIT, HISTORY, Page
from sklearn.base import BaseEstimator

import tamis
from tamis import selection_kappa, write_page
from tamis.reporting.page import feature_table, plot_data
from tamis.reporting.page.held_out_error import held_out_error, size_paths
from tamis.reporting.page.svg import Panel, Scale
from tamis.system import files as _disk

pytestmark = pytest.mark.quick

ALL = ["verdict", "features", "selection", "training", "data", "methods", "stability", "making"]
WORDS = [f"word {k}" for k in range(300)]


@pytest.fixture
def made(tmp_path):
    """Write a page and take it apart."""

    def make(**material):
        path = tmp_path / "page.html"
        write_page(path, **({"title": "A page"} | material))
        return Page(path).check()

    return make


# --------------------------------------------------------------------------- sections
def test_everything_in_one_page(made, sieve, record, density):
    page = made(
        audit=AUDIT,
        model=sieve,
        names=WORDS,
        density=density,
        record=record,
        history=HISTORY,
        facts={"Seed": "7"},
    )
    assert page.sections() == ALL
    assert [link["href"] for link in page.all("a")] == [f"#{key}" for key in ALL]
    captions = page.said("figcaption")
    assert [one.split(".")[0] for one in captions if one.startswith("Figure")] == [
        f"Figure {k}" for k in range(1, 7)
    ]
    assert [one.split(".")[0] for one in captions if one.startswith("Table")] == [
        f"Table {k}" for k in range(1, 6)
    ]
    assert len(page.all("svg")) == 1 + 2 + 2 + 1 + 4 + 1


@pytest.mark.parametrize(
    ("material", "sections"),
    [
        ({}, []),
        ({"audit": AUDIT}, ["data"]),
        ({"history": HISTORY}, ["training"]),
        ({"facts": {"Seed": "1"}}, ["making"]),
        ({"audit": {}, "history": [], "facts": {}}, []),
    ],
)
def test_sections_appear_only_with_their_material(made, material, sections):
    page = made(**material)
    assert page.sections() == sections
    assert page.said("h1") == ["A page"]


def test_models_show_what_they_have(made, sieve, stabilized, many):
    own = ["features", "selection", "training", "making"]
    assert (sieve.selection_probability_[0, sieve.support_] == 1.0).all()
    assert made(model=sieve).sections() == ["verdict", *own[:1], *own[2:]]  # nothing to draw
    assert made(model=stabilized).sections() == own
    assert made(model=many).sections() == ["features", "training", "making"]


def test_a_record_alone(made, record):
    assert made(record=record).sections() == ["methods", "stability", "making"]
    bare = tamis.Record.from_dict(record.to_dict())
    bare.runs = []
    assert made(record=bare).sections() == ["methods", "making"]


# --------------------------------------------------------------------------- figures are true
def test_the_table_holds_the_weights(made, sieve, density):
    page = made(model=sieve, names=WORDS, density=density)
    table, coef = page.data(), sieve.coef_[0]
    assert sorted(table["column"]) == sieve.support_.tolist()
    assert table["name"] == [WORDS[j] for j in table["column"]]
    np.testing.assert_allclose(table["weight"], coef[table["column"]], rtol=1e-5)
    np.testing.assert_allclose(
        table["probability"], sieve.selection_probability_[0, table["column"]]
    )
    np.testing.assert_allclose(table["density"], density[table["column"]], rtol=1e-5)
    assert table["rank"] == list(range(1, len(sieve.support_) + 1))
    importance = sieve.importance_[0, table["column"]]
    np.testing.assert_allclose(table["importance"], importance / importance.max(), rtol=1e-5)
    assert (np.diff(importance) <= 0).all()
    assert "the most important first" in " ".join(page.said("figcaption"))
    body = page.said("table", id="kept")[0]
    assert all(WORDS[j] in body for j in sieve.support_[:50])
    signs = [
        found["class"] for found in page.all("span") if found.get("class") in ("plus", "minus")
    ]
    assert signs == ["minus" if w < 0 else "plus" for w in table["weight"]][:50]
    assert "speaks for class spam" in page.text.replace("<bdi>", "").replace("</bdi>", "")


def test_several_classes_have_a_row_a_weight(made, many):
    page, coef = made(model=many, names=WORDS), many.coef_
    table = page.data()
    assert "importance" not in table
    assert (np.diff(np.abs(table["weight"])) <= 0).all()
    assert "the largest weight first" in " ".join(page.said("figcaption"))
    assert len(table["weight"]) == np.count_nonzero(coef)
    at = [many.classes_.tolist().index(label) for label in table["class"]]
    np.testing.assert_allclose(table["weight"], coef[at, table["column"]], rtol=1e-5)


def test_stabilized_classes(made, text):
    X, _ = text
    model = tamis.StabilizedSGDClassifier(n_paths=2, max_iter=2, random_state=0).fit(
        X, np.arange(400) % 3
    )
    page = made(model=model)
    assert len(page.classes("path", "several")) == 6  # three classes, loss and features kept
    table = page.data()
    at = np.array([int(label) for label in table["class"]])
    np.testing.assert_allclose(
        table["probability"], model.selection_probability_[at, table["column"]], rtol=1e-5
    )


@pytest.mark.parametrize("per_class", [False, True])
def test_sieves_of_several_classes(made, text, kinds, per_class):
    X, _ = text
    model = tamis.SieveClassifier(per_class=per_class, random_state=0).fit(X, kinds)
    page = made(model=model)
    assert len(page.all("svg", **{"aria-label": "Choice of size"})) == (3 if per_class else 1)
    assert len(page.data()["weight"]) == np.count_nonzero(model.coef_)


def test_numbers_and_selectors(made, text):
    X, y = text
    model = tamis.SieveRegressor(random_state=0).fit(X, 3.0 * X[:, 5] + 0.01 * y)
    page = made(model=model)
    assert "held-out error, 1 − R²" in page.text
    explained = f"{1.0 - model.error_:.3f} ± {model.standard_error_:.3f}"
    (first,) = page.said("p", **{"class": "first"})
    assert first.startswith("R2 ")
    assert f": {explained} (" in first
    selector = tamis.StabilitySelector(
        tamis.RDAClassifier(max_iter=1, tol=None),
        n_pairs=5,
        n_selected=20,
        threshold=0.6,
        random_state=0,
    ).fit(X, y)
    page = made(model=selector)
    table = page.data()
    assert "weight" not in table
    assert sorted(table["column"]) == selector.support_.tolist()
    assert (np.diff(table["probability"]) <= 0).all()
    assert "threshold 0.6" in page.text
    assert len(page.classes("circle", "kept")) == len(selector.support_)


def test_chart_of_sizes_has_a_point_a_size(made, sieve):
    """All but the last, which is none and has no place on a logarithmic axis."""
    page, ladder = made(model=sieve), sieve.sizes_
    dots = [dot for dot in page.classes("circle", "kept") if "features:" in dot["data-tip"]]
    tips, many = [dot["data-tip"] for dot in dots], len(ladder["size"]) - 1
    assert ladder["size"][-1] == 0
    assert len(tips) == 2 * many
    first = f"{ladder['size'][0]:,} features: {ladder['error'][0]:.4f}"
    assert f"{first} ± {ladder['standard_error'][0]:.4f}" in tips
    assert f"{sieve.resolved_params_['n_features']:,} chosen" in page.text
    heights = [float(dot["cy"]) for dot in dots]
    for name, drawn in (("error", heights[:many]), ("soft_error", heights[many:])):
        assert abs(np.corrcoef(drawn, ladder[name][:-1])[0, 1] + 1.0) < 1e-5


def test_chart_of_sizes_has_a_band_and_the_prior(made, sieve):
    page, ladder = made(model=sieve), sieve.sizes_
    assert f"no feature: {sieve.baseline_error_:.3f}" in page.text
    (band,) = page.classes("path", "band")
    corners = [float(corner.split()[1]) for corner in band["d"].strip("MZ").split("L")]
    low, high = (
        ladder["error"][:-1] + sign * ladder["standard_error"][:-1] for sign in (-1.0, 1.0)
    )
    assert len(corners) == 2 * len(low)
    assert abs(np.corrcoef(corners, [*low, *high[::-1]])[0, 1] + 1.0) < 1e-5
    axes = [one["d"] for one in page.classes("path", "rule")]
    across = float(next(d for d in axes if "H" in d).split()[1].split("H")[0])
    (slope, start) = np.polyfit([*low, *high[::-1]], corners, 1)
    assert across == pytest.approx(start + slope * sieve.baseline_error_, abs=0.2)


def test_what_a_sieve_says_of_itself(made, sieve):
    (said,) = made(model=sieve).said("div", **{"class": "verdict good"})
    stated = held_out_error(sieve)
    assert f": {stated.stated()}." in said
    assert stated.other_sizes()[1:] in said
    assert f"{100 * sieve.error_:.1f} % ± {100 * sieve.standard_error_:.1f}" in stated.stated()
    assert f": {100 * sieve.baseline_error_:.1f} %)" in said


def test_columns_that_are_filled_alike_have_no_figure_of_density(made, sieve, density):
    said = " ".join(made(model=sieve, names=WORDS, density=density).said("figcaption"))
    assert "present in similarly many rows" in said
    alike = np.where(np.arange(300) % 2, 1.0, 0.999)
    said = " ".join(made(model=sieve, names=WORDS, density=alike).said("figcaption"))
    assert "present in similarly many rows" not in said


def test_the_soft_error_is_explained(made, sieve):
    page = made(model=sieve, names=WORDS)
    assert any("soft error: a row near the border" in one for one in page.said("figcaption"))


def test_a_sieve_that_found_nothing(made, noise, density):
    page = made(model=noise, names=WORDS, density=density)
    nothing = "othing in these 300 columns"
    assert any(f"No feature was kept: n{nothing}" in one for one in page.said("p"))
    (said,) = page.said("div", **{"class": "verdict poor"})
    assert said.startswith(f"N{nothing}")
    assert "many features" not in said
    assert "none is chosen" in " ".join(page.said("figcaption"))
    assert "chosen" not in "".join(page.said("svg"))
    assert not page.all("script", id="kept-data")


class Ladder(BaseEstimator):
    """A sieve of given errors that chose a size."""

    standard_error_, baseline_error_, n_features_in_ = 0.01, 0.5, 300

    def __init__(self, errors, chosen, threshold=0.3, classes=True):
        self.sizes_ = {
            "size": np.array([32, 23, 16, 11, 8, 6, 4, 3, 2, 1, 0]),
            "error": np.append(errors, 0.5),
            "standard_error": np.full(11, 0.01),
            "soft_error": np.append(errors, 0.5),
        }
        self.resolved_params_ = {"n_features": chosen, "threshold": threshold}
        self.error_, self.classes = 0.068, classes

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.estimator_type = "classifier" if self.classes else "regressor"
        return tags


FIGURES = r"cost|gain|nothing|\d+(?:\.\d+)?"
RISING = np.array([0.060, 0.062, 0.064, 0.066, 0.070, 0.074, 0.080, 0.090, 0.100, 0.200])


@pytest.mark.parametrize(
    ("errors", "chosen", "figures"),
    [
        (RISING, 32, "16 cost 0.4 3 3.0"),
        (RISING, 20, "11 cost 0.4 2 3.8"),
        (RISING, 4, "2 cost 2.0"),
        (RISING, 1, ""),
        (RISING, 0, ""),
        (np.full(10, 0.1), 32, "16 cost nothing 3 cost nothing"),
        (
            np.append(np.full(5, 0.1), np.full(5, 0.12)),
            32,
            "16 cost nothing 3 cost 2.0",
        ),
        (RISING[::-1], 32, "16 gain 11.0 3 13.6"),
        (
            np.where(np.arange(10) == 2, 0.05, RISING),
            32,
            "16 gain 1.0 3 cost 3.0",
        ),
    ],
)
def test_what_fewer_features_cost(errors, chosen, figures):
    said = held_out_error(Ladder(errors, chosen)).other_sizes()
    assert re.findall(FIGURES, said) == figures.split()


def test_what_fewer_features_cost_over_outputs():
    """The mean over all; one that keeps nothing loses nothing, of one without such a size nothing
    is said.
    """
    paths = [size_path for chosen in (32, 0, 1) for size_path in size_paths(Ladder(RISING, chosen))]
    stated = held_out_error(Ladder(RISING, 32))._replace(paths=paths[:2])
    assert re.findall(FIGURES, stated.other_sizes()) == ["cost", "0.2", "1.5"]
    assert stated.stated().startswith("6.8 % ± 1.0, the mean over 2 outputs")
    assert stated._replace(paths=paths).other_sizes() == ""


def test_errors_in_words():
    stated = held_out_error(Ladder(RISING, 32))
    assert re.fullmatch(r"6\.8 % ± 1\.0 \(.*: 50\.0 %\)", stated.stated())
    sure = stated._replace(error=0.00123, standard_error=0.00021)
    assert sure.stated().startswith("0.12 % ± 0.02 ")
    numbers = held_out_error(Ladder(RISING, 32, classes=False))._replace(baseline_error=1.0)
    assert re.fullmatch(r"0\.93 ± 0\.01 \(.*: 0\)", numbers.stated())
    sure = numbers._replace(standard_error=0.002)
    assert "(16) cost 0.004 of R2" in sure.other_sizes()
    assert sure.other_sizes().endswith("(3) 0.030")
    unknown = stated._replace(error=np.nan)
    assert unknown.stated().startswith("not known")
    assert not stated.is_empty()
    assert held_out_error(Ladder(RISING, 0)).is_empty()
    # Nobody looked for a size: none was asked for.
    assert not held_out_error(Ladder(RISING, 0, threshold=np.nan)).is_empty()


def test_features_that_were_seldom_selected_are_marked(made):
    model = Wide(4)
    model.coef_ = np.array([[4.0, 3.0, 2.0, 1.0]])
    model.selection_probability_ = np.array([[1.0, 0.5, 0.49, 0.0]])
    page = made(model=model)
    marked = [one for one in page.classes("span", "doubt") if "title" in one]
    assert [one["title"] for one in marked] == [plot_data.DOUBT] * 2
    said = page.said("span", **{"class": "doubt", "title": plot_data.DOUBT})
    assert said == ["0.490", "0.000"]
    assert plot_data.DOUBT[1:] in " ".join(page.said("figcaption"))
    model.selection_probability_ = np.zeros((1, 4))  # no runs inside, nothing to doubt
    assert "probability" not in made(model=model).data()
    model.selection_probability_ = np.full((1, 4), 0.5)
    page = made(model=model)
    assert not page.classes("span", "doubt")
    assert plot_data.DOUBT[1:] not in " ".join(page.said("figcaption"))


def test_points_lie_where_their_values_say(made):
    page = made(history=HISTORY)
    dots = page.classes("circle", "kept")[:5]
    across, up = np.array([[float(dot["cx"]), float(dot["cy"])] for dot in dots]).T
    rows, errors = [step["rows"] for step in HISTORY], [step["error"] for step in HISTORY]
    assert abs(np.corrcoef(across, rows)[0, 1] - 1.0) < 1e-5
    assert abs(np.corrcoef(up, errors)[0, 1] + 1.0) < 1e-5
    assert dots[0]["data-tip"] == "100 rows: 0.5000"


def test_rows_held_out_are_dashed_beside(made):
    steps = [{**step, "validation_error": step["error"] + 0.1} for step in HISTORY]
    page = made(history=steps)
    assert len(page.classes("path", "held")) == 1
    assert page.classes("circle", "apart")[0]["data-tip"] == "held-out rows, 100 rows: 0.6000"
    assert "Dashed: error on rows held out." in page.said("figcaption")[0]


def test_what_was_recorded_once_is_no_curve(made):
    """A sieve's features are counted at the end alone."""
    steps = [{"rows": step["rows"], "error": step["error"]} for step in HISTORY]
    steps[-1]["nonzeros"] = 7
    page = made(history=steps)
    assert len(page.all("svg")) == 1
    assert "Error of the rows" in page.said("figcaption")[0]
    assert made(history=steps[:1]).sections() == []


def test_the_history_of_train_comes_first(made, many):
    model = copy.copy(many)
    model.train_history_ = HISTORY
    assert "Progressive error" in made(model=model).text
    assert "Progressive loss" in made(model=many).text


def test_the_matrix_is_kappa(made, record):
    page = made(record=record)
    cells = [cell for cell in page.classes("rect", "cell") if "data-tip" in cell]
    runs = record.runs
    assert len(cells) == len(runs) ** 2
    supports = [run["support"] for run in runs]
    pair = selection_kappa([supports[0], supports[-1]], n_features=300)
    assert cells[len(runs) - 1]["data-tip"].split(": ")[-1].replace("−", "-") == f"{pair:.3f}"
    assert float(cells[len(runs) - 1]["fill-opacity"]) == pytest.approx(max(pair, 0.0), abs=0.006)


def test_many_runs_are_shown_by_method(made, record):
    large = tamis.Record.from_dict(record.to_dict())
    large.runs = large.runs * 12
    large.runs.sort(key=lambda run: run["model"])
    cells = [cell for cell in made(record=large).classes("rect", "cell") if "data-tip" in cell]
    methods = list(dict.fromkeys((run["model"], run["pick"]) for run in large.runs))
    assert len(cells) == len(methods) ** 2
    runs = [
        [run["support"] for run in large.runs if (run["model"], run["pick"]) == method]
        for method in methods[:2]
    ]
    own = selection_kappa(runs[0], 300)
    across = np.mean([selection_kappa([one, other], 300) for one in runs[0] for other in runs[1]])
    said = [float(cell["data-tip"].split(": ")[-1].replace("−", "-")) for cell in cells[:2]]
    np.testing.assert_allclose(said, [own, across], atol=6e-4)


def test_methods_are_all_in_the_table(made, record):
    page = made(record=record)
    head, lines = record.cells()
    words = " ".join(page.said("td"))
    assert all(line[0] in words and line[2].split(" ±")[0] in words for line in lines)
    assert all(f"{seed}" in words for seed in record.seeds)
    assert head[0] in page.said("th")


def test_the_audit_is_told(made):
    odd = {**AUDIT, "labels": {f"label {k}": 100 - k for k in range(40)}, "newline": "CRLF"}
    page = made(audit=odd)
    words = " ".join(page.said("td"))
    assert all(
        one in words
        for one in (
            "a.svm",
            "b.svm.gz",
            "svmlight",
            "12,345",
            "10.2800 %",
            "3.3 MiB",
            "2.1 MiB",
            "CRLF",
        )
    )
    assert [*page.said("li")][-2:] == AUDIT["bad"]["first"]
    assert len(page.classes("rect", "bar")) == 15
    assert "26 others" in page.text


def test_an_empty_model(made, text):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model = tamis.RDAClassifier(alpha=1e3, max_iter=1, tol=None).fit(*text)
    assert len(model.support_) == 0
    page = made(model=model, names=WORDS, density=np.full(300, 0.1))
    assert "No feature was kept." in page.said("p")
    assert not page.all("script", id="kept-data")


def test_missing_figures_are_dashes(made, record):
    holes = tamis.Record.from_dict(record.to_dict())
    for row in holes.rows:
        row |= {
            "error_sd": float("nan"),
            "kappa": float("nan"),
            "stability_low": float("nan"),
            "stability_high": float("nan"),
        }
    page = made(
        record=holes,
        history=[
            {"rows": 1, "loss": float("nan"), "nonzeros": 3},
            {"rows": 2, "loss": 0.5, "nonzeros": 4},
        ],
    )
    assert "–" in " ".join(page.said("td"))


# --------------------------------------------------------------------------- words from outside
HOSTILE = [
    "<script>alert(1)</script>",
    "</script><script>alert(2)</script>",
    "--><!-- <![CDATA[",
    "\"onmouseover='alert(3)'",
    "'; alert(4); '",
    "&lt;b&gt; &amp;",
    "naïve 東京 🙂 عربى",
    "right \u202e to left",
    "line\u2028break\nand\ttab\0nul",
    "x" * 10_000,
    "lone \ud800 surrogate",
    "`${alert(5)}` \\u003cscript\\u003e",
    "",
]


def test_hostile_names_are_only_words(made, text):
    X, y = text
    labels = np.array(["<img src=x onerror=alert(6)>", "</td><td>"])[y]
    model = tamis.FTRLClassifier(alpha=1e-4, max_iter=1, tol=None, random_state=0).fit(X, labels)
    names = [HOSTILE[k % len(HOSTILE)] for k in range(300)]
    audit = {
        **AUDIT,
        "files": HOSTILE,
        "labels": dict.fromkeys(HOSTILE, 3),
        "bad": {"count": 1, "first": HOSTILE},
        "suggested": HOSTILE[0],
        "<i>": HOSTILE[1],
    }
    page = made(
        title=HOSTILE[1],
        model=model,
        names=names,
        audit=audit,
        facts={name: name for name in HOSTILE},
        history=HISTORY,
    )
    assert [found.get("id") for found in page.all("script")] == ["kept-data", None]
    assert not page.all("img")
    assert not page.all("i")
    written = [name.encode("utf-8", "replace").decode() for name in names]
    table = page.data()
    assert table["name"] == [written[j] for j in table["column"]]
    assert page.said("title") == [HOSTILE[1]]
    assert max(map(len, page.said("bdi"))) <= 2000
    assert "\0" not in page.text


def test_hostile_names_in_a_comparison(made, record):
    odd = tamis.Record.from_dict(record.to_dict())
    for part in (*odd.rows, *odd.runs):
        part["model"] = HOSTILE[0] if part["model"] == "FTRL" else HOSTILE[9]
    odd.versions = {HOSTILE[0]: HOSTILE[1]}
    page = made(record=odd)
    assert len(page.all("script")) == 1
    assert len(page.all("svg")) == 5


# --------------------------------------------------------------------------- bytes, size, disk
def test_the_same_bytes_twice(tmp_path, text, record, density):
    X, y = text
    pages = []
    for number in range(2):
        model = tamis.SieveClassifier(random_state=np.random.RandomState(3)).fit(X, y)
        path = tmp_path / f"{number}.html"
        write_page(
            path,
            title="Same",
            audit=AUDIT,
            model=model,
            density=density,
            record=record,
            history=HISTORY,
            facts={"Seed": "3"},
        )
        pages.append(path.read_bytes())
    assert pages[0] == pages[1]
    assert b" at 0x" not in pages[0]


class Wide(BaseEstimator):
    """A fitted model of so many weights."""

    def __init__(self, width):
        self.width = width
        self.coef_ = np.random.default_rng(0).normal(size=(1, width))
        self.n_features_in_, self.support_ = width, np.arange(width)


def test_twenty_thousand_features_are_data_not_elements(made):
    page = made(model=Wide(20_000), names=[f"feature number {k}" for k in range(20_000)])
    assert len(page.data()["weight"]) == 20_000
    assert len(page.all("tr")) < 60
    assert len(page.elements) < 2_000
    assert len(page.text) < 2_500_000


def test_of_many_probabilities_some_are_drawn_and_it_says_so(made):
    model = Wide(5000)
    model.selection_probability_ = np.linspace(0.0, 1.0, 5000)[None]
    page = made(model=model)
    dots = page.classes("circle", "kept")
    assert 250 < len(dots) <= 300
    # The first and the last are among them.
    assert {dots[0]["data-tip"], dots[-1]["data-tip"]} == {"column 0: 0.000", "column 4999: 1.000"}
    assert "Beyond rank 150 " in page.text


def test_beyond_fifty_thousand_the_largest_are_listed(made):
    page = made(model=Wide(feature_table.LISTED + 1000))
    table = page.data()
    assert len(table["weight"]) == feature_table.LISTED
    assert "50,000 largest" in page.text
    assert "51,000" in page.text


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        ({"names": ["a"]}, r"names has 1 .* 300 "),
        ({"density": np.ones(7)}, r"density has 7 entries"),
        ({"density": np.full(300, 12.0)}, r"shares of rows, between 0 and 1"),
        ({"density": np.full(300, np.nan)}, r"shares of rows, between 0 and 1"),
    ],
)
def test_what_does_not_fit_is_refused(made, sieve, wrong, message):
    with pytest.raises(ValueError, match=message):
        made(model=sieve, **wrong)


def test_a_failure_leaves_the_old_page(tmp_path, monkeypatch):
    path = tmp_path / "page.html"
    write_page(path, title="old")
    before = path.read_bytes()

    def refuse(*_):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(_disk.os, "fsync", refuse)
    with pytest.raises(OSError, match=r"page\.html \(No space left on device\)"):
        write_page(path, title="new")
    assert path.read_bytes() == before
    assert os.listdir(tmp_path) == ["page.html"]


def test_it_needs_no_matplotlib(tmp_path):
    script = """
    import sys
    sys.modules["matplotlib"] = None
    from tamis import write_page
    steps = [{"rows": 1, "loss": 1.0, "nonzeros": 2}, {"rows": 2, "loss": 0.5, "nonzeros": 1}]
    write_page(sys.argv[1], title="plain", history=steps)
    print("written")
    """
    assert "written" in run_process(script, tmp_path / "page.html")
    assert Page(tmp_path / "page.html").check().sections() == ["training"]


def test_a_long_number_at_the_end_of_an_axis_stays_in_its_frame():
    panel = Panel("", "seconds")
    scale = Scale(1e-4, 5.6e-4, *panel.x_ends)
    panel.axes(scale, Scale(0.0, 1.0, *panel.y_ends), x_text=lambda value: f"{value:.6f}")
    places = [float(mark.split('x="')[1].split('"')[0]) for mark in panel.marks if "middle" in mark]
    assert max(places) + 2.8 * len("0.000550") <= panel.width
