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
    """A table in which two columns matter, with a correlated column, and a file of noise."""
    path = tmp_path_factory.mktemp("select")
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
    (path / "table.csv").write_text("size,twin,other,city,bought,paid\n" + "\n".join(lines) + "\n")
    rows = (" ".join(f"{j}:{rng.normal():.3f}" for j in range(1, 301)) for _ in range(60))
    (path / "noise.svm").write_text("".join(f"{k % 2} {row}\n" for k, row in enumerate(rows)))
    return path


def select(folder, *options, capsys, file="table.csv"):
    return here("select", folder / file, *options, capsys=capsys)


def test_classes_have_odds(folder, tmp_path, capsys):
    result = select(
        folder,
        "--target",
        "bought",
        "--as",
        "paid=skip",
        "--out",
        tmp_path / "s.tamis",
        capsys=capsys,
    )
    assert result.code == 0
    assert re.match(r"2 features of 7 .* 0\.1", result.out)
    assert "odds of yes" in result.out
    assert "city=chur" in result.out
    assert "one of them" in result.out
    selector = load(tmp_path / "s.tamis")
    assert isinstance(selector, FDRSelector)
    assert {row["name"] for row in selector.table_ if row["qvalue"] <= 0.1} >= {"city=chur"}


def test_numbers_as_csv_and_json(folder, capsys):
    result = select(folder, "--target", "paid", "--as", "bought=skip", "--csv", capsys=capsys)
    rows = list(csv.DictReader(io.StringIO(result.out)))
    assert {row["name"] for row in rows} & {"size", "twin"}
    assert all(float(row["qvalue"]) <= 0.1 for row in rows)
    result = select(
        folder, "--target", "paid", "--as", "bought=skip", "--fdr", "0.01", "--json", capsys=capsys
    )
    printed = json.loads(result.out)
    assert printed["fdr"] == 0.01
    assert {row["name"] for row in printed["selected"]} >= {"other", "city=chur"}


def test_single_features_without_substitutes(folder, capsys):
    result = select(
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
    assert {row["name"] for row in json.loads(result.out)["selected"]} == {"size", "city=chur"}


def test_noise_selects_nothing(folder, capsys):
    result = select(folder, file="noise.svm", capsys=capsys)
    assert result.code == 0
    assert result.out.startswith("Nothing was found: no feature of 300")


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
    result = select(folder, *options, capsys=capsys)
    assert result.code == 2
    assert words in result.err


def test_fit_shows_what_may_be_claimed_beside_what_it_kept(folder, tmp_path, capsys):
    result = here(
        *("fit", folder / "table.csv", "--target", "bought", "--as", "paid=skip"),
        *("--discoveries", "--report", tmp_path / "page.html"),
        capsys=capsys,
    )
    assert result.code == 0
    assert "may be claimed" in result.out
    assert "q-value" in result.out
    assert ">q-value<" in (tmp_path / "page.html").read_text()
    result = here(
        *("fit", folder / "table.csv", "--target", "bought", "--as", "paid=skip", "--json"),
        *("--discoveries", "--method", "ftrl"),
        capsys=capsys,
    )
    lines = json.loads(result.out)["top"]
    assert min(line["qvalue"] for line in lines) < 1e-3
