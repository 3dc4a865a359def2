"""From a CSV to a model, one prediction explained, and the model in a process without tamis."""

import csv
import json
import subprocess
import sys

import numpy as np
import pytest
from cli.commands import here, tamis
from exporting.records import columns_of, rows_of

ALONE = """
import csv, json, sys
sys.path.insert(0, sys.argv[1])
import model
rows = list(csv.DictReader(open(sys.argv[2], encoding="utf-8")))
print(json.dumps([[model.predict(row), model.predict_proba(row)] for row in rows]))
assert "tamis" not in sys.modules and "numpy" not in sys.modules
"""


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """A table with words and gaps, and a model of it."""
    place, rng = tmp_path_factory.mktemp("walk"), np.random.default_rng(0)
    with open(place / "train.csv", "w", newline="", encoding="utf-8") as file:
        out = csv.writer(file)
        out.writerow(["age", 'note, "odd"', "city", "noise", "verdict"])
        for _ in range(400):
            age, odd, city = int(rng.integers(20, 60)), float(rng.normal()), rng.integers(4)
            word = ["Paris", "L'Aquila", "São Tomé", ""][city]
            score = (age - 40) / 10 + 2 * odd + 2 * (city == 1) + 0.3 * rng.normal()
            gap = rng.random() < 0.1
            row = ["" if gap else age, round(odd, 3), word, round(rng.normal(), 3)]
            out.writerow([*row, "yes" if score > 0 else "no"])
    done = tamis(
        "fit", place / "train.csv", "--method", "ftrl", "--missing", "indicator", "--loss",
        "logistic", "--passes", 5, "--out", place / "model.tamis",
    )  # fmt: skip
    assert done.code == 0, done.err
    return place


def test_one_prediction_explained(folder, capsys):
    given = (folder / "model.tamis", folder / "train.csv")
    done = here("explain", *given, "--row", 17, "--json", capsys=capsys)
    assert done.code == 0, done.err
    told = json.loads(done.out)
    total = told["intercept"] + sum(one["contribution"] for one in told["contributions"])
    assert total == pytest.approx(told["score"])
    assert told["prediction"] == ("yes" if told["score"] > 0 else "no")
    with open(folder / "train.csv", newline="", encoding="utf-8") as file:
        row = list(csv.DictReader(file))[16]
    names = {one["name"] for one in told["contributions"]}
    assert names <= {*row, *(f"{k}={v}" for k, v in row.items()), *(f"{k}=missing" for k in row)}
    shown = here("explain", *given, "--row", 17, capsys=capsys).out
    assert "the score of yes" in shown
    assert all(name in shown for name in names)
    other = json.loads(
        here("explain", *given, "--row", 17, "--class", "no", "--json", capsys=capsys).out
    )
    assert (other["class"], other["score"]) == ("no", -told["score"])


def test_rows_that_are_not_there_and_models_that_say_nothing(folder, tmp_path, capsys):
    import tamis as library

    given = (folder / "model.tamis", folder / "train.csv")
    done = here("explain", *given, "--row", 401, capsys=capsys)
    assert (done.code, done.err.strip()) == (2, "tamis explain: --row 401: there are 400 rows.")
    assert here("explain", *given, "--row", 0, capsys=capsys).code == 2
    done = here("explain", *given, "--class", "maybe", capsys=capsys)
    assert "--class maybe: the classes are no, yes." in done.err
    X = np.random.default_rng(0).normal(size=(40, 2))
    library.save(library.GMKLClassifier().fit(X, X[:, 0] > 0), tmp_path / "kernel.tamis")
    done = here("explain", tmp_path / "kernel.tamis", given[1], capsys=capsys)
    assert "was not trained from a file" in done.err
    done = here("export", tmp_path / "kernel.tamis", "--to", "json", capsys=capsys)
    assert done.code == 1
    assert "Linear models can be exported" in done.err


def test_a_model_without_tamis(folder, capsys):
    done = here("export", folder / "model.tamis", "-o", folder / "model.py", capsys=capsys)
    assert done.code == 0, done.err
    done = here("predict", folder / "model.tamis", folder / "train.csv", capsys=capsys)
    want = done.out.split()
    done = here("predict", "--proba", folder / "model.tamis", folder / "train.csv", capsys=capsys)
    likely = [[float(p) for p in line.split("\t")] for line in done.out.splitlines()[1:]]
    command = [sys.executable, "-I", "-S", "-c", ALONE, str(folder), str(folder / "train.csv")]
    ran = subprocess.run(command, capture_output=True, text=True, check=False, timeout=60)
    assert ran.returncode == 0, ran.stderr
    actual = json.loads(ran.stdout)
    assert [guess for guess, _ in actual] == want
    np.testing.assert_allclose([shares for _, shares in actual], likely, rtol=0, atol=1e-8)


def test_dates_and_texts_without_tamis(tmp_path, capsys):
    table, y = columns_of("d.m.y")
    with open(tmp_path / "train.csv", "w", newline="", encoding="utf-8") as file:
        out = csv.writer(file)
        out.writerow([*table, "verdict"])
        out.writerows([*row.values(), label] for row, label in zip(rows_of(table), y, strict=True))
    model, file = tmp_path / "model.tamis", tmp_path / "train.csv"
    done = here(
        "fit", file, "--method", "ftrl", "--missing", "zero", "--as", "notes=text", "--loss",
        "logistic", "--passes", 3, "--out", model, capsys=capsys,
    )  # fmt: skip
    assert done.code == 0, done.err
    assert here("export", model, "-o", tmp_path / "model.py", capsys=capsys).code == 0
    done = here("predict", "--proba", model, file, capsys=capsys)
    likely = [[float(p) for p in line.split("\t")] for line in done.out.splitlines()[1:]]
    command = [sys.executable, "-I", "-S", "-c", ALONE, str(tmp_path), str(file)]
    ran = subprocess.run(command, capture_output=True, text=True, check=False, timeout=60)
    assert ran.returncode == 0, ran.stderr
    actual = [shares for _, shares in json.loads(ran.stdout)]
    np.testing.assert_allclose(actual, likely, rtol=0, atol=1e-8)
    done = here("export", model, "--to", "sql", capsys=capsys)
    assert "or fit without: --as notes=skip." in done.err


@pytest.mark.parametrize("form", ["json", "sql", "scorecard", "python"])
def test_texts_go_to_standard_output(form, folder, capsys):
    done = here("export", folder / "model.tamis", "--to", form, capsys=capsys)
    assert done.code == 0, done.err
    assert "age" in done.out


def test_a_scorecard_is_measured_on_rows(folder, capsys):
    given = ("export", folder / "model.tamis", "--to", "scorecard", "--test", folder / "train.csv")
    done = here(*given, capsys=capsys)
    assert "Rounding, on 400 rows: the rank correlation" in done.out


def test_what_makes_no_sense_is_said(folder, capsys):
    model = folder / "model.tamis"
    assert "say what to make" in here("export", model, capsys=capsys).err
    assert "ONNX is no text" in here("export", model, "--to", "onnx", capsys=capsys).err
    done = here("export", model, "--to", "sql", "--test", "x.csv", capsys=capsys)
    assert "--test is for --to scorecard" in done.err
