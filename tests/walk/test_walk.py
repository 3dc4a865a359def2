"""A user's whole path: frame in, fit, look, learn more, save, load in another process, predict, go
on.
"""

import json

import numpy as np
import pandas as pd
import pytest
from processes import run_process

import tamis

WORDS = [f"word {k:03d}" for k in range(120)]
PLANTED = [3, 40, 77]


def posts(n, seed):
    """Counts of words in posts, and whether each is spam; three words tell, the rest is noise."""
    rng = np.random.default_rng(seed)
    counts = rng.poisson(0.2, size=(n, len(WORDS))).astype(float)
    counts[:, PLANTED] = rng.poisson(1.0, size=(n, 3))
    score = counts[:, PLANTED] @ np.array([3.0, -4.0, 3.5]) + 0.3 * rng.normal(size=n)
    return pd.DataFrame(counts, columns=WORDS), np.where(score > 2.0, "spam", "ham")


LOAD = """
    import json, sys
    import numpy as np, pandas as pd, tamis
    frame = pd.read_csv(sys.argv[1])
    today = frame.drop(columns="kind")
    told = []
    for path in sys.argv[2:]:
        model = tamis.load(path)
        first = model.predict(today).tolist(), model.decision_function(today).tolist()
        model.partial_fit(today, frame["kind"].to_numpy())
        tamis.save(model, path)
        names = model.feature_names_in_.tolist()
        told.append([first, model.coef_.tolist(), model.t_, names])
    print(json.dumps(told))
"""
NAMES = [
    "FOBOSClassifier",
    "RDAClassifier",
    "FTRLClassifier",
    "TruncatedGradientClassifier",
    "OnlineClassifier",
]


def learnt(name):
    return getattr(tamis, name)(random_state=0).fit(*posts(600, 0))


def gone_on(model):
    """Learn more, in two pieces."""
    more, labels = posts(200, 2)
    return model.partial_fit(more[:50], labels[:50]).partial_fit(more[50:], labels[50:])


@pytest.fixture(scope="module")
def elsewhere(tmp_path_factory):
    """Saved models, loaded in a new process that predicts and goes on: where each is, and what that
    process told.
    """
    folder = tmp_path_factory.mktemp("models")
    today, kinds = posts(100, 3)
    today.assign(kind=kinds).to_csv(folder / "today.csv", index=False)
    paths = [folder / name for name in NAMES]
    for path in paths:
        tamis.save(gone_on(learnt(path.name)), path)
    results = json.loads(run_process(LOAD, folder / "today.csv", *paths))
    return dict(zip(NAMES, zip(paths, results, strict=True), strict=True))


@pytest.mark.parametrize("name", NAMES)
def test_from_a_frame_to_another_process_and_back(name, elsewhere):
    model = learnt(name)

    # Look: which words were kept, by name, and how good the model is on posts it has not seen.
    kept = model.feature_names_in_[model.support_]
    strongest = model.feature_names_in_[np.argsort(-np.abs(model.coef_[0]))[:3]]
    assert set(strongest) == {WORDS[k] for k in PLANTED} <= set(kept)
    assert model.classes_.tolist() == ["ham", "spam"]
    unseen, truth = posts(300, 1)
    assert model.score(unseen, truth) > 0.9

    steps = gone_on(model).t_
    today, kinds = posts(100, 3)
    path, ((predicted, scores), weights, t, names) = elsewhere[name]
    assert predicted == model.predict(today).tolist()
    assert scores == model.decision_function(today).tolist()
    assert names == WORDS
    assert t == steps + 100

    # The model here goes on over the same posts, and is the one that went on there.
    model.partial_fit(today, kinds)
    assert model.coef_.tolist() == weights
    back = tamis.load(path)
    assert np.array_equal(back.coef_, model.coef_)
    assert np.array_equal(back.predict_proba(unseen), model.predict_proba(unseen))
    assert back.get_params() == model.get_params()
    assert back.history_ == model.history_


def test_a_regressor_in_a_pipeline_with_a_search(tmp_path):
    """What scikit-learn users do around a model: a pipeline, a grid, a clone; then the best model
    on its own.
    """
    from sklearn.model_selection import GridSearchCV
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import MaxAbsScaler

    rng = np.random.default_rng(0)
    X = rng.normal(size=(400, 30)) * np.geomspace(1e-2, 1e2, 30)
    y = X[:, 5] / X[:, 5].std() * 2 - X[:, 20] / X[:, 20].std() + 0.1 * rng.normal(size=400)
    search = GridSearchCV(
        make_pipeline(MaxAbsScaler(), tamis.FOBOSRegressor(random_state=0)),
        {"fobosregressor__alpha": [1e-3, 1e-2, 10.0]},
        cv=3,
    )
    with pytest.warns(UserWarning, match="kept no feature"):
        search.fit(X, y)
    best = search.best_estimator_[-1]
    assert search.best_params_["fobosregressor__alpha"] < 10.0
    assert search.score(X, y) > 0.9
    assert {5, 20} <= set(best.support_)
    tamis.save(best, tmp_path / "best.tamis")
    assert np.array_equal(tamis.load(tmp_path / "best.tamis").coef_, best.coef_)


def test_a_stream_of_files_with_new_words_and_new_kinds(tmp_path):
    """Monthly files: each has new words at its right and, at times, a new kind of post."""
    rng = np.random.default_rng(0)
    model = tamis.FOBOSClassifier(grow=True)
    for month, (width, kinds) in enumerate(
        [
            (20, ["ham"]),
            (30, ["ham", "spam"]),
            (30, ["spam", "ham", "ads"]),
            (45, ["ads", "ham", "spam"]),
        ]
    ):
        y = np.array(kinds)[np.arange(90) % len(kinds)]
        counts = rng.poisson(0.3, size=(90, width)).astype(float)
        counts[:, :3] += 2.0 * (y[:, None] == np.array(["ham", "spam", "ads"]))
        frame = pd.DataFrame(counts, columns=WORDS[:width])
        for start in range(0, 90, 30):
            model.partial_fit(frame[start : start + 30], y[start : start + 30])
        tamis.save(model, tmp_path / f"month {month}.tamis")
        model = tamis.load(tmp_path / f"month {month}.tamis")
    assert model.classes_.tolist() == ["ads", "ham", "spam"]
    assert model.coef_.shape == (3, 45)
    assert model.feature_names_in_.tolist() == WORDS[:45]
    assert model.score(frame, y) > 0.95
    assert model.t_ == 360
