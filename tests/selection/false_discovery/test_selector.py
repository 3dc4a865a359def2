"""The selector as users meet it: kinds of targets, words, warnings and refusals."""

import numpy as np
import pytest
import scipy.sparse as sp
from scipy.stats import false_discovery_control
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline

import tamis
from tamis import FDRSelector


@pytest.fixture(scope="module")
def wide():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(200, 300))
    return X, rng.normal(size=200)


def test_a_table_of_effects(wide):
    X, noise = wide
    y = 2.0 * X[:, 3] - X[:, 8] + 0.5 * noise
    names = np.array([f"gene {j}" for j in range(X.shape[1])], dtype=object)
    pandas = pytest.importorskip("pandas")
    selector = FDRSelector().fit(pandas.DataFrame(X, columns=names), y)
    first, second = selector.table_[:2]
    assert (first["name"], second["name"]) == ("gene 3", "gene 8")
    assert first["low"] < 2.0 < first["high"]
    assert second["low"] < -1.0 < second["high"]
    assert first["pvalue"] <= first["qvalue"] < 1e-6
    assert min(np.abs(first["halves"])) > 3.0
    assert selector.get_feature_names_out().tolist() == ["gene 3", "gene 8"]
    assert "odds_ratio" not in first


def test_intervals_of_effects_cover(wide):
    """Of numbers and of classes, in 60 tables each: at least 85 % of the intervals of 95 %."""
    is_covered = []
    for seed in range(60):
        rng = np.random.default_rng(seed)
        X = rng.normal(size=(400, 40))
        score = X[:, 0] - X[:, 1]
        numbers = FDRSelector().fit(X, score + rng.normal(size=400)).table_
        classes = FDRSelector().fit(X, score + rng.logistic(size=400) > 0).table_
        for rows in (numbers, classes):
            is_covered += [row["low"] < 1.0 < row["high"] for row in rows if row["column"] == 0]
    assert len(is_covered) == 120
    assert np.mean(is_covered) > 0.85


def test_odds_of_a_column_of_one_class_alone_are_finite():
    """As if it had been met in one more row, half in each class: (30 + 1/2) / (1/2)."""
    X = np.zeros((400, 30))
    X[:, 1:] = np.random.default_rng(0).normal(size=(400, 29))
    X[:30, 0] = 1.0
    y = np.arange(400) % 2 == 0
    y[:30] = True
    for table in (X, sp.csr_array(X)):
        row = FDRSelector().fit(table, y).table_[0]
        assert row["column"] == 0
        assert 20.0 < row["odds_ratio"] < 200.0
        assert 1.0 < np.exp(row["low"]) < 10.0
        assert 500.0 < np.exp(row["high"]) < 5000.0


def test_several_classes_have_a_family_each(wide):
    X, noise = wide
    y = np.array(["a", "b", "c"])[np.digitize(2.0 * X[:, 3] + 0.5 * noise, [-1.0, 1.0])]
    selector = FDRSelector().fit(X, y)
    assert selector.qvalues_.shape == (3, 300)
    assert selector.support_.tolist() == [3]
    rows = {row["output"]: row for row in selector.table_ if row["column"] == 3}
    assert rows["a"]["z"] < -4.0 < 4.0 < rows["c"]["z"]


def test_pairs_and_features_of_several_classes_each_keep_the_rate(wide):
    """q-values are the larger of two: of all pairs, and of features by their best class."""
    X, noise = wide
    y = np.digitize(X[:, 3] + X[:, 5] + 0.7 * X[:, 9] + noise, [-0.6, 0.6])
    selector = FDRSelector(substitutes=None).fit(X, y)
    pairs = false_discovery_control(selector.pvalues_.ravel()).reshape(3, 300)
    features = false_discovery_control(np.minimum(3.0 * selector.pvalues_.min(axis=0), 1.0))
    tested = selector.pvalues_ < 1.0
    expected = np.where(tested, np.maximum(pairs, features), 1.0)
    assert selector.qvalues_ == pytest.approx(expected)
    assert (pairs < features)[tested].any()
    assert selector.support_.tolist() == np.flatnonzero(features <= 0.1).tolist()


def test_labels_and_several_targets(wide):
    X, noise = wide
    labels = np.column_stack([X[:, 3] + noise > 0, X[:, 9] - noise > 0]).astype(int)
    selector = FDRSelector().fit(X, labels)
    assert selector.scores_[0, 3] > 4.0
    assert selector.scores_[1, 9] > 4.0
    numbers = np.column_stack([X[:, 3] + noise, X[:, 9] - noise])
    selector = FDRSelector().fit(X, numbers)
    assert selector.scores_.shape == (2, 300)
    assert selector.scores_[1, 9] > 4.0
    assert [row["output"] for row in selector.table_[:2]] in ([0, 1], [1, 0])


def test_whole_numbers_are_classes_unless_said(wide):
    X, noise = wide
    y = np.round(3.0 * X[:, 3] + noise)
    assert FDRSelector(targets="numbers").fit(X, y).support_.tolist() == [3]
    assert not hasattr(FDRSelector(targets="numbers").fit(X, y), "classes_")
    assert FDRSelector().fit(X, y > 0).classes_.tolist() == [False, True]


def test_rare_classes():
    rng = np.random.default_rng(1)
    X = rng.normal(size=(1000, 200))
    y = X[:, 3] * 2.0 + rng.logistic(size=1000) > 5.0
    assert 0.02 < y.mean() < 0.15
    assert FDRSelector().fit(X, y).support_.tolist() == [3]


@pytest.mark.parametrize("screen", ["ftrl", "rda"])
@pytest.mark.parametrize("kind", ["numbers", "classes"])
def test_one_pass_screens_find_it_too(wide, screen, kind):
    rng = np.random.default_rng(2)
    X = rng.normal(size=(2000, 200))
    y = X[:, 3] - X[:, 9] + rng.normal(size=2000)
    y = y if kind == "numbers" else (y > 0).astype(int)
    for table in (X, sp.csr_array(np.where(np.abs(X) > 1.0, X, 0.0))):
        selector = FDRSelector(screen=screen).fit(table, y)
        assert {3, 9} <= set(selector.support_)
        assert len(selector.support_) <= 4


def test_it_stands_in_a_pipeline(wide):
    X, noise = wide
    y = X[:, 3] + 0.3 * noise > 0
    model = make_pipeline(FDRSelector(), LogisticRegression()).fit(X, y)
    assert model.score(X, y) > 0.8
    assert model[-1].n_features_in_ == len(model[0].support_)


def test_halves_of_the_rows_replicate_what_is_strong(wide):
    X, noise = wide
    found = FDRSelector().replicate(X, 2.0 * X[:, 3] + noise)
    assert all(3 in support for support in found["supports"])
    assert 0.0 < found["kappa"] <= 1.0


def test_twins_among_few_columns_are_no_common_factor():
    """They are the largest component of so small a table, and a control that would hide both."""
    rng = np.random.default_rng(1)
    X = rng.normal(size=(400, 6))
    X[:, 1] = X[:, 0] + 0.1 * rng.normal(size=400)
    selector = FDRSelector().fit(X, X[:, 0] + rng.normal(size=400))
    assert selector.n_components_ == 1
    assert len(selector.support_) == 1
    assert selector.support_[0] in (0, 1)


def test_a_common_factor_hides_what_leans_on_it():
    """A batch moves all columns and the target; only two columns tell more than it."""
    n_false = []
    for seed in range(8):
        rng = np.random.default_rng(seed)
        batch = rng.normal(size=(300, 1))
        X = rng.normal(size=(300, 400)) + batch * rng.uniform(0.0, 1.2, 400)
        y = X[:, 3] - X[:, 9] + batch[:, 0] + rng.normal(size=300)
        selector = FDRSelector(substitutes=None).fit(X, y)
        assert selector.n_components_ == 1
        assert {3, 9} <= set(selector.support_)
        n_false.append(len(selector.support_) - 2)
    assert np.mean(n_false) <= 1.0


def test_many_columns_of_noise_do_not_let_in_more_noise():
    """The penalty goes by what the lasso leaves; by least squares on what it keeps, each noise
    column that came in made way for others, up to a quarter of the rows.
    """
    rng = np.random.default_rng(0)
    X = rng.normal(size=(200, 20_000))
    y = X[:, :4].sum(axis=1) + rng.normal(size=200)
    selector = FDRSelector(substitutes=None).fit(X, y)
    assert len(selector.controls_[0]) < 40
    assert {0, 1, 2, 3} <= set(selector.support_)
    assert len(selector.support_) <= 5


# --------------------------------------------------------------------------- words
def test_copies_of_rows_are_told(wide):
    X, noise = wide
    y = X[:, 3] + noise
    with pytest.warns(UserWarning, match="50% of the rows repeat others"):
        FDRSelector().fit(np.vstack([X, X]), np.concatenate([y, y]))


def test_columns_too_rare_are_told():
    rng = np.random.default_rng(0)
    X = (rng.random((300, 200)) < 0.02).astype(float)
    X[:, :20] = rng.random((300, 20)) < 0.3
    y = X[:, 3] + 0.3 * rng.normal(size=300)
    with pytest.warns(UserWarning, match=r"fewer than \d+ rows"):
        selector = FDRSelector().fit(sp.csr_array(X), y)
    assert selector.n_rare_ == 180
    assert selector.ones_needed_ >= 12
    assert selector.support_.tolist() == [3]


def test_noise_gives_an_empty_table_and_a_word(wide):
    X, _ = wide
    selector = FDRSelector(q=1e-4).fit(X, np.random.default_rng(5).normal(size=200))
    assert selector.support_.size == 0
    with pytest.warns(UserWarning, match="No features were selected"):
        assert selector.transform(X).shape == (200, 0)


@pytest.mark.parametrize("y", [np.zeros(200), np.full(200, 2.5)])
def test_constant_numbers_have_no_candidates(wide, y):
    X, _ = wide
    selector = FDRSelector(targets="numbers").fit(X, y)
    assert selector.support_.size == selector.candidates_.size == 0
    assert selector.table_ == []
    assert selector.groups_ == {}


def test_one_class_is_refused(wide):
    X, _ = wide
    with pytest.raises(ValueError, match="at least 2 classes"):
        FDRSelector().fit(X, np.ones(200, dtype=int))


@pytest.mark.parametrize(
    "bad", [{"q": 0.0}, {"q": 1.0}, {"substitutes": 0.0}, {"correction": "no"}]
)
def test_bad_parameters_are_refused(wide, bad):
    X, noise = wide
    with pytest.raises(ValueError, match=next(iter(bad))):
        FDRSelector(**bad).fit(X, noise)


@pytest.mark.parametrize("rows", [2, 3, 5, 9])
def test_few_rows_find_nothing_and_say_so(rows):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(rows, 50))
    assert FDRSelector().fit(X, rng.normal(size=rows)).support_.size == 0
    y = np.arange(rows) % 2
    assert FDRSelector().fit(X, y).support_.size == 0


# --------------------------------------------------------------------------- beside a model
def test_kept_features_and_discoveries_are_two_columns(tmp_path):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(600, 80))
    X[:, 1] = X[:, 0] + 0.1 * rng.normal(size=600)
    y = (X[:, 0] - X[:, 7] + rng.logistic(size=600) > 0).astype(int)
    model = tamis.RDAClassifier(alpha=1e-2, random_state=0).fit(X[:500], y[:500])
    report = tamis.report(
        model, X[500:], y[500:], X_train=X[:500], y_train=y[:500], discoveries=True
    )
    evidence = report._evidence
    assert set(evidence.kept) <= set(evidence.claims.candidates_)
    assert evidence.find_claim(7)[0] < 1e-3
    assert evidence.find_claim(0)[0] == evidence.find_claim(1)[0] < 1e-3
    assert any("may be claimed" in one for one in report.sentences)
    twins = next(check for check in report.checks if check.code == "TAM005")
    assert twins.state == "found"
    report.save(tmp_path / "page.html")
    page = (tmp_path / "page.html").read_text()
    assert ">q-value<" in page
    assert ">claimed with<" in page
    assert ">q-value<" not in tamis.report(model, X[500:], y[500:])._repr_html_()


@pytest.mark.parametrize("substitutes", [0.5, None])
def test_twins_among_the_kept_are_told_by_the_groups_and_claims_counted_once(substitutes):
    """From rows that are gone by the groups alone; single claims have none, so rows are asked."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(500, 30))
    X[:, 1] = X[:, 0] + 0.1 * rng.normal(size=500)
    y = X[:, 0] - X[:, 7] + rng.normal(size=500)
    model = tamis.RDARegressor(alpha=1e-2, random_state=0).fit(X, y)
    assert {0, 1, 7} <= set(model.support_)
    claims = FDRSelector(q=0.001, substitutes=substitutes).fit(X, y, also=model.support_)
    report = tamis.report(model, discoveries=claims)
    twins = next(check for check in report.checks if check.code == "TAM005")
    assert twins.state == ("found" if substitutes else "not checked")
    sentence = (
        "stand for 2 groups that may be claimed" if substitutes else "1 of them may be claimed"
    )
    assert any(sentence in line for line in report.sentences)


def test_columns_that_are_asked_for_are_tested(wide):
    X, noise = wide
    y = X[:, 3] + noise
    selector = FDRSelector().fit(X, y, also=[100, 250])
    assert {100, 250} <= set(selector.candidates_)
    assert selector.pvalues_[100] < 1.0
    with pytest.raises(ValueError, match="column 300 is not one of the 300"):
        FDRSelector().fit(X, y, also=[300])


def test_discoveries_need_rows(wide):
    X, noise = wide
    model = tamis.RDARegressor().fit(X, noise)
    with pytest.raises(ValueError, match="needs rows to test on"):
        tamis.report(model, discoveries=True)
