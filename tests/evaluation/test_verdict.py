"""The verdict: errors beside guessing, sentences, and each check both found and passed."""

import math
import re

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.linear_model import LinearRegression, LogisticRegression
from sklearn.metrics import precision_score, recall_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import tamis
from tamis.datasets import make_text
from tamis.evaluation import columns
from tamis.evaluation.checks import CHECKS, FOUND, PASSED, SILENCED, UNKNOWN, run_checks
from tamis.evaluation.evaluation import MAX_SAMPLE_ROWS, EvaluationData
from tamis.evaluation.summary import evaluate
from tamis.reporting.evaluation.figures import curve_charts
from tamis.reporting.page.svg import Panel

pytestmark = pytest.mark.quick

RNG = np.random.default_rng(0)
X = RNG.normal(size=(600, 12))
Y = (X[:, 0] + X[:, 1] + 0.5 * RNG.normal(size=600) > 0).astype(int)
MODEL = LogisticRegression().fit(X[:300], Y[:300])


def state(code, model=MODEL, X=X[300:], y=Y[300:], **more):
    """State of one check, and the check."""
    evidence = EvaluationData(model, X, y, **more)
    actual = run_checks(evidence, [one for one in CHECKS if one != code])
    return next(check for check in actual if check.code == code)


# --------------------------------------------------------------------------- errors
def test_error_and_baseline_are_those_of_the_rows():
    evaluation = evaluate(EvaluationData(MODEL, X[300:], Y[300:]))
    wrong = MODEL.predict(X[300:]) != Y[300:]
    assert evaluation.error == wrong.mean()
    assert evaluation.standard_error == pytest.approx(math.sqrt(wrong.var(ddof=1) / 300))
    assert evaluation.baseline_error == 1.0 - np.bincount(Y[300:]).max() / 300
    assert evaluation.better
    assert evaluation.error_sentence().startswith(f"Error {100 * wrong.mean():.1f} % ± ")
    assert " on 300 test rows; always " in evaluation.error_sentence()
    assert evaluation.gain_sentence().startswith("Better than guessing, by ")


def test_the_baseline_is_learnt_where_the_model_learnt():
    y = np.array([0] * 10 + [1] * 5)
    evaluation = evaluate(
        EvaluationData(MODEL, X[:15], y, X_train=X[:3], y_train=np.array([1, 1, 0]))
    )
    assert evaluation.baseline == "always 1"
    assert evaluation.baseline_error == pytest.approx(10 / 15)


@pytest.mark.parametrize("seed", range(5))
def test_noise_is_no_better_than_guessing(seed):
    y = np.random.default_rng(seed).integers(0, 2, 300)
    evaluation = evaluate(EvaluationData(MODEL, X[300:], y))
    assert evaluation.better is False
    assert "guessing" in evaluation.gain_sentence()


def test_worse_than_guessing_is_said():
    y = np.where(np.arange(300) < 290, 1 - MODEL.predict(X[300:]), 0)
    assert (
        evaluate(EvaluationData(MODEL, X[300:], y))
        .gain_sentence()
        .startswith("Worse than guessing")
    )


def test_numbers_are_judged_by_squares():
    y = 2.0 * X[:, 0] + RNG.normal(size=600)
    model = LinearRegression().fit(X[:300], y[:300])
    evaluation = evaluate(EvaluationData(model, X[300:], y[300:]))
    assert evaluation.error == pytest.approx(np.mean((model.predict(X[300:]) - y[300:]) ** 2))
    assert evaluation.baseline_error == pytest.approx(y[300:].var())
    assert evaluation.baseline == "always the mean"
    assert evaluation.better


def test_several_labels_a_row():
    Y2 = np.column_stack((Y, 1 - Y))
    model = tamis.FTRLClassifier(random_state=0).fit(X[:300], Y2[:300])
    evaluation = evaluate(EvaluationData(model, X[300:], Y2[300:]))
    assert evaluation.error == pytest.approx((model.predict(X[300:]) != Y2[300:]).mean())
    assert "label" in evaluation.baseline


def test_chunks_are_judged_as_one():
    at_once = EvaluationData(MODEL, X[300:], Y[300:])
    in_chunks = EvaluationData.from_chunks(
        MODEL, [(X[a : a + 70], Y[a : a + 70]) for a in range(300, 600, 70)]
    )
    assert evaluate(in_chunks) == evaluate(at_once)
    np.testing.assert_array_equal(in_chunks.rows.toarray(), at_once.rows.toarray())
    assert [c[:5] for c in run_checks(in_chunks)] == [c[:5] for c in run_checks(at_once)]


@pytest.mark.parametrize("width", [5, 40])
def test_files_that_are_narrower_or_wider_than_a_model_that_grows(width):
    """Of which columns are looked at as far as the model has them."""
    model = tamis.FTRLClassifier(grow=True).partial_fit(X[:300], Y[:300], classes=[0, 1])
    rows = sp.csr_array(np.hstack((X[300:], np.ones((300, 28))))[:, :width])
    in_chunks = [(rows[:200, : width - 1], Y[300:500]), (rows[200:], Y[500:])]
    actual = EvaluationData.from_chunks(model, in_chunks)
    assert actual.rows.shape == (300, 12)
    common = min(width, 12)
    np.testing.assert_array_equal(actual.rows[[250], :common].toarray()[0], X[550, :common])
    assert len(run_checks(actual)) == len(CHECKS)


def test_classes_of_a_file_are_whole_numbers():
    """Which holds floats: a page says 1, not 1.0."""
    rows = sp.csr_array(X)
    model = tamis.FTRLClassifier().fit(rows[:300], 2 * Y[:300] - 1)
    actual = EvaluationData.from_chunks(model, [(rows[300:], 2.0 * Y[300:] - 1.0)])
    assert actual.y.dtype.kind == "i"
    message = next(check.said for check in run_checks(actual) if check.code == "TAM002")
    assert "1.0" not in message


def test_a_pipeline_is_judged_by_its_last_step():
    words = np.array(["good", "bad", *(f"word{j}" for j in range(12))])
    texts = [" ".join([words[y], *words[2:][row > 0]]) for y, row in zip(Y, X, strict=True)]
    steps = TfidfVectorizer(), tamis.SieveClassifier(random_state=0)
    actual = tamis.report(make_pipeline(*steps).fit(texts[:300], Y[:300]), texts[300:], Y[300:])
    assert actual.title == "SieveClassifier"
    assert actual.better
    assert "leak" in str(actual)
    assert " bad" in next(check.said for check in actual.checks if check.code == "TAM010")
    scaled = make_pipeline(StandardScaler(), LogisticRegression()).fit(X[:300], Y[:300])
    apart = tamis.report(scaled[-1], scaled[0].transform(X[300:]), Y[300:])
    assert tamis.report(scaled, X[300:], Y[300:]).sentences == apart.sentences


def test_of_many_rows_some_are_looked_at():
    tiled = np.tile(X, (40, 1))
    evidence = EvaluationData(MODEL, tiled, np.tile(Y, 40))
    assert evidence.rows.shape[0] == MAX_SAMPLE_ROWS
    np.testing.assert_array_equal(
        evidence.rows[[7]].toarray()[0], tiled[evidence.sample_indices[7]]
    )
    assert len(evidence.losses) == len(tiled)


@pytest.mark.parametrize("given", [(X, None), (None, Y), (X, Y[:5]), (X[:0], Y[:0])])
def test_rows_without_targets_are_refused(given):
    with pytest.raises(ValueError, match="target"):
        EvaluationData(MODEL, *given)


def test_a_model_that_is_not_fitted():
    with pytest.raises(ValueError, match="not fitted"):
        EvaluationData(LogisticRegression(), X, Y)


# --------------------------------------------------------------------------- columns
def test_substitutes_are_the_correlated_columns():
    Z = np.random.default_rng(1).random((400, 40))
    Z = sp.lil_array(np.where(Z < 0.3, Z, 0.0))
    Z[:, [7]] = 3.0 * Z[:, [2]]
    Z = sp.csr_array(Z)
    means, spreads, _ = columns.column_moments(Z)
    actual = columns.find_substitutes(Z, np.array([2, 5]), means, spreads)
    assert list(actual) == [2]
    assert actual[2] == [(7, pytest.approx(1.0))]
    dense = Z.toarray()
    np.testing.assert_allclose(means, dense.mean(axis=0))
    np.testing.assert_allclose(spreads, dense.std(axis=0), atol=1e-12)


def test_equal_rows_are_counted():
    Z = sp.csr_array(np.array([[1.0, 0, 2], [0, 0, 0], [1, 0, 2], [0, 0, 0], [2, 0, 1]]))
    assert columns.count_equal_rows(Z) == 2


# --------------------------------------------------------------------------- checks
def test_all_pass_on_good_rows():
    actual = {
        check.code: check.state for check in run_checks(EvaluationData(MODEL, X[300:], Y[300:]))
    }
    assert FOUND not in actual.values()
    assert actual["TAM001"] == PASSED
    assert actual["TAM003"] == actual["TAM011"] == UNKNOWN


def test_no_better_than_guessing_is_found():
    actual = state("TAM001", y=np.random.default_rng(0).integers(0, 2, 300))
    assert actual.state == FOUND
    assert actual.severity == "serious"
    assert "features" in actual.advice


def test_a_rare_class_is_found():
    y = np.zeros(300, int)
    y[:6] = 1
    assert "2.0%" in state("TAM002", y=y).said
    assert state("TAM002").state == PASSED


def test_a_rare_label_is_counted_by_rows_and_gets_no_advice_for_classes():
    labels = np.ones((300, 3), int)
    labels[:, 1:] = np.arange(300)[:, None] % (2, 16) == 0
    model = tamis.FTRLClassifier(random_state=0).fit(X[300:], labels)
    assert "rarest label, 2, has 6% of the rows" in state("TAM002", model, y=labels).said.lower()
    labels[:, 2] = np.arange(300) < 6
    actual = state("TAM002", model, y=labels)
    assert "label 2 has 2.0% of the rows" in actual.said.lower()
    assert "class_weight" not in actual.advice


def test_too_few_rows_are_found():
    y = np.zeros(300, int)
    y[:6] = 1
    actual = state("TAM012", y=y)
    assert "1 (6)" in actual.said
    assert state("TAM012", y=y, X_train=X, y_train=Y).state == PASSED


def test_the_edge_of_the_ladder_is_found():
    Z, y, _ = make_text(n_samples=400, n_features=300, random_state=0)
    sieve = tamis.SieveClassifier(random_state=0).fit(Z, y)
    assert state("TAM003", sieve, Z, y).state == PASSED
    model = LogisticRegression().fit(X, Y)
    model.sizes_ = {"size": np.array([8, 4, 2, 1])}
    for size, expected in ((8, FOUND), (4, PASSED)):
        model.resolved_params_ = {"n_features": size, "threshold": 0.3}
        assert state("TAM003", model).state == expected
    model.resolved_params_ = {"n_features": 8, "threshold": math.inf}  # it was asked for
    assert state("TAM003", model).state == PASSED


def test_seldom_selected_features_are_found():
    model = LogisticRegression().fit(X, Y)
    model.selection_probability_ = np.full((1, 12), 0.9)
    assert state("TAM004", model).state == PASSED
    model.selection_probability_[0, 3] = 0.2
    actual = state("TAM004", model, names=[f"x{k}" for k in range(12)])
    assert "1 of 12 kept features" in actual.said
    assert "x3 (0.20)" in actual.said


def test_twins_are_found_by_name():
    Z = np.column_stack((X, X[:, 0] + 0.01 * RNG.normal(size=600)))
    model = LogisticRegression().fit(Z, Y)
    actual = state("TAM005", model, Z, Y, names=[f"x{k}" for k in range(13)])
    assert actual.state == FOUND
    assert "x0 (x12)" in actual.said
    assert state("TAM005").state == PASSED


@pytest.fixture(scope="module")
def text():
    return make_text(n_samples=3000, n_features=3000, n_informative=12, words=40, random_state=0)


class Keeps:
    """A model of probabilities that keeps the columns it is told."""

    def __init__(self, columns, rows, y):
        self.columns = np.asarray(columns)
        self.model = LogisticRegression(C=100.0).fit(rows[:, self.columns], y)
        self.classes_, self.n_features_in_ = self.model.classes_, rows.shape[1]
        self.coef_ = np.zeros((1, rows.shape[1]))
        self.coef_[0, self.columns] = self.model.coef_[0]

    def __sklearn_tags__(self):
        return self.model.__sklearn_tags__()

    def predict(self, rows):
        return self.model.predict(rows[:, self.columns])

    def predict_proba(self, rows):
        return self.model.predict_proba(rows[:, self.columns])


def test_common_words_that_tell_are_no_preference_for_dense_columns(text):
    """The dense words that decide are kept, and no rare one decides: the selection is what the
    target needs.
    """
    rows, _, _ = text
    shares = np.asarray((rows != 0).mean(axis=0)).ravel()
    telling = np.argsort(-shares)[5:15]
    score = rows[:, telling] @ np.where(np.arange(10) % 2, 1.0, -1.0)
    y = (score > np.median(score)).astype(int)
    actual = state("TAM006", Keeps(telling, rows, y), rows, y)
    assert actual.state == PASSED
    assert "no rarer ones" in actual.said
    sieve = tamis.SieveClassifier(random_state=0).fit(rows[:2000], y[:2000])
    assert state("TAM006", sieve, rows[2000:], y[2000:]).state != FOUND


def test_a_sieve_of_text_is_not_blamed_and_a_biased_selection_is(text):
    rows, y, planted = text
    model = tamis.SieveClassifier(random_state=0).fit(rows[:2000], y[:2000])
    assert state("TAM006", model, rows[2000:], y[2000:]).state != FOUND
    shares = np.asarray((rows != 0).mean(axis=0)).ravel()
    dense = np.setdiff1d(np.argsort(-shares)[:20], planted)
    actual = state("TAM006", Keeps(dense, rows, y), rows, y, names=[f"w{j}" for j in range(3000)])
    assert actual.state == FOUND
    named = actual.said.split(": ")[1].split(" and ")[0].rstrip(".").split(", ")
    assert {int(name[1:]) for name in named} <= set(planted.tolist())


def test_a_preference_for_dense_columns_is_found():
    Z = (RNG.random((500, 400)) < np.linspace(0.01, 0.6, 400)).astype(float)
    y = Z[:, 20:23].sum(axis=1) > 0
    model = LogisticRegression().fit(Z, y)
    model.intercept_[:] = 0.0
    for kept, expected in ((np.arange(394, 400), FOUND), (np.arange(0, 400, 50), PASSED)):
        model.coef_ = np.zeros((1, 400))
        model.coef_[0, kept] = 1.0
        assert state("TAM006", model, Z, y).state == expected
    Z = RNG.normal(size=(500, 400))
    Z[RNG.random((500, 400)) < 0.01] = 0.0  # filled nearly everywhere: nothing to prefer
    Z[:, 394:] += 10.0
    model.coef_ = np.zeros((1, 400))
    model.coef_[0, 394:] = 1.0
    assert state("TAM006", model, Z, Z[:, 0] > 0).state == PASSED


def test_units_are_found_and_the_sieve_does_not_mind():
    Z = X * np.array([1e6] + [1.0] * 11)
    assert "column 0" in state("TAM007", LogisticRegression(max_iter=9999).fit(Z, Y), Z, Y).said
    assert state("TAM007", tamis.SieveClassifier(random_state=0).fit(Z, Y), Z, Y).state == PASSED


def test_identifiers_are_found():
    Z = np.column_stack((X, np.arange(600.0)))
    assert "column 12" in state("TAM008", LogisticRegression().fit(Z, Y), Z, Y).said
    assert state("TAM008").state == PASSED


def test_copies_are_found():
    Z, y = np.vstack((X[300:], X[300:310])), np.concatenate((Y[300:], Y[300:310]))
    assert "10 of 310 rows" in state("TAM009", X=Z, y=y).said


@pytest.mark.parametrize("numbers", [False, True])
def test_a_leak_is_found(numbers):
    y = X @ np.arange(12.0) if numbers else Y
    Z = np.column_stack((X, y + 0.01 * RNG.normal(size=600)))
    model = (LinearRegression() if numbers else LogisticRegression()).fit(Z, y)
    assert "column 12" in state("TAM010", model, Z, y).said
    assert state("TAM010").state == PASSED


def test_a_shift_is_found():
    moved = X[300:] + np.array([1.0] + [0.0] * 11)
    actual = state("TAM011", X=moved, X_train=X[:300], y_train=Y[:300])
    assert "1 kept columns" in actual.said
    assert "column 0" in actual.said
    assert state("TAM011", X_train=X[:300], y_train=Y[:300]).state == PASSED


def test_checks_are_silenced_by_code():
    actual = run_checks(EvaluationData(MODEL, X, Y), ["TAM009"])
    assert [check.code for check in actual if check.state == SILENCED] == ["TAM009"]
    with pytest.raises(ValueError, match="TAM999"):
        run_checks(EvaluationData(MODEL, X, Y), ["TAM999"])


def test_every_estimator_of_scikit_learn_and_ours_gets_a_report():
    for model in (MODEL, tamis.SCWClassifier(random_state=0).fit(X, Y)):
        report = tamis.report(model, X, Y)
        assert len(report.checks) == len(CHECKS)
        assert report.sentences[0] in repr(report)
        assert report.sentences[0] in report.to_markdown()
        assert "<script" not in report._repr_html_()


def test_models_report_of_themselves():
    model = tamis.SieveClassifier(random_state=0).fit(X[:300], Y[:300])
    own, asked = model.report(X[300:], Y[300:]), tamis.report(model, X[300:], Y[300:])
    assert own.sentences == asked.sentences
    assert own.checks == asked.checks
    from tamis.reporting.page.page import write_page

    assert write_page is tamis.write_page  # the package is there too
    assert callable(tamis.report)


def test_a_page_of_a_report(tmp_path):
    model = tamis.SieveClassifier(random_state=0).fit(X[:300], Y[:300])
    actual = tamis.report(model, X[300:], Y[300:], tmp_path / "page.html", title="One <two>")
    page = (tmp_path / "page.html").read_text()
    assert "One &lt;two&gt;" in page
    assert actual.sentences[0].replace("'", "&#x27;") in page
    for key in ("verdict", "judged", "features", "examples"):
        assert f'<section id="{key}">' in page
    right = np.flatnonzero(model.predict(X[300:]) == Y[300:])
    surest = right[np.argmax(np.abs(model.decision_function(X[300:])[right]))]
    assert f"right, row {surest + 1}<" in page  # from 1, as `tamis explain` counts


def test_the_point_of_a_curve_is_where_the_model_decides(monkeypatch):
    drawn = []
    monkeypatch.setattr(Panel, "dot", lambda panel, x, y, *more: drawn.append((panel.title, x, y)))
    curve_charts(EvaluationData(MODEL, X[300:], Y[300:]))
    guess, truth = MODEL.predict(X[300:]), Y[300:]
    recall = recall_score(truth, guess)
    assert drawn == [
        ("ROC curve", pytest.approx(np.mean(guess[truth == 0])), pytest.approx(recall)),
        ("Precision and recall", pytest.approx(recall), precision_score(truth, guess)),
    ]


def test_a_page_tells_labels_apart(tmp_path):
    labels = np.stack((Y, np.zeros(600, int), X[:, 2] > 0), axis=1).astype(int)
    labels[:4, 1] = 1
    model = tamis.FTRLClassifier(random_state=0).fit(X[:300], labels[:300])
    tamis.report(model, X[300:], labels[300:], tmp_path / "page.html")
    page = (tmp_path / "page.html").read_text()
    table = page.split("Labels one by one")[1].split("</table>")[0]
    rows = [re.findall(r"<td[^>]*>(.*?)</td>", row) for row in table.split("<tr>")[2:]]
    told = model.predict(X[300:])[:, 0]
    expected = [int(Y[300:].sum()), int(told.sum())]
    actual = next(row for row in rows if ">0<" in row[0])
    assert [int(cell) for cell in actual[1:3]] == expected
    right = int((told * Y[300:]).sum())
    assert actual[3:5] == [f"{100 * right / part:.1f} %" for part in reversed(expected)]
    # No row has the second label, and none is given it: no shares.
    assert [row[1:] for row in rows if ">1<" in row[0]] == [["0", "0", "–", "–", "0.0 %"]]


def test_gaps_in_the_targets_are_refused():
    model = LinearRegression().fit(X, X[:, 0])
    with pytest.raises(ValueError, match="y has 1 gaps"):
        tamis.report(model, X[:3], [1.0, np.nan, 2.0])


def test_very_wide_rows_are_judged_without_a_look_at_their_columns(monkeypatch):
    monkeypatch.setattr("tamis.evaluation.evaluation.MAX_COLUMNS", 5)
    evidence = EvaluationData(MODEL, X[300:], Y[300:])
    assert evidence.rows is None
    assert evaluate(evidence).better
    assert state("TAM005").state == UNKNOWN
    assert tamis.report(MODEL, X[300:], Y[300:])._repr_html_()


def test_a_frame_with_words_is_judged_by_the_reading_of_a_file(tmp_path):
    pandas = pytest.importorskip("pandas")
    frame = pandas.DataFrame({"x": X[:, 0], "colour": np.where(Y > 0, "red", "blue"), "y": Y})
    frame.to_csv(tmp_path / "t.csv", index=False)
    rows = tamis.open_rows(tmp_path / "t.csv", target="y")
    tamis.save(tamis.train(tamis.FTRLClassifier(), rows, progress=False), tmp_path / "m.tamis")
    actual = tamis.report(tamis.load(tmp_path / "m.tamis"), frame.drop(columns="y"), Y)
    assert actual.better
    assert "colour=" in next(check.said for check in actual.checks if check.code == "TAM010")


def test_a_shift_is_large_and_sure():
    train = {"X_train": X[:300], "y_train": Y[:300]}
    few = X[300:306] + 0.5  # half a spread, which six rows do not show
    assert state("TAM011", X=few, y=Y[300:306], **train).state == PASSED
    tiled = {"X_train": np.tile(X[:300], (60, 1)), "y_train": np.tile(Y[:300], 60)}
    slight = np.tile(X[:300], (60, 1)) + 0.1  # sure, and too small to matter
    assert state("TAM011", X=slight, y=np.tile(Y[:300], 60), **tiled).state == PASSED
