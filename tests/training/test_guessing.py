"""Progressive errors, and errors of the baseline that predicts from the rows before."""

import itertools

import numpy as np
import pytest
import scipy.sparse as sp

import tamis
from tamis import FDRSelector, FTRLClassifier, FTRLRegressor, open_rows, train
from tamis.base.scores import (
    ZERO_SUMS,
    add_losses,
    baseline_losses,
    summarize_losses,
    update_baseline,
)
from tamis.cli.commands.demo import write_svmlight
from tamis.datasets import make_text
from tamis.evaluation.evaluation import EvaluationData
from tamis.evaluation.summary import evaluate

X, Y, _ = make_text(n_samples=1500, n_features=60, n_informative=6, words=12, random_state=0)
EDGES = [0, 256, 1024, 1500]  # where the first chunk is cut
WEIGHTS = np.random.default_rng(0).integers(1, 4, 1500).astype(float)


def pieces():
    return [slice(a, b) for a, b in itertools.pairwise(EDGES)]


def chunk(targets, weights=None):
    return [tamis.data.rows.Rows(X, targets, 0, weights=weights)]


@pytest.mark.parametrize("weights", [None, WEIGHTS], ids=["plain", "weighed"])
@pytest.mark.parametrize("kind", ["classes", "numbers"])
def test_guessing_by_hand(kind, weights):
    """Model and baseline learn the same pieces and predict the next one."""
    y = Y if kind == "classes" else X[:, [3]].toarray().ravel() + 5.0
    new_model = FTRLClassifier if kind == "classes" else FTRLRegressor
    model = train(new_model(), chunk(y, weights), validate="progressive")
    expected_model, losses, baseline_losses_seen, row_weights = (
        new_model(),
        [],
        [],
        np.ones(1500) if weights is None else weights,
    )
    for k, piece in enumerate(pieces()):
        if k:
            targets_before = y[: piece.start]
            if kind == "classes":
                guess = np.argmax(np.bincount(targets_before, weights=row_weights[: piece.start]))
                losses.append(expected_model.predict(X[piece]) != y[piece])
                baseline_losses_seen.append(y[piece] != guess)
            else:
                guess = np.average(targets_before, weights=row_weights[: piece.start])
                losses.append((expected_model.predict(X[piece]) - y[piece]) ** 2)
                baseline_losses_seen.append((y[piece] - guess) ** 2)
        keywords = {"classes": [0, 1]} if kind == "classes" and not k else {}
        expected_model.partial_fit(X[piece], y[piece], sample_weight=row_weights[piece], **keywords)
    losses, baseline_losses_seen, row_weights = (
        np.concatenate(losses) * 1.0,
        np.concatenate(baseline_losses_seen) * 1.0,
        row_weights[256:],
    )
    entry = model.train_history_[-1]
    assert entry["judged"] == 1244
    assert entry["error"] == pytest.approx(np.average(losses, weights=row_weights))
    assert entry["baseline_error"] == pytest.approx(
        np.average(baseline_losses_seen, weights=row_weights)
    )
    for name, values in (("standard_error", losses), ("gain_error", baseline_losses_seen - losses)):
        mean = np.average(values, weights=row_weights)
        variance = np.average((values - mean) ** 2, weights=row_weights)
        effective_rows = row_weights.sum() ** 2 / (row_weights**2).sum()
        assert entry[name] == pytest.approx(np.sqrt(variance / (effective_rows - 1)))
    assert (entry["baseline_error"] > 2 * entry["error"]) == (kind == "classes")
    # Pieces change no bit.
    assert np.array_equal(model.coef_, train(new_model(), chunk(y, weights)).coef_)


def test_several_labels_are_guessed_one_by_one():
    labels = np.c_[Y, np.ones(1500, int), np.arange(1500) % 3 == 0].astype(int)
    known_targets = []
    update_baseline(known_targets, sp.csr_array(labels[:500]), None, True)
    update_baseline(known_targets, sp.csr_array(labels[500:900]), None, True)
    frequencies = labels[:900].mean(axis=0)
    assert [frequency for frequency, _ in known_targets] == pytest.approx(frequencies)
    expected = (labels[900:] != (frequencies > 0.5)).mean(axis=1)
    assert np.array_equal(baseline_losses(known_targets, labels[900:], True), expected)


def test_of_classes_equally_frequent_the_lowest_is_guessed():
    known_targets = []
    update_baseline(known_targets, np.array(["pear", "apple"]), None, True)
    assert baseline_losses(known_targets, np.array(["apple", "pear"]), True).tolist() == [0.0, 1.0]


def test_a_model_that_goes_on_is_not_compared_with_guessing():
    """The baseline does not know the rows that the model has learnt before."""
    model = train(FTRLClassifier(), chunk(Y))
    train(model, chunk(Y), validate="progressive")
    assert "error" in model.train_history_[-1]
    assert "baseline_error" not in model.train_history_[-1]
    sums = list(ZERO_SUMS)
    add_losses(sums, np.ones(3), baseline_losses([], np.ones(3), True), None)
    assert summarize_losses(sums) == {"error": 1.0}


def test_a_model_without_rows_is_judged_by_what_was_noted():
    model = train(FTRLClassifier(), chunk(Y), validate="progressive")
    evaluation = evaluate(EvaluationData(model))
    assert evaluation.better
    assert " on 1,244 rows before they were learnt" in evaluation.error_sentence()
    noise = np.random.default_rng(1).permutation(Y)
    assert (
        evaluate(
            EvaluationData(train(FTRLClassifier(), chunk(noise), validate="progressive"))
        ).better
        is False
    )
    assert evaluate(EvaluationData(train(FTRLClassifier(), chunk(Y)))).better is None
    assert tamis.report(model).better
    assert tamis.report(model, X, Y).sentences[0].count("test rows") == 1


def test_the_noted_errors_go_with_the_model(tmp_path):
    model = train(FTRLClassifier(), chunk(Y), validate="progressive")
    tamis.save(model, tmp_path / "m")
    assert tamis.report(tamis.load(tmp_path / "m")).sentences == tamis.report(model).sentences
    tamis.report(model, path=tmp_path / "page.html")
    page = (tmp_path / "page.html").read_text()
    assert "before they were learnt" in page


# --------------------------------------------------------------------------- nothing to learn
@pytest.mark.parametrize("new", [FTRLRegressor, tamis.SieveRegressor])
@pytest.mark.parametrize("suffix", ["svm", "csv"])
@pytest.mark.parametrize("grow", [False, True])
def test_a_file_of_one_number_is_refused(tmp_path, new, suffix, grow):
    path = tmp_path / f"a.{suffix}"
    if suffix == "svm":
        write_svmlight(X[:60], np.full(60, 2.5), path)
    else:
        path.write_text("a,y\n" + "".join(f"{k % 7},2.5\n" for k in range(60)))
    model = new() if "grow" not in new().get_params() else new(grow=grow)
    with pytest.raises(ValueError, match=r"target .* 2\.5 "):
        train(model, open_rows(path), progress=False)


@pytest.mark.parametrize("grow", [False, True])
def test_one_class_is_refused(tmp_path, grow):
    write_svmlight(X[:60], np.ones(60, int), tmp_path / "a.svm")
    with pytest.raises(ValueError, match="holds only one class: 1"):
        train(FTRLClassifier(grow=grow), open_rows(tmp_path / "a.svm"), progress=False)
    if grow:
        with pytest.raises(ValueError, match="holds only one class: 1"):
            train(FTRLClassifier(grow=True), [(X[:60], np.ones(60, int))])


def test_one_class_is_refused_alike_wherever_the_rows_come_from(tmp_path):
    rows, y, path = X[:60], np.ones(60, int), tmp_path / "a.svm"
    write_svmlight(rows, y, path)
    fits = {
        "FTRLClassifier": [
            lambda: FTRLClassifier().fit(rows, y),
            lambda: train(FTRLClassifier(), open_rows(path), progress=False),
            lambda: tamis.distributed.fit(FTRLClassifier(), [(rows, y)], progress=False),
        ],
        "FDRSelector": [
            lambda: FDRSelector(targets="classes").fit(rows, y),
            lambda: FDRSelector(targets="classes").fit_rows(open_rows(path), progress=False),
        ],
    }
    for name, fit_functions in fits.items():
        messages = set()
        for fit in fit_functions:
            with pytest.raises(ValueError, match=f"^{name} .* one class: 1") as refused:
                fit()
            messages.add(str(refused.value))
        assert len(messages) == 1


def test_a_fitted_model_may_go_on_with_one_number(tmp_path):
    write_svmlight(X[:60], np.full(60, 2.0), tmp_path / "a.svm")
    model = FTRLRegressor(grow=True).fit(X[:, :60], Y)
    assert train(model, open_rows(tmp_path / "a.svm")).t_ > 1500
