"""A user's path: a table with categories, dummies, groups by name, a search over alpha, a saved
model that goes on.
"""

import numpy as np
import pytest
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import MaxAbsScaler
from tiny import quiet

import tamis
from tamis import OnlineGroupLassoClassifier, groups_from_dummies, groups_from_names

pytestmark = pytest.mark.quick


def table(n=600, seed=0):
    """Rows with three categories, of which one matters, and two numbers, of which one does."""
    pd = pytest.importorskip("pandas")
    rng = np.random.default_rng(seed)
    frame = pd.DataFrame(
        {
            "price": rng.normal(size=n),
            "width": rng.normal(size=n),
            "shop": rng.choice(list("abcde"), n),
            "day": rng.choice(list("mtwf"), n),
            "colour": rng.choice(list("rgb"), n),
        }
    )
    score = (
        2.0 * frame["price"]
        + frame["shop"].map({"a": 2.0, "b": -2.0, "c": 1.0, "d": -1.0, "e": 0.0})
        + 0.3 * rng.normal(size=n)
    )
    return pd.get_dummies(frame, dtype=float), np.where(score > 0, "yes", "no")


def test_from_a_table_to_a_saved_model(tmp_path):
    X, y = table()
    groups = groups_from_names(X)
    assert groups.tolist() == ["price", "width", *["shop"] * 5, *["day"] * 4, *["colour"] * 3]
    by_content = groups_from_dummies(X)
    assert [len(set(by_content[groups == name])) for name in ("shop", "day", "colour")] == [1, 1, 1]
    model = make_pipeline(
        MaxAbsScaler().set_output(transform="pandas"),
        OnlineGroupLassoClassifier(groups, random_state=0, max_iter=20, tol=None),
    )
    search = GridSearchCV(model, {"onlinegrouplassoclassifier__alpha": [0.03, 0.05, 1.0]}, cv=3)
    best = quiet(search.fit, X, y).best_estimator_[-1]
    names = [groups[best.feature_groups_[g][0]] for g in best.group_support_]
    assert names == ["price", "shop"]  # whole categories left, and the number without meaning
    assert search.best_score_ > 0.8
    tamis.save(best, tmp_path / "model.tamis")
    again = tamis.load(tmp_path / "model.tamis")
    more, labels = table(200, seed=1)
    rows = search.best_estimator_[0].transform(more)
    assert np.array_equal(best.predict(rows), again.predict(rows))
    for one in (best, again):
        quiet(one.partial_fit, rows, labels)
    assert np.array_equal(best.coef_, again.coef_)
    assert best.t_ == 20 * 600 + 200
