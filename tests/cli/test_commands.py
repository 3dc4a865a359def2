"""Every command on small files: what it prints, writes and returns."""

import csv
import io
import json
import math
import re
import subprocess
import sys
import types

import numpy as np
import pytest
import scipy.sparse as sp
from cli.commands import here, tamis
from reporting.pages import Page

from tamis import load
from tamis.cli.commands.demo import write_svmlight
from tamis.cli.data import suggest_method
from tamis.cli.output import FeatureWeights, print_weights, rank_weights
from tamis.data.survey import Survey
from tamis.datasets import make_text
from tamis.reporting.page.held_out_error import held_out_error
from tamis.reporting.page.plot_data import DOUBT

pytestmark = pytest.mark.quick

X, Y, PLANTED = make_text(n_samples=400, n_features=300, n_informative=8, words=20, random_state=0)
COLOURS = ["red", "green", "blue"]
FEW_PATHS = ["--set", "n_paths=2", "--set", "n_folds=2"]


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """Training and test rows as svmlight, and a table with words."""
    folder = tmp_path_factory.mktemp("files")
    write_svmlight(X[:300], 2 * Y[:300] - 1, folder / "train.svm")
    write_svmlight(X[300:], 2 * Y[300:] - 1, folder / "test.svm")
    lines = [
        f"{k % 7},{COLOURS[k % 3]},{(k * 37) % 11},{'yes' if k % 3 == 1 else 'no'}"
        for k in range(300)
    ]
    (folder / "table.csv").write_text("\n".join(["age,colour,size,bought", *lines]) + "\n")
    return folder


def run(*arguments, capsys):
    return here(*arguments, capsys=capsys)


# --------------------------------------------------------------------------- fit, predict, inspect
def test_fit_prints_a_table_and_writes_a_model(folder, tmp_path, capsys):
    result = run(
        "fit",
        folder / "train.svm",
        *FEW_PATHS,
        "--test",
        folder / "test.svm",
        "--out",
        tmp_path / "m.tamis",
        "--top",
        5,
        capsys=capsys,
    )
    assert result.code == 0
    for text in (
        "SieveClassifier",
        "rows      300",
        "kept",
        "on 100 test rows; always ",
        "Better than guessing, by ",
        "probability",
        "m.tamis",
        "+ speaks for 1",
    ):
        assert text in result.out
    assert "columns count from 1" in result.err
    model = load(tmp_path / "m.tamis")
    assert model.classes_.tolist() == [-1, 1]
    table = [line.split("│")[1].strip() for line in result.out.splitlines() if line[:1] == "│"]
    heaviest = model.support_[np.argsort(-model.importance_[0, model.support_], kind="stable")]
    assert table == [str(column + 1) for column in heaviest[:5].tolist()]


# --------------------------------------------------------------------------- the sieve on itself
def test_a_sieve_prints_its_error_and_that_of_the_prior(folder, tmp_path, capsys):
    result = run("fit", folder / "train.svm", *FEW_PATHS, "--out", tmp_path / "m", capsys=capsys)
    model = load(tmp_path / "m")
    error = f"{100 * model.error_:.1f} % ± {100 * model.standard_error_:.1f}"
    baseline = f"{100 * model.baseline_error_:.1f} %"
    assert re.match(rf"Error .*: {error} \(.* {baseline}\)\.\n", result.out)
    sizes = held_out_error(model).describe_other_sizes()
    assert f"H{sizes[1:]}, by the method's own held-out rows.\n" in result.out
    assert "the most important first" in result.out
    inspected = run("inspect", tmp_path / "m", capsys=capsys).out
    assert re.search(rf"{error} \(.*: {baseline}\)", inspected)
    assert sizes in inspected
    options = ["--test", folder / "test.svm"]
    result = run("fit", folder / "train.svm", *FEW_PATHS, *options, capsys=capsys)
    assert "on 100 test rows" in result.out
    assert re.search(rf"held out  {error} \(.*: {baseline}\)\n", result.out)


def test_a_sieve_prints_its_error_in_json(folder, tmp_path, capsys):
    options = ["fit", folder / "train.svm", *FEW_PATHS, "--json"]
    printed = json.loads(run(*options, "--out", tmp_path / "m", capsys=capsys).out)
    model = load(tmp_path / "m")
    errors = {"error": model.error_, "standard_error": model.standard_error_}
    assert {name: printed[name] for name in errors} == printed["held_out"] == errors
    assert printed["baseline_error"] == model.baseline_error_
    assert printed["sizes"] == {name: column.tolist() for name, column in model.sizes_.items()}
    assert printed["sizes"]["size"][-1] == 0
    importance = [line["importance"] for line in printed["top"]]
    assert importance[0] == 1.0
    assert importance == sorted(importance, reverse=True)
    assert "stated" not in printed
    inspected = json.loads(run("inspect", tmp_path / "m", "--json", capsys=capsys).out)
    names = [*errors, "baseline_error", "sizes", "top"]
    assert [inspected[name] for name in names] == [printed[name] for name in names]
    csv_text = run("inspect", tmp_path / "m", "--csv", capsys=capsys).out
    lines = list(csv.DictReader(io.StringIO(csv_text)))
    assert [float(line["importance"]) for line in lines] == importance
    with_test = json.loads(run(*options, "--test", folder / "test.svm", capsys=capsys).out)
    assert with_test["error"] != printed["error"]
    error = with_test["error"]
    assert with_test["standard_error"] == pytest.approx(math.sqrt(error * (1.0 - error) / 99))
    assert with_test["better"] is True
    assert [check["code"] for check in with_test["checks"]] == [f"TAM{k:03}" for k in range(1, 13)]
    assert with_test["held_out"] == errors


def test_a_sieve_of_numbers_prints_r2(tmp_path, capsys):
    write_svmlight(X, 3.0 * X[:, [5]].toarray().ravel() + 0.1 * Y, tmp_path / "a.svm")
    options = ["--task", "regress", "--out", tmp_path / "m"]
    result = run("fit", tmp_path / "a.svm", *FEW_PATHS, *options, capsys=capsys)
    error = held_out_error(load(tmp_path / "m"))
    assert not error.classes
    assert re.match(f"R2 .*: {re.escape(error.describe())}\\.\n", result.out)
    assert "(guessing by the mean: 0)" in result.out


@pytest.mark.parametrize("kind", ["classes", "numbers"])
def test_a_sieve_that_finds_nothing_says_so(tmp_path, capsys, kind):
    rng = np.random.default_rng(0)
    targets = rng.permutation(2 * Y - 1) if kind == "classes" else rng.normal(size=400)
    write_svmlight(X, targets, tmp_path / "a.svm")
    paths = ["--out", tmp_path / "m", "--report", tmp_path / "page.html"]
    result = run("fit", tmp_path / "a.svm", *FEW_PATHS, *paths, capsys=capsys)
    sentence = "othing in these 300 columns"
    assert result.code == 0
    assert result.out.startswith(f"N{sentence}")
    assert sentence not in result.err  # once is enough
    assert "no feature was kept" not in result.out
    assert "many features" not in result.out
    model = load(tmp_path / "m")
    assert not len(model.support_)
    assert model.error_ == model.baseline_error_
    assert sentence[1:] in (tmp_path / "page.html").read_text()
    assert f"\nn{sentence} predicts " in run("inspect", tmp_path / "m", capsys=capsys).out
    result = run("fit", tmp_path / "a.svm", *FEW_PATHS, "--json", capsys=capsys)
    assert json.loads(result.out)["kept"] == 0


def test_the_verdict_comes_before_remarks(tmp_path):
    """Where both streams go to a terminal, the first line is about the error of the model."""
    lines = [f"id{k},{k * 37 % 101},{'ab'[k * 37 % 101 > 50]}" for k in range(200)]
    (tmp_path / "a.csv").write_text("id,x,y\n" + "\n".join(lines) + "\n")
    command = [sys.executable, "-u", "-m", "tamis", "fit", "a.csv", *map(str, FEW_PATHS)]
    streams = {"stdout": subprocess.PIPE, "stderr": subprocess.STDOUT, "text": True}
    output = subprocess.run(command, cwd=tmp_path, check=True, **streams).stdout
    assert output.startswith("Error on rows held out")
    assert "tamis: left out as identifiers" in output


def test_test_rows_may_lack_the_last_columns(tmp_path, capsys):
    write_svmlight(X, Y, tmp_path / "a.svm")
    write_svmlight(X[:, :50], Y, tmp_path / "b.svm")
    options = ["--method", "ftrl", "--test", tmp_path / "b.svm"]
    result = run("fit", tmp_path / "a.svm", *options, capsys=capsys)
    assert result.code == 0, result.err
    assert result.out.startswith("Error ")


def test_other_models_state_no_error(tmp_path, capsys):
    """With so few rows no row was predicted before it was learnt."""
    write_svmlight(X[:200], 2 * Y[:200] - 1, tmp_path / "few.svm")
    options = ["--method", "ftrl", "--json"]
    printed = json.loads(run("fit", tmp_path / "few.svm", *options, capsys=capsys).out)
    names = ("error", "standard_error", "baseline_error", "sizes")
    assert [printed[name] for name in names] == [None] * 4
    assert "importance" not in printed["top"][0]


def test_one_pass_has_a_progressive_error_and_that_of_guessing(folder, tmp_path, capsys):
    write_svmlight(X, np.random.default_rng(0).permutation(Y), tmp_path / "noise.svm")
    for path, text in (
        (folder / "train.svm", "on 44 rows before they were learnt; always the most frequent "),
        (tmp_path / "noise.svm", "No better than guessing: the difference, "),
    ):
        page = ["--report", tmp_path / "page.html"]
        result = run("fit", path, "--method", "ftrl", *page, capsys=capsys)
        assert text in result.out
        assert result.out.startswith("Error ")
        assert text in (tmp_path / "page.html").read_text()
        printed = json.loads(run("fit", path, "--method", "ftrl", "--json", capsys=capsys).out)
        assert printed["better"] is (path.name == "train.svm")
        assert "first pass" in printed["error_of"]
        assert printed["error"] < printed["baseline_error"] or not printed["better"]


def test_features_that_were_seldom_selected_are_marked(capsys):
    line = {"column": 1, "class": "1", "weight": 1.0, "importance": 1.0}
    lines = [
        line | {"name": name, "probability": probability}
        for name, probability in (("sure", 1.0), ("even", 0.5), ("rare", 0.49))
    ]
    print_weights(FeatureWeights(lines, 3, False))
    output = capsys.readouterr().out
    assert [line for line in output.splitlines() if "│" in line and "*" in line] == [
        next(line for line in output.splitlines() if "rare" in line)
    ]
    assert "* 0.49" in output
    assert f"\n* {DOUBT}\n" in output
    print_weights(FeatureWeights(lines[:2], 3, False))
    assert "*" not in capsys.readouterr().out


@pytest.mark.parametrize("importance", [False, True])
def test_the_first_weights_are_those_of_all(importance):
    random = np.random.default_rng(0)
    model = types.SimpleNamespace(support_=np.arange(40) * 3, classes_=np.array(["a", "b", "c"]))
    model.coef_ = np.zeros((3, 120))
    model.coef_[:, model.support_] = random.integers(-2, 3, (3, 40))  # zeros, and many ties
    if importance:
        model.importance_ = np.abs(model.coef_) * random.integers(1, 3, 120)
    all_weights = rank_weights(model, lambda columns: [f"word {c}" for c in columns])
    expected = sorted(
        all_weights.lines,
        key=lambda line: (-line.get("importance", 0), -abs(line["weight"]), line["column"]),
    )
    assert all_weights.lines == expected
    assert all_weights.total == np.count_nonzero(model.coef_)
    for limit in (0, 1, 7, 50):
        first = rank_weights(model, lambda columns: [f"word {c}" for c in columns], limit)
        assert first == (all_weights.lines[:limit], all_weights.total, True)
    assert all_weights.lines[0]["name"] == f"word {all_weights.lines[0]['column']}"


def test_without_runs_inside_there_is_no_probability(tmp_path, capsys):
    (tmp_path / "a.svm").write_text("1 1:1\n0 2:1\n")
    result = run("fit", tmp_path / "a.svm", *FEW_PATHS, capsys=capsys)
    assert result.code == 0
    assert "not known: no row could be held out" in result.out
    assert "importance" in result.out
    assert "probability" not in result.out


@pytest.mark.parametrize("method", ["truncated", "fobos", "rda", "ftrl", "online"])
def test_other_methods_and_json(folder, method, capsys):
    result = run(
        "fit",
        folder / "train.svm",
        "--method",
        method,
        "--passes",
        3,
        "--json",
        "--test",
        folder / "test.svm",
        capsys=capsys,
    )
    printed = json.loads(result.out)
    assert result.code == 0
    assert printed["rows"] == 900
    assert printed["error"] < 0.5
    assert printed["error_of"] == "on the test rows"
    assert len(printed["top"]) == min(20, printed["kept"])
    assert abs(printed["top"][0]["weight"]) >= abs(printed["top"][-1]["weight"])


def test_the_same_command_gives_the_same_bytes(folder, tmp_path, capsys):
    for name in ("a", "b"):
        run("fit", folder / "train.svm", *FEW_PATHS, "--out", tmp_path / name, capsys=capsys)
    assert (tmp_path / "a").read_bytes() == (tmp_path / "b").read_bytes()
    assert str(folder).encode() not in (tmp_path / "a").read_bytes()
    run(
        "fit", folder / "train.svm", *FEW_PATHS, "--seed", 1, "--out", tmp_path / "b", capsys=capsys
    )
    assert (tmp_path / "a").read_bytes() != (tmp_path / "b").read_bytes()


def test_a_table_with_words(folder, tmp_path, capsys):
    result = run(
        "fit",
        folder / "table.csv",
        "--method",
        "ftrl",
        "--passes",
        5,
        "--out",
        tmp_path / "m",
        capsys=capsys,
    )
    assert "colour=green" in result.out
    assert "+ speaks for yes" in result.out
    result = run("predict", tmp_path / "m", folder / "table.csv", capsys=capsys)
    assert result.out.splitlines()[:3] == ["no", "yes", "no"]
    assert "error 0.00% on 300 rows" in result.err
    (tmp_path / "new.csv").write_text("size,colour,age\n1,green,2\n5,violet,3\n")
    assert run("predict", tmp_path / "m", tmp_path / "new.csv", capsys=capsys).out == "yes\nno\n"


def test_numbers_as_targets(tmp_path, capsys):
    (tmp_path / "a.csv").write_text(
        "a,b,y\n" + "".join(f"{k % 7},{k % 5},{2.5 * (k % 7) - 1:.2f}\n" for k in range(400))
    )
    result = run(
        "fit",
        tmp_path / "a.csv",
        "--method",
        "ftrl",
        "--passes",
        30,
        "--out",
        tmp_path / "m",
        capsys=capsys,
    )
    assert "FTRLRegressor" in result.out
    assert "the targets look like numbers" in result.err
    result = run(
        "predict", tmp_path / "m", tmp_path / "a.csv", "-o", tmp_path / "out", capsys=capsys
    )
    assert not result.out
    assert len((tmp_path / "out").read_text().splitlines()) == 400
    assert "mean squared error" in result.err


def test_hashed_features_are_named(tmp_path, capsys):
    text = "".join(
        f"{1 if k % 2 else -1} |w {'good' if k % 2 else 'bad'}:2 filler{k % 9} |u x{k % 4}\n"
        for k in range(200)
    )
    (tmp_path / "a.vw").write_text(text)
    result = run(
        "fit",
        tmp_path / "a.vw",
        "--method",
        "ftrl",
        "--out",
        tmp_path / "m",
        "--json",
        capsys=capsys,
    )
    names = {line["name"] for line in json.loads(result.out)["top"]}
    assert {"w^good", "w^bad"} <= names
    result = run("inspect", tmp_path / "m", "--csv", capsys=capsys)
    assert {"w^good", "w^bad"} <= {line["name"] for line in csv.DictReader(io.StringIO(result.out))}


def test_predictions_and_probabilities(folder, tmp_path, capsys):
    run("fit", folder / "train.svm", "--method", "ftrl", "--out", tmp_path / "m", capsys=capsys)
    model, text = load(tmp_path / "m"), (folder / "test.svm").read_text()
    (tmp_path / "bare.svm").write_text(
        "".join(line.split(" ", 1)[1] for line in text.splitlines(True))
    )
    bare = run("predict", tmp_path / "m", tmp_path / "bare.svm", capsys=capsys)
    assert [int(line) for line in bare.out.split()] == model.predict(
        X[300:, : model.n_features_in_]
    ).tolist()
    assert "error" not in bare.err
    head, *lines = run(
        "predict", tmp_path / "m", folder / "test.svm", "--proba", capsys=capsys
    ).out.splitlines()
    assert head == "-1\t1"
    assert np.allclose(
        [[float(p) for p in line.split("\t")] for line in lines],
        model.predict_proba(X[300:, : model.n_features_in_]),
        atol=1e-8,
    )


def test_inspect(folder, tmp_path, capsys):
    run(
        "fit",
        folder / "train.svm",
        "--method",
        "ftrl",
        "--loss",
        "hinge",
        "--set",
        "alpha=1e-4",
        "--out",
        tmp_path / "m",
        capsys=capsys,
    )
    result = run("inspect", tmp_path / "m", "--top", 4, capsys=capsys)
    assert "alpha=0.0001" in result.out
    assert "loss=hinge" in result.out
    printed = json.loads(run("inspect", tmp_path / "m", "--json", capsys=capsys).out)
    lines = list(
        csv.DictReader(io.StringIO(run("inspect", tmp_path / "m", "--csv", capsys=capsys).out))
    )
    assert printed["kept"] == len(lines) == len(load(tmp_path / "m").support_)
    assert [line["name"] for line in printed["top"]] == [line["name"] for line in lines[:30]]
    assert run("predict", tmp_path / "m", folder / "test.svm", "--proba", capsys=capsys).code == 2


# --------------------------------------------------------------------------- check, compare, report
def test_check(folder, tmp_path, capsys):
    printed = json.loads(run("check", folder / "train.svm", "--json", capsys=capsys).out)
    assert set(printed) >= {
        "files",
        "format",
        "rows",
        "features",
        "nonzeros",
        "density",
        "labels",
        "bad",
        "memory_bytes",
        "file_bytes",
        "suggested",
    }
    assert (printed["rows"], printed["format"], printed["suggested"]) == (300, "svmlight", "sieve")
    assert printed["labels"] == {"-1": int((Y[:300] == 0).sum()), "1": int((Y[:300] == 1).sum())}
    assert printed["nonzeros"] == X[:300].nnz
    rows = sp.csr_array(X[:300], dtype=np.float64)
    memory_bytes = rows.data.nbytes + rows.indices.nbytes + rows.indptr.nbytes
    assert printed["memory_bytes"] == memory_bytes
    assert printed["file_bytes"] == (folder / "train.svm").stat().st_size
    (tmp_path / "bad.svm").write_text("1 1:1\nspam 1:1\n0 2:nan\n0 2:1\n")
    result = run("check", tmp_path / "bad.svm", capsys=capsys)
    assert result.code == 0
    assert "bad lines  2" in result.out
    assert "line 2, column 1: label 'spam'" in result.err
    assert "line 3, column 5: 'nan' is not finite" in result.err


def test_a_sieve_is_suggested_while_its_paths_fit_into_memory():
    labels = dict.fromkeys(range(4), 25)
    assert suggest_method(Survey(rows=100, features=1_000_000, labels=labels))[0] == "sieve"
    method, reason = suggest_method(Survey(rows=100, features=3_000_000, labels=labels))
    assert method == "ftrl"
    assert "12,000,000" in reason


def test_compare_and_report(folder, tmp_path, capsys):
    page = tmp_path / "page.html"
    options = ["--methods", "ftrl,rda", "--runs", 3, "--threads", 1, "--report", page, "--json"]
    files = [folder / "train.svm", "--test", folder / "test.svm"]
    record = json.loads(run("compare", *files, *options, capsys=capsys).out)
    assert record["rows"][0]["model"] == "ftrl"
    assert record["settings"]["test_rows"] == 100
    page_content = Page(page).check()
    assert page_content.sections()[:2] == ["data", "methods"]
    assert "300" in page_content.texts("table")[0]


def test_compare_checks_the_data(tmp_path, capsys):
    lines = [f"{k},{k % 2},{k % 7},{'yes' if k % 2 else 'no'}" for k in range(80)]
    (tmp_path / "a.csv").write_text("\n".join(["id,told,b,y", *lines]) + "\n")
    page = tmp_path / "page.html"
    arguments = [tmp_path / "a.csv", "--methods", "ftrl", "--runs", 2, "--threads", 1]
    result = run("compare", *arguments, "--report", page, capsys=capsys)
    assert result.out.count("TAM010 leak: ") == 1
    assert "told (1.000)" in result.out
    assert "TAM010 leak: " in page.read_text()
    result = run("compare", *arguments, "--silence", "TAM010", capsys=capsys)
    assert result.code == 0
    assert "TAM010" not in result.out
    result = run("compare", *arguments, "--silence", "TAM99", capsys=capsys)
    assert result.code == 1
    assert "no check has the code 'TAM99'" in result.err


@pytest.mark.parametrize("method", ["ftrl", "sieve"])
def test_a_report_of_a_fit(folder, tmp_path, capsys, method):
    page = tmp_path / "fit.html"
    table = folder / "table.csv"
    options = ["--method", method, "--report", page, "--test", table]
    assert run("fit", table, *options, capsys=capsys).code == 0
    content = Page(page).check()
    sections = content.sections()
    assert sections[:3] == ["verdict", "judged", "features"]
    assert {"data", "making"} < set(sections)
    (first,) = content.texts("p", **{"class": "first"})
    assert " on 300 test rows; always " in first
    names = content.data()["name"]
    assert names
    assert set(names) <= {"age", "colour=blue", "colour=green", "colour=red", "size"}
    assert "seed" in content.texts("section", id="making")[0]


# ------------------------------------------------------------------------ in processes of their own
def test_from_standard_input_to_standard_output(folder, tmp_path):
    text = (folder / "train.svm").read_text()
    result = tamis(
        "fit", "-", "--method", "ftrl", "--passes", 2, "--out", tmp_path / "m", given=text
    )
    assert result.code == 0, result.err
    result = tamis("predict", tmp_path / "m", "-", "--format", "svmlight", given=text)
    assert len(result.out.splitlines()) == 300
    result = tamis("check", "-", "--json", given=text)
    assert json.loads(result.out)["rows"] == 300
