"""`tamis select`: from a file to claims."""

import csv
import io
import json
import re

import numpy as np
import pytest
from cli.commands import here

from tamis import FDRSelector, load


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """A table with words and dates in which two columns tell, its twin of numbers, and noise."""
    home = tmp_path_factory.mktemp("select")
    rng = np.random.default_rng(0)
    size = rng.normal(size=400)
    twin, other = size + 0.1 * rng.normal(size=400), rng.normal(size=400)
    city = np.array(["bern", "chur", "genf", "thun"])[rng.integers(0, 4, 400)]
    score = 2.0 * size + 2.0 * (city == "chur")
    bought = np.where(score + rng.logistic(size=400) > 0.5, "yes", "no")
    lines = [
        f"{s:.4f},{t:.4f},{o:.4f},{c},{b},{v:.4f}"
        for s, t, o, c, b, v in zip(size, twin, other, city, bought, score + other, strict=True)
    ]
    (home / "table.csv").write_text("size,twin,other,city,bought,paid\n" + "\n".join(lines) + "\n")
    rows = (" ".join(f"{j}:{rng.normal():.3f}" for j in range(1, 301)) for _ in range(60))
    (home / "noise.svm").write_text("".join(f"{k % 2} {row}\n" for k, row in enumerate(rows)))
    return home


def select(folder, *options, capsys, file="table.csv"):
    return here("select", folder / file, *options, capsys=capsys)


def test_classes_are_told_by_their_odds(folder, tmp_path, capsys):
    done = select(
        folder,
        "--target",
        "bought",
        "--as",
        "paid=skip",
        "--out",
        tmp_path / "s.tamis",
        capsys=capsys,
    )
    assert done.code == 0
    assert re.match(r"2 features of 7 .* 0\.1", done.out)
    assert "odds of yes" in done.out
    assert "city=chur" in done.out
    assert "one of them" in done.out
    selector = load(tmp_path / "s.tamis")
    assert isinstance(selector, FDRSelector)
    assert {row["name"] for row in selector.table_ if row["qvalue"] <= 0.1} >= {"city=chur"}


def test_numbers_as_csv_and_json(folder, capsys):
    done = select(folder, "--target", "paid", "--as", "bought=skip", "--csv", capsys=capsys)
    rows = list(csv.DictReader(io.StringIO(done.out)))
    assert {row["name"] for row in rows} & {"size", "twin"}
    assert all(float(row["qvalue"]) <= 0.1 for row in rows)
    done = select(
        folder, "--target", "paid", "--as", "bought=skip", "--fdr", "0.01", "--json", capsys=capsys
    )
    told = json.loads(done.out)
    assert told["fdr"] == 0.01
    assert {row["name"] for row in told["selected"]} >= {"other", "city=chur"}


def test_single_features_where_no_one_stands_in(folder, capsys):
    done = select(
        folder,
        "--target",
        "bought",
        "--as",
        "paid=skip,twin=skip",
        "--substitutes",
        "none",
        "--json",
        capsys=capsys,
    )
    assert {row["name"] for row in json.loads(done.out)["selected"]} == {"size", "city=chur"}


def test_noise_is_told_first(folder, capsys):
    done = select(folder, file="noise.svm", capsys=capsys)
    assert done.code == 0
    assert done.out.startswith("Nothing was found: no feature of 300")


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (["--fdr", "2"], "--fdr 2: a share between 0 and 1"),
        (["--substitutes", "much"], "--substitutes much: a correlation up to 1, or none"),
        (["--substitutes", "2"], "'substitutes' parameter"),
        (["--candidates", "0"], "'n_candidates' parameter"),
    ],
)
def test_wrong_options_are_refused(folder, options, words, capsys):
    done = select(folder, *options, capsys=capsys)
    assert done.code == 2
    assert words in done.err


def test_fit_shows_what_may_be_claimed_beside_what_it_kept(folder, tmp_path, capsys):
    done = here(
        *("fit", folder / "table.csv", "--target", "bought", "--as", "paid=skip"),
        *("--discoveries", "--report", tmp_path / "page.html"),
        capsys=capsys,
    )
    assert done.code == 0
    assert "may be claimed" in done.out
    assert "q-value" in done.out
    assert ">q-value<" in (tmp_path / "page.html").read_text()
    done = here(
        *("fit", folder / "table.csv", "--target", "bought", "--as", "paid=skip", "--json"),
        *("--discoveries", "--method", "ftrl"),
        capsys=capsys,
    )
    lines = json.loads(done.out)["top"]
    assert min(line["qvalue"] for line in lines) < 1e-3
