"""The page: sections, figures, tables, unsafe names, reproducible bytes, writing of the file."""

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

ALL_SECTIONS = [
    "verdict",
    "features",
    "selection",
    "training",
    "data",
    "methods",
    "stability",
    "making",
]
FEATURE_NAMES = [f"word {k}" for k in range(300)]


@pytest.fixture
def make_page(tmp_path):
    """Return a function that writes a page, and parses and checks it."""

    def make(**material):
        path = tmp_path / "page.html"
        write_page(path, **({"title": "A page"} | material))
        return Page(path).check()

    return make


# --------------------------------------------------------------------------- sections
def test_everything_in_one_page(make_page, sieve, record, density):
    page = make_page(
        audit=AUDIT,
        model=sieve,
        names=FEATURE_NAMES,
        density=density,
        record=record,
        history=HISTORY,
        facts={"Seed": "7"},
    )
    assert page.sections() == ALL_SECTIONS
    assert [link["href"] for link in page.find_all("a")] == [f"#{key}" for key in ALL_SECTIONS]
    captions = page.texts("figcaption")
    assert [caption.split(".")[0] for caption in captions if caption.startswith("Figure")] == [
        f"Figure {k}" for k in range(1, 7)
    ]
    assert [caption.split(".")[0] for caption in captions if caption.startswith("Table")] == [
        f"Table {k}" for k in range(1, 6)
    ]
    assert len(page.find_all("svg")) == 1 + 2 + 2 + 1 + 4 + 1


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
def test_sections_appear_only_with_their_material(make_page, material, sections):
    page = make_page(**material)
    assert page.sections() == sections
    assert page.texts("h1") == ["A page"]


def test_models_show_what_they_have(make_page, sieve, stabilized, multiclass):
    expected = ["features", "selection", "training", "making"]
    # Probabilities that are all 1 are not drawn.
    assert (sieve.selection_probability_[0, sieve.support_] == 1.0).all()
    assert make_page(model=sieve).sections() == [
        "verdict",
        *expected[:1],
        *expected[2:],
    ]  # nothing to draw
    assert make_page(model=stabilized).sections() == expected
    assert make_page(model=multiclass).sections() == ["features", "training", "making"]


def test_a_record_alone(make_page, record):
    assert make_page(record=record).sections() == ["methods", "stability", "making"]
    without_runs = tamis.Record.from_dict(record.to_dict())
    without_runs.runs = []
    assert make_page(record=without_runs).sections() == ["methods", "making"]


# --------------------------------------------------------------------------- figures are true
def test_the_table_holds_the_weights(make_page, sieve, density):
    page = make_page(model=sieve, names=FEATURE_NAMES, density=density)
    table, coef = page.data(), sieve.coef_[0]
    assert sorted(table["column"]) == sieve.support_.tolist()
    assert table["name"] == [FEATURE_NAMES[j] for j in table["column"]]
    np.testing.assert_allclose(table["weight"], coef[table["column"]], rtol=1e-5)
    np.testing.assert_allclose(
        table["probability"], sieve.selection_probability_[0, table["column"]]
    )
    np.testing.assert_allclose(table["density"], density[table["column"]], rtol=1e-5)
    assert table["rank"] == list(range(1, len(sieve.support_) + 1))
    importance = sieve.importance_[0, table["column"]]
    np.testing.assert_allclose(table["importance"], importance / importance.max(), rtol=1e-5)
    assert (np.diff(importance) <= 0).all()
    assert "the most important first" in " ".join(page.texts("figcaption"))
    body = page.texts("table", id="kept")[0]
    assert all(FEATURE_NAMES[j] in body for j in sieve.support_[:50])
    signs = [
        attributes["class"]
        for attributes in page.find_all("span")
        if attributes.get("class") in ("plus", "minus")
    ]
    assert signs == ["minus" if w < 0 else "plus" for w in table["weight"]][:50]
    assert "speaks for class spam" in page.text.replace("<bdi>", "").replace("</bdi>", "")


def test_several_classes_have_a_row_a_weight(make_page, multiclass):
    page, coef = make_page(model=multiclass, names=FEATURE_NAMES), multiclass.coef_
    table = page.data()
    assert "importance" not in table
    assert (np.diff(np.abs(table["weight"])) <= 0).all()
    assert "the largest weight first" in " ".join(page.texts("figcaption"))
    assert len(table["weight"]) == np.count_nonzero(coef)
    rows = [multiclass.classes_.tolist().index(label) for label in table["class"]]
    np.testing.assert_allclose(table["weight"], coef[rows, table["column"]], rtol=1e-5)


def test_stabilized_classes(make_page, text):
    X, _ = text
    model = tamis.StabilizedSGDClassifier(n_paths=2, max_iter=2, random_state=0).fit(
        X, np.arange(400) % 3
    )
    page = make_page(model=model)
    assert len(page.with_class("path", "several")) == 6  # three classes, loss and features kept
    table = page.data()
    rows = np.array([int(label) for label in table["class"]])
    np.testing.assert_allclose(
        table["probability"], model.selection_probability_[rows, table["column"]], rtol=1e-5
    )


@pytest.mark.parametrize("per_class", [False, True])
def test_sieves_of_several_classes(make_page, text, class_numbers, per_class):
    X, _ = text
    model = tamis.SieveClassifier(per_class=per_class, random_state=0).fit(X, class_numbers)
    page = make_page(model=model)
    assert len(page.find_all("svg", **{"aria-label": "Choice of size"})) == (3 if per_class else 1)
    assert len(page.data()["weight"]) == np.count_nonzero(model.coef_)


def test_numbers_and_selectors(make_page, text):
    X, y = text
    model = tamis.SieveRegressor(random_state=0).fit(X, 3.0 * X[:, 5] + 0.01 * y)
    page = make_page(model=model)
    assert "held-out error, 1 − R²" in page.text
    r2 = f"{1.0 - model.error_:.3f} ± {model.standard_error_:.3f}"
    (first,) = page.texts("p", **{"class": "first"})
    assert first.startswith("R2 ")
    assert f": {r2} (" in first
    selector = tamis.StabilitySelector(
        tamis.RDAClassifier(max_iter=1, tol=None),
        n_pairs=5,
        n_selected=20,
        threshold=0.6,
        random_state=0,
    ).fit(X, y)
    page = make_page(model=selector)
    table = page.data()
    assert "weight" not in table
    assert sorted(table["column"]) == selector.support_.tolist()
    assert (np.diff(table["probability"]) <= 0).all()
    assert "threshold 0.6" in page.text
    assert len(page.with_class("circle", "kept")) == len(selector.support_)


def test_chart_of_sizes_has_a_point_a_size(make_page, sieve):
    """Size 0, the last, has no place on a logarithmic axis."""
    page, sizes = make_page(model=sieve), sieve.sizes_
    dots = [dot for dot in page.with_class("circle", "kept") if "features:" in dot["data-tip"]]
    tips, n_sizes = [dot["data-tip"] for dot in dots], len(sizes["size"]) - 1
    assert sizes["size"][-1] == 0
    assert len(tips) == 2 * n_sizes
    tip = f"{sizes['size'][0]:,} features: {sizes['error'][0]:.4f}"
    assert f"{tip} ± {sizes['standard_error'][0]:.4f}" in tips
    assert f"{sieve.resolved_params_['n_features']:,} chosen" in page.text
    heights = [float(dot["cy"]) for dot in dots]
    for name, heights_of in (("error", heights[:n_sizes]), ("soft_error", heights[n_sizes:])):
        assert abs(np.corrcoef(heights_of, sizes[name][:-1])[0, 1] + 1.0) < 1e-5


def test_chart_of_sizes_has_a_band_and_the_prior(make_page, sieve):
    page, sizes = make_page(model=sieve), sieve.sizes_
    assert f"no feature: {sieve.baseline_error_:.3f}" in page.text
    (band,) = page.with_class("path", "band")
    corners = [float(corner.split()[1]) for corner in band["d"].strip("MZ").split("L")]
    low, high = (sizes["error"][:-1] + sign * sizes["standard_error"][:-1] for sign in (-1.0, 1.0))
    assert len(corners) == 2 * len(low)
    assert abs(np.corrcoef(corners, [*low, *high[::-1]])[0, 1] + 1.0) < 1e-5
    lines = [rule["d"] for rule in page.with_class("path", "rule")]
    height = float(next(d for d in lines if "H" in d).split()[1].split("H")[0])
    (slope, start) = np.polyfit([*low, *high[::-1]], corners, 1)
    assert height == pytest.approx(start + slope * sieve.baseline_error_, abs=0.2)


def test_what_a_sieve_says_of_itself(make_page, sieve):
    (text,) = make_page(model=sieve).texts("div", **{"class": "verdict good"})
    error = held_out_error(sieve)
    assert f": {error.describe()}." in text
    assert error.describe_other_sizes()[1:] in text
    assert f"{100 * sieve.error_:.1f} % ± {100 * sieve.standard_error_:.1f}" in error.describe()
    assert f": {100 * sieve.baseline_error_:.1f} %)" in text


def test_columns_that_are_filled_alike_have_no_figure_of_density(make_page, sieve, density):
    captions = " ".join(
        make_page(model=sieve, names=FEATURE_NAMES, density=density).texts("figcaption")
    )
    assert "present in similarly many rows" in captions
    constant = np.where(np.arange(300) % 2, 1.0, 0.999)
    captions = " ".join(
        make_page(model=sieve, names=FEATURE_NAMES, density=constant).texts("figcaption")
    )
    assert "present in similarly many rows" not in captions


def test_the_soft_error_is_explained(make_page, sieve):
    page = make_page(model=sieve, names=FEATURE_NAMES)
    assert any(
        "soft error: a row near the border" in caption for caption in page.texts("figcaption")
    )


def test_a_sieve_that_found_nothing(make_page, empty_sieve, density):
    page = make_page(model=empty_sieve, names=FEATURE_NAMES, density=density)
    sentence = "othing in these 300 columns"
    assert any(f"No feature was kept: n{sentence}" in paragraph for paragraph in page.texts("p"))
    (text,) = page.texts("div", **{"class": "verdict poor"})
    assert text.startswith(f"N{sentence}")
    assert "many features" not in text
    assert "none is chosen" in " ".join(page.texts("figcaption"))
    assert "chosen" not in "".join(page.texts("svg"))
    assert not page.find_all("script", id="kept-data")


class SizedModel(BaseEstimator):
    """A sieve with fixed errors that chose a size."""

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


COST_WORDS = r"cost|gain|nothing|\d+(?:\.\d+)?"
RISING = np.array([0.060, 0.062, 0.064, 0.066, 0.070, 0.074, 0.080, 0.090, 0.100, 0.200])


@pytest.mark.parametrize(
    ("errors", "chosen", "words"),
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
def test_what_fewer_features_cost(errors, chosen, words):
    text = held_out_error(SizedModel(errors, chosen)).describe_other_sizes()
    assert re.findall(COST_WORDS, text) == words.split()


def test_what_fewer_features_cost_over_outputs():
    """The cost is the mean over outputs. An output that keeps nothing costs 0; if one lacks such a
    size, the sentence is empty.
    """
    paths = [
        size_path for chosen in (32, 0, 1) for size_path in size_paths(SizedModel(RISING, chosen))
    ]
    error = held_out_error(SizedModel(RISING, 32))._replace(paths=paths[:2])
    assert re.findall(COST_WORDS, error.describe_other_sizes()) == ["cost", "0.2", "1.5"]
    assert error.describe().startswith("6.8 % ± 1.0, the mean over 2 outputs")
    assert error._replace(paths=paths).describe_other_sizes() == ""


def test_errors_in_words():
    classifier_error = held_out_error(SizedModel(RISING, 32))
    assert re.fullmatch(r"6\.8 % ± 1\.0 \(.*: 50\.0 %\)", classifier_error.describe())
    precise = classifier_error._replace(error=0.00123, standard_error=0.00021)
    assert precise.describe().startswith("0.12 % ± 0.02 ")
    regressor_error = held_out_error(SizedModel(RISING, 32, classes=False))._replace(
        baseline_error=1.0
    )
    assert re.fullmatch(r"0\.93 ± 0\.01 \(.*: 0\)", regressor_error.describe())
    precise = regressor_error._replace(standard_error=0.002)
    assert "(16) cost 0.004 of R2" in precise.describe_other_sizes()
    assert precise.describe_other_sizes().endswith("(3) 0.030")
    unknown = classifier_error._replace(error=np.nan)
    assert unknown.describe().startswith("not known")
    assert not classifier_error.is_empty()
    assert held_out_error(SizedModel(RISING, 0)).is_empty()
    # The user set the size to 0.
    assert not held_out_error(SizedModel(RISING, 0, threshold=np.nan)).is_empty()


def test_features_that_were_seldom_selected_are_marked(make_page):
    model = WideModel(4)
    model.coef_ = np.array([[4.0, 3.0, 2.0, 1.0]])
    model.selection_probability_ = np.array([[1.0, 0.5, 0.49, 0.0]])
    page = make_page(model=model)
    marked = [span for span in page.with_class("span", "doubt") if "title" in span]
    assert [span["title"] for span in marked] == [plot_data.DOUBT] * 2
    marked_texts = page.texts("span", **{"class": "doubt", "title": plot_data.DOUBT})
    assert marked_texts == ["0.490", "0.000"]
    assert plot_data.DOUBT[1:] in " ".join(page.texts("figcaption"))
    model.selection_probability_ = np.zeros((1, 4))  # no runs inside, nothing to doubt
    assert "probability" not in make_page(model=model).data()
    model.selection_probability_ = np.full((1, 4), 0.5)
    page = make_page(model=model)
    assert not page.with_class("span", "doubt")
    assert plot_data.DOUBT[1:] not in " ".join(page.texts("figcaption"))


def test_points_lie_where_their_values_say(make_page):
    page = make_page(history=HISTORY)
    dots = page.with_class("circle", "kept")[:5]
    across, up = np.array([[float(dot["cx"]), float(dot["cy"])] for dot in dots]).T
    rows, errors = [step["rows"] for step in HISTORY], [step["error"] for step in HISTORY]
    assert abs(np.corrcoef(across, rows)[0, 1] - 1.0) < 1e-5
    assert abs(np.corrcoef(up, errors)[0, 1] + 1.0) < 1e-5
    assert dots[0]["data-tip"] == "100 rows: 0.5000"


def test_rows_held_out_are_dashed_beside(make_page):
    steps = [{**step, "validation_error": step["error"] + 0.1} for step in HISTORY]
    page = make_page(history=steps)
    assert len(page.with_class("path", "held")) == 1
    assert page.with_class("circle", "apart")[0]["data-tip"] == "held-out rows, 100 rows: 0.6000"
    assert "Dashed: error on rows held out." in page.texts("figcaption")[0]


def test_what_was_recorded_once_is_no_curve(make_page):
    """The features of a sieve are counted once, at the end."""
    steps = [{"rows": step["rows"], "error": step["error"]} for step in HISTORY]
    steps[-1]["nonzeros"] = 7
    page = make_page(history=steps)
    assert len(page.find_all("svg")) == 1
    assert "Error of the rows" in page.texts("figcaption")[0]
    assert make_page(history=steps[:1]).sections() == []


def test_the_history_of_train_comes_first(make_page, multiclass):
    model = copy.copy(multiclass)
    model.train_history_ = HISTORY
    assert "Progressive error" in make_page(model=model).text
    assert "Progressive loss" in make_page(model=multiclass).text


def test_the_matrix_is_kappa(make_page, record):
    page = make_page(record=record)
    cells = [cell for cell in page.with_class("rect", "cell") if "data-tip" in cell]
    runs = record.runs
    assert len(cells) == len(runs) ** 2
    supports = [run["support"] for run in runs]
    pair = selection_kappa([supports[0], supports[-1]], n_features=300)
    assert cells[len(runs) - 1]["data-tip"].split(": ")[-1].replace("−", "-") == f"{pair:.3f}"
    assert float(cells[len(runs) - 1]["fill-opacity"]) == pytest.approx(max(pair, 0.0), abs=0.006)


def test_many_runs_are_shown_by_method(make_page, record):
    large = tamis.Record.from_dict(record.to_dict())
    large.runs = large.runs * 12
    large.runs.sort(key=lambda run: run["model"])
    cells = [
        cell for cell in make_page(record=large).with_class("rect", "cell") if "data-tip" in cell
    ]
    methods = list(dict.fromkeys((run["model"], run["pick"]) for run in large.runs))
    assert len(cells) == len(methods) ** 2
    runs = [
        [run["support"] for run in large.runs if (run["model"], run["pick"]) == method]
        for method in methods[:2]
    ]
    within = selection_kappa(runs[0], 300)
    between = np.mean(
        [selection_kappa([first, second], 300) for first in runs[0] for second in runs[1]]
    )
    values = [float(cell["data-tip"].split(": ")[-1].replace("−", "-")) for cell in cells[:2]]
    np.testing.assert_allclose(values, [within, between], atol=6e-4)


def test_methods_are_all_in_the_table(make_page, record):
    page = make_page(record=record)
    head, lines = record.cells()
    table_text = " ".join(page.texts("td"))
    assert all(line[0] in table_text and line[2].split(" ±")[0] in table_text for line in lines)
    assert all(f"{seed}" in table_text for seed in record.seeds)
    assert head[0] in page.texts("th")


def test_the_page_shows_the_audit(make_page):
    long_audit = {**AUDIT, "labels": {f"label {k}": 100 - k for k in range(40)}, "newline": "CRLF"}
    page = make_page(audit=long_audit)
    table_text = " ".join(page.texts("td"))
    assert all(
        value in table_text
        for value in (
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
    assert [*page.texts("li")][-2:] == AUDIT["bad"]["first"]
    assert len(page.with_class("rect", "bar")) == 15
    assert "26 others" in page.text


def test_an_empty_model(make_page, text):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model = tamis.RDAClassifier(alpha=1e3, max_iter=1, tol=None).fit(*text)
    assert len(model.support_) == 0
    page = make_page(model=model, names=FEATURE_NAMES, density=np.full(300, 0.1))
    assert "No feature was kept." in page.texts("p")
    assert not page.find_all("script", id="kept-data")


def test_missing_figures_are_dashes(make_page, record):
    incomplete = tamis.Record.from_dict(record.to_dict())
    for row in incomplete.rows:
        row |= {
            "error_sd": float("nan"),
            "kappa": float("nan"),
            "stability_low": float("nan"),
            "stability_high": float("nan"),
        }
    page = make_page(
        record=incomplete,
        history=[
            {"rows": 1, "loss": float("nan"), "nonzeros": 3},
            {"rows": 2, "loss": 0.5, "nonzeros": 4},
        ],
    )
    assert "–" in " ".join(page.texts("td"))


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


def test_hostile_names_are_only_words(make_page, text):
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
    page = make_page(
        title=HOSTILE[1],
        model=model,
        names=names,
        audit=audit,
        facts={name: name for name in HOSTILE},
        history=HISTORY,
    )
    assert [attributes.get("id") for attributes in page.find_all("script")] == ["kept-data", None]
    assert not page.find_all("img")
    assert not page.find_all("i")
    encoded = [name.encode("utf-8", "replace").decode() for name in names]
    table = page.data()
    assert table["name"] == [encoded[j] for j in table["column"]]
    assert page.texts("title") == [HOSTILE[1]]
    assert max(map(len, page.texts("bdi"))) <= 2000
    assert "\0" not in page.text


def test_hostile_names_in_a_comparison(make_page, record):
    renamed = tamis.Record.from_dict(record.to_dict())
    for entry in (*renamed.rows, *renamed.runs):
        entry["model"] = HOSTILE[0] if entry["model"] == "FTRL" else HOSTILE[9]
    renamed.versions = {HOSTILE[0]: HOSTILE[1]}
    page = make_page(record=renamed)
    assert len(page.find_all("script")) == 1
    assert len(page.find_all("svg")) == 5


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


class WideModel(BaseEstimator):
    """A fitted model with a number of weights."""

    def __init__(self, width):
        self.width = width
        self.coef_ = np.random.default_rng(0).normal(size=(1, width))
        self.n_features_in_, self.support_ = width, np.arange(width)


def test_twenty_thousand_features_are_data_not_elements(make_page):
    page = make_page(model=WideModel(20_000), names=[f"feature number {k}" for k in range(20_000)])
    assert len(page.data()["weight"]) == 20_000
    assert len(page.find_all("tr")) < 60
    assert len(page.elements) < 2_000
    assert len(page.text) < 2_500_000


def test_of_many_probabilities_some_are_drawn_and_it_says_so(make_page):
    model = WideModel(5000)
    model.selection_probability_ = np.linspace(0.0, 1.0, 5000)[None]
    page = make_page(model=model)
    dots = page.with_class("circle", "kept")
    assert 250 < len(dots) <= 300
    # The first and the last are among them.
    assert {dots[0]["data-tip"], dots[-1]["data-tip"]} == {"column 0: 0.000", "column 4999: 1.000"}
    assert "Beyond rank 150 " in page.text


def test_beyond_fifty_thousand_the_largest_are_listed(make_page):
    page = make_page(model=WideModel(feature_table.MAX_TABLE_ROWS + 1000))
    table = page.data()
    assert len(table["weight"]) == feature_table.MAX_TABLE_ROWS
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
def test_what_does_not_fit_is_refused(make_page, sieve, wrong, message):
    with pytest.raises(ValueError, match=message):
        make_page(model=sieve, **wrong)


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
    positions = [
        float(mark.split('x="')[1].split('"')[0]) for mark in panel.marks if "middle" in mark
    ]
    assert max(positions) + 2.8 * len("0.000550") <= panel.width
