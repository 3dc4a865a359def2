"""Batch multi-task models: scikit-learn's MultiTaskLasso, the special cases of B.4, tasks beside
the rows.
"""

import numpy as np
import pytest
import scipy.sparse as sp
import sklearn
from sklearn.linear_model import Lasso, MultiTaskLasso
from sklearn.model_selection import cross_validate

import tamis
from tamis import (
    GroupLassoClassifier,
    MultiTaskClassifier,
    MultiTaskRegressor,
    OnlineMultiTaskRegressor,
)
from tamis.terms import GroupL2, SparseGroup

pytestmark = pytest.mark.delicate


@pytest.fixture(scope="module")
def data():
    rng = np.random.default_rng(0)
    X, task = rng.normal(size=(240, 15)) + 0.5, rng.integers(0, 4, 240)
    W = np.zeros((15, 4))
    W[:4] = rng.normal(size=(4, 4))
    y = (X * W[:, task].T).sum(axis=1) + task + 0.3 * rng.normal(size=240)
    return X, y, task


def test_the_same_rows_in_all_tasks_are_scikit_learns_multi_task_lasso(data):
    X = data[0][:60]
    Y = np.c_[X[:, 0] + X[:, 1], X[:, 0] - 2 * X[:, 3]] + 0.1 * np.random.default_rng(1).normal(
        size=(60, 2)
    )
    theirs = MultiTaskLasso(alpha=0.1, tol=1e-12).fit(X, Y)
    mine = MultiTaskRegressor(alpha=0.1, tol=1e-13, max_iter=300).fit(
        np.r_[X, X], np.r_[Y[:, 0], Y[:, 1]], np.repeat([0, 1], 60)
    )
    assert mine.coef_ == pytest.approx(theirs.coef_, abs=1e-6)
    assert mine.intercept_ == pytest.approx(theirs.intercept_, abs=1e-6)


@pytest.mark.parametrize("penalty", ["individual", "shared", "shared+sparse"])
def test_one_task_is_the_lasso(data, penalty):
    X, y, _ = data
    price = 1.3 if penalty == "shared+sparse" else 1.0
    mine = MultiTaskRegressor(0.1, penalty, tol=1e-13, max_iter=300).fit(X, y)
    assert mine.coef_ == pytest.approx(
        Lasso(alpha=0.1 * price, tol=1e-12).fit(X, y).coef_, abs=1e-6
    )
    assert mine.predict(X) == pytest.approx(X @ mine.coef_ + mine.intercept_[0])


def test_penalties_are_what_they_say(data):
    X, y, task = data
    individual = MultiTaskRegressor(0.3, "individual", tol=1e-11, max_iter=300).fit(X, y, task)
    for k, q in enumerate(individual.tasks_):
        alone = Lasso(alpha=0.3, tol=1e-12).fit(X[task == q], y[task == q])
        assert individual.coef_[k] == pytest.approx(alone.coef_, abs=1e-4)
    shared = MultiTaskRegressor(0.3, "shared", tol=1e-11, max_iter=300).fit(X, y, task)
    assert set((shared.coef_ != 0).sum(axis=0)) <= {0, 4}
    none = MultiTaskRegressor(0.3, "shared+sparse", l1_weight=0.0, tol=1e-11, max_iter=300).fit(
        X, y, task
    )
    assert none.coef_ == pytest.approx(shared.coef_, abs=1e-5)
    some = MultiTaskRegressor(0.3, "shared+sparse", l1_weight=2.0, tol=1e-9).fit(X, y, task)
    assert 0 < np.count_nonzero(some.coef_) < np.count_nonzero(shared.coef_)


def test_tasks_have_names_and_permute(data):
    X, y, task = data
    names = np.array(["d", "a", "c", "b"])
    one = MultiTaskRegressor(0.2, tol=1e-11, max_iter=300).fit(X, y, task)
    other = MultiTaskRegressor(0.2, tol=1e-11, max_iter=300).fit(sp.csr_array(X), y, names[task])
    assert (
        other.tasks_.tolist()
        == [names[t] for t in one.tasks_]
        == list(dict.fromkeys(names[task].tolist()))
    )
    assert other.coef_ == pytest.approx(one.coef_, abs=1e-5)
    back = MultiTaskRegressor(0.2, tol=1e-11, max_iter=300).fit(X[::-1], y[::-1], task[::-1])
    places = [back.tasks_.tolist().index(t) for t in one.tasks_]
    assert back.coef_[places] == pytest.approx(one.coef_, abs=1e-5)
    assert other.predict(X, names[task]) == pytest.approx(one.predict(X, task), abs=1e-4)
    online = OnlineMultiTaskRegressor(random_state=0).fit(X, y, names[task])
    assert online.tasks_.tolist() == other.tasks_.tolist()
    with pytest.raises(ValueError, match="task 'x' is unknown"):
        other.predict(X[:1], ["x"])
    with pytest.raises(ValueError, match="knows 4 tasks; pass task"):
        other.predict(X)
    with pytest.raises(ValueError, match="3 entries for 240 rows"):
        MultiTaskRegressor().fit(X, y, [1, 2, 3])


def test_classifier(data):
    X, y, task = data
    labels = np.where(y > np.median(y), "yes", "no")
    model = MultiTaskClassifier(0.05).fit(X, labels, task)
    assert model.score(X, labels, task) > 0.8
    assert model.predict_proba(X, task)[:, 1] == pytest.approx(
        1 / (1 + np.exp(-model.decision_function(X, task)))
    )
    assert np.isfinite(model.predict_log_proba(X, task)).all()


def test_several_classes_are_one_softmax_a_task(data):
    X, y, task = data
    labels = np.digitize(y, np.quantile(y, [0.3, 0.6]))
    model = MultiTaskClassifier(0.05, tol=1e-10, max_iter=400).fit(X, labels, task)
    assert model.coef_.shape == (4, 3, 15)
    assert model.intercept_.shape == (4, 3)
    slope = np.zeros_like(model.coef_)
    for k, q in enumerate(model.tasks_):
        share = model.predict_proba(X[task == q], task[task == q])
        assert share.sum(axis=1) == pytest.approx(1.0)
        rest = (share - (labels[task == q][:, None] == model.classes_)) / (task == q).sum()
        slope[k] = rest.T @ X[task == q]
        assert rest.sum(axis=0) == pytest.approx(0.0, abs=1e-8)
    for j in range(15):
        w, g = model.coef_[:, :, j], slope[:, :, j]
        if w.any():
            assert g == pytest.approx(-0.05 * w / np.linalg.norm(w), abs=1e-5)
        else:
            assert np.linalg.norm(g) <= 0.05 + 1e-6
    assert 0 < len(model.support_) < 15
    one = MultiTaskClassifier(0.02, tol=1e-10).fit(X, labels)
    same = GroupLassoClassifier(alpha=0.02, tol=1e-10).fit(X, labels)
    assert one.coef_ == pytest.approx(same.coef_, abs=1e-4)
    hinged = MultiTaskClassifier(0.05, loss="squared_hinge").fit(X, labels, task)
    assert hinged.decision_function(X, task).shape == (240, 3)
    assert not hasattr(hinged, "predict_proba")


def test_a_task_without_one_of_the_classes():
    rng = np.random.default_rng(0)
    X, task = rng.normal(size=(90, 4)), np.repeat([0, 1, 2], 30)
    labels = np.where(task == 2, rng.integers(0, 2, 90), rng.integers(0, 3, 90))
    model = MultiTaskClassifier(0.05).fit(X, labels, task)
    assert model.predict_proba(X, task)[task == 2][:, 2].max() < 1e-6
    assert np.isfinite(model.intercept_).all()


def test_several_targets_a_row(data):
    X, y, task = data
    Y = np.c_[y, X[:, 0]]
    both = MultiTaskRegressor(0.3, "individual", tol=1e-11, max_iter=300).fit(X, Y, task)
    alone = MultiTaskRegressor(0.3, "individual", tol=1e-11, max_iter=300).fit(X, y, task)
    assert both.coef_.shape == (4, 2, 15)
    assert both.coef_[:, 0] == pytest.approx(alone.coef_, abs=1e-4)
    assert both.predict(X, task).shape == (240, 2)


def test_sample_weight_within_a_task(data):
    X, y, task = data
    s = np.random.default_rng(0).integers(0, 3, 240)
    weighed = MultiTaskRegressor(0.2, tol=1e-11, max_iter=300).fit(X, y, task, s)
    repeated = MultiTaskRegressor(0.2, tol=1e-11, max_iter=300).fit(
        np.repeat(X, s, axis=0), np.repeat(y, s), np.repeat(task, s)
    )
    assert weighed.coef_ == pytest.approx(repeated.coef_, abs=1e-5)


def test_the_task_is_routed(data):
    X, y, task = data
    with sklearn.config_context(enable_metadata_routing=True):
        model = MultiTaskRegressor(0.1).set_fit_request(task=True).set_score_request(task=True)
        scores = cross_validate(model, X, y, cv=3, params={"task": task}, error_score="raise")[
            "test_score"
        ]
    assert (scores > 0.8).all()


def test_the_figures_of_the_method_note():
    """B.4: twenty tasks, twelve shared features.

    Selection together finds them all, with fewer others, and explains more than selection alone.
    """
    rng = np.random.default_rng(0)
    counts = rng.integers(30, 120, 20)
    task = np.repeat(np.arange(20), counts)
    truth = np.zeros((60, 20))
    truth[:12] = rng.normal(size=(12, 20)) * (rng.random((12, 20)) < 0.6)

    def draw(task):
        X = rng.normal(size=(len(task), 60))
        return X, (X * truth[:, task].T).sum(axis=1) + rng.normal(size=len(task))

    (X, y), fresh = draw(task), np.repeat(np.arange(20), 300)
    new, wanted = draw(fresh)
    explained, kept, found = {}, {}, {}
    for penalty in ("individual", "shared", "shared+sparse"):
        top = MultiTaskRegressor(1.0, penalty, fit_intercept=False).fit(X, y, task).alpha_max_
        model = MultiTaskRegressor(0.15 * top, penalty, fit_intercept=False).fit(X, y, task)
        rest = wanted - model.predict(new, fresh)
        explained[penalty] = np.mean(
            [1.0 - rest[fresh == q].var() / wanted[fresh == q].var() for q in range(20)]
        )
        kept[penalty], found[penalty] = np.count_nonzero(model.coef_), set(model.support_.tolist())
    for penalty in ("shared", "shared+sparse"):
        assert set(range(12)) <= found[penalty]
        assert len(found[penalty]) <= len(found["individual"])
    assert kept["shared"] == 20 * len(found["shared"])
    assert kept["individual"] < kept["shared+sparse"] < kept["shared"]
    assert explained["shared"] > explained["individual"] + 0.05
    assert explained["shared+sparse"] == pytest.approx(explained["shared"], abs=0.03)


def test_a_penalty_object_is_of_a_feature_over_all_tasks():
    """By name, as an object and, for the tasks' own, in both ways; conditions as of groups."""
    rng = np.random.default_rng(0)
    X, task = rng.normal(size=(240, 12)), np.arange(240) % 3
    truth = rng.choice([-1.5, 1.5], size=(3, 3))
    y = np.array([X[i, :3] @ truth[:, q] for i, q in enumerate(task)])
    shared = MultiTaskRegressor(alpha=0.5, tol=1e-10).fit(X, y, task)
    same = MultiTaskRegressor(alpha=1.0, penalty=GroupL2(0.5), tol=1e-10).fit(X, y, task)
    assert same.coef_ == pytest.approx(shared.coef_, rel=1e-12)
    both = MultiTaskRegressor(alpha=0.5, penalty="shared+sparse", tol=1e-10).fit(X, y, task)
    same = MultiTaskRegressor(alpha=0.5, penalty=SparseGroup(1.0), tol=1e-10).fit(X, y, task)
    assert same.coef_ == pytest.approx(both.coef_, rel=1e-12)
    model = MultiTaskRegressor(alpha=0.5, penalty="mcp", tol=1e-12).fit(X, y, task)
    slope = np.zeros((12, 3))
    for q in range(3):
        own = task == q
        slope[:, q] = X[own].T @ (model.predict(X[own], task[own]) - y[own]) / own.sum()
    for w, g in zip(model.coef_.T, slope, strict=True):
        norm = np.linalg.norm(w)
        pull = max(0.0, 0.5 - norm / 3.0) / norm if norm else 0.0
        assert np.linalg.norm(g + pull * w) <= (1e-5 if norm else 0.5 + 1e-5)
    assert model.support_.tolist() == [0, 1, 2]
    assert np.abs(model.coef_[:, :3].T - truth).max() < np.abs(shared.coef_[:, :3].T - truth).max()
    with pytest.raises(ValueError, match="'l0'"):
        MultiTaskRegressor(penalty="l0").fit(X, y, task)


# ----------------------------------------------------------------- offsets
def rates_of_tasks(X, task):
    """True rates of rows whose tasks share their features."""
    return np.exp(0.5 * X[:, 0] - 0.4 * X[:, 1] + 0.3 * task)


@pytest.mark.parametrize("kind", [np.asarray, sp.csr_array], ids=["dense", "sparse"])
@pytest.mark.parametrize("penalty", ["individual", "shared", "shared+sparse"])
def test_an_offset_is_an_exposure(penalty, kind):
    """The counts of an exposure are rates a unit of it that weigh as much as it is long."""
    rng = np.random.default_rng(0)
    X, task = rng.normal(size=(400, 6)), rng.integers(0, 3, 400)
    exposure = rng.uniform(0.1, 5.0, 400)
    exposure /= (np.bincount(task, exposure) / np.bincount(task))[task]  # tasks weigh alike
    y = rng.poisson(exposure * rates_of_tasks(X, task)).astype(float)
    given = {"alpha": 0.1, "penalty": penalty, "loss": "poisson", "tol": 1e-12, "max_iter": 500}
    offset = np.log(exposure)
    model = MultiTaskRegressor(**given).fit(kind(X), y, task, offset=offset)
    other = MultiTaskRegressor(**given).fit(kind(X), y / exposure, task, exposure)
    assert 0 < len(model.support_) < 6
    assert model.coef_ == pytest.approx(other.coef_, abs=1e-5)
    assert model.intercept_ == pytest.approx(other.intercept_, abs=1e-5)
    means = model.predict(kind(X), task, offset)
    assert means == pytest.approx(exposure * other.predict(kind(X), task), rel=1e-4)
    plain = MultiTaskRegressor(**given).fit(kind(X), y, task)
    assert model.score(kind(X), y, task, offset=offset) > plain.score(kind(X), y, task) + 0.05


def test_an_offset_of_numbers_is_taken_off_the_target(data):
    X, y, task = data
    offset, weights = np.linspace(-2.0, 3.0, 240) * (1 + task), np.arange(240) % 3
    given = {"alpha": 0.2, "tol": 1e-12, "max_iter": 500}
    model = MultiTaskRegressor(**given).fit(X, y + offset, task, weights, offset)
    other = MultiTaskRegressor(**given).fit(X, y, task, weights)
    assert model.coef_ == pytest.approx(other.coef_, abs=1e-6)
    assert model.objective_ == pytest.approx(other.objective_)
    assert model.predict(X, task, offset) == pytest.approx(other.predict(X, task) + offset)
    assert model.score(X, y + offset, task, weights, offset) > 0.9


def test_an_offset_of_classes_moves_their_scores(data, tmp_path):
    X, y, task = data
    offset = np.where(task == 0, 2.0, -1.0)
    given = {"alpha": 0.02, "tol": 1e-12, "max_iter": 500}
    model = MultiTaskClassifier(**given).fit(X, y > 1, task, offset=offset)
    plain = MultiTaskClassifier(**given).fit(X, y > 1, task)
    assert model.coef_ == pytest.approx(plain.coef_, abs=1e-5)  # intercepts make up for it
    scores = plain.decision_function(X, task)
    assert model.decision_function(X, task, offset) == pytest.approx(scores, abs=1e-4)
    likely = model.predict_proba(X, task, offset)
    assert likely == pytest.approx(plain.predict_proba(X, task), abs=1e-4)
    assert np.array_equal(model.predict_log_proba(X, task, offset), np.log(likely))
    assert np.array_equal(model.predict(X, task, offset), likely[:, 1] > 0.5)
    assert model.score(X, y > 1, task, offset=offset) == np.mean((likely[:, 1] > 0.5) == (y > 1))
    tamis.save(model, tmp_path / "m.tamis")
    loaded = tamis.load(tmp_path / "m.tamis")
    assert np.array_equal(loaded.predict_proba(X, task, offset), likely)
    for one in (model, loaded):
        for ask in (one.predict, one.decision_function, one.predict_proba, one.predict_log_proba):
            with pytest.raises(ValueError, match=r"MultiTaskClassifier .*offset"):
                ask(X, task)
    assert model.fit(X, y > 1, task).predict(X, task).shape == (240,)


def test_offsets_that_are_refused(data):
    X, y, task = data
    with pytest.raises(ValueError, match=r"offset\.shape == \(3,\)"):
        MultiTaskRegressor().fit(X, y, task, offset=np.zeros(3))
    three = np.digitize(y, [0.0, 2.0])
    with pytest.raises(ValueError, match=r"offset .*two classes"):
        MultiTaskClassifier().fit(X, three, task, offset=np.zeros(240))
    with pytest.raises(ValueError, match=r"offset .*two classes"):
        MultiTaskClassifier().fit(X, three, task).predict(X, task, offset=np.zeros(240))
