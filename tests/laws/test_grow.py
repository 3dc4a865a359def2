"""New columns and classes with `grow`, errors without it, and failures without effect."""

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
import tiny
from hypothesis import given
from hypothesis import strategies as st
from processes import run_process
from registry import CLASSIFIERS, MODELS, STREAMS
from sklearn.base import is_classifier
from tiny import one_pass, quiet

import tamis
from tamis import FOBOSClassifier, OnlineClassifier, OnlineRegressor, RDAClassifier

N = 40
X = tiny.matrix(N, 7)
Y = (tiny.signs(X) > 0).astype(int)


def targets(model):
    return Y if is_classifier(model) else tiny.numbers(X)


# --------------------------------------------------------------------------- columns
@pytest.mark.parametrize("cls", MODELS)
def test_new_columns_are_as_if_they_had_been_there(cls):
    """The first rows have zeros in the columns that come later, so the grown model must equal the
    wide one.
    """
    rows, y = X.copy(), targets(cls())
    rows[:15, 4:], rows[15:25, 6:] = 0.0, 0.0
    more = {"classes": [0, 1]} if is_classifier(cls()) else {}
    grown = cls(grow=True)
    quiet(grown.partial_fit, rows[:15, :4], y[:15], **more)
    assert grown.coef_.shape[-1] == grown.n_features_in_ == 4
    quiet(grown.partial_fit, sp.csr_array(rows[15:25, :6]), y[15:25])
    quiet(grown.partial_fit, rows[25:], y[25:])
    tiny.assert_same(quiet(cls().partial_fit, rows, y, **more), grown, X)
    assert grown.n_features_in_ == 7


@pytest.mark.parametrize(
    "parameters",
    [{"average": True}, {"optimizer": "adagrad"}, {"penalty": "elasticnet", "alpha": 0.05}],
    ids=repr,
)
@pytest.mark.parametrize("many", [False, True], ids=["one", "many"])
def test_new_columns_under_every_setting(interpreted, parameters, many):
    rows = X.copy()
    rows[:20, 3:] = 0.0
    y = tiny.numbers(X, 2 if many else 1)
    grown = OnlineRegressor(grow=True, **parameters)
    quiet(grown.partial_fit, rows[:20, :3], y[:20])
    quiet(grown.partial_fit, rows[20:], y[20:])
    tiny.assert_same(quiet(OnlineRegressor(**parameters).partial_fit, rows, y), grown, X)


def test_narrow_rows_are_rows_with_zeros(interpreted):
    rows = X.copy()
    rows[20:, 4:] = 0.0
    grown = quiet(FOBOSClassifier(grow=True).partial_fit, X[:20], Y[:20])
    quiet(grown.partial_fit, rows[20:, :4], Y[20:])
    whole = quiet(FOBOSClassifier().partial_fit, np.vstack([X[:20], rows[20:]]), Y, classes=[0, 1])
    tiny.assert_same(whole, grown, X)
    assert grown.n_features_in_ == 7


def test_names_grow_with_the_columns(interpreted):
    names = [f"word {k}" for k in range(7)]
    frame = pd.DataFrame(X, columns=names)
    model = quiet(FOBOSClassifier(grow=True).partial_fit, frame[names[:4]], Y)
    assert model.feature_names_in_.tolist() == names[:4]
    quiet(model.partial_fit, frame, Y)
    assert model.feature_names_in_.tolist() == names
    assert len(model.feature_names_in_) == model.n_features_in_ == model.coef_.shape[1]
    with pytest.raises(ValueError, match=r"column 1 .*'word 2'.*'word 1'"):
        model.partial_fit(frame[["word 0", "word 2"]], Y)
    with pytest.raises(ValueError, match="new columns without names"):
        quiet(model.partial_fit, np.hstack([X, X]), Y)


@pytest.mark.parametrize("cls", STREAMS)
def test_without_grow_columns_are_fixed(cls):
    model = quiet(one_pass(cls).fit, X, targets(cls()))
    for width in (6, 8):
        with pytest.raises(ValueError, match=f"{width} features.*{cls.__name__}.* 7 "):
            model.partial_fit(np.zeros((N, width)), targets(cls()))


# --------------------------------------------------------------------------- classes
NAMES = [[3, 4, 5, 6, 7], [7, 6, 5, 4, 3], [5, 7, 3, 4, 6], list("mzake")]


def sides(model):
    """The scores that speak for each known class; of one or two classes one output holds both."""
    scores = model.decision_function(X)
    if scores.ndim == 1:
        return dict(zip(model.classes_.tolist(), (-scores, scores), strict=False))
    return dict(zip(model.classes_.tolist(), scores.T, strict=True))


@pytest.mark.parametrize("cls", CLASSIFIERS)
@pytest.mark.parametrize("names", NAMES, ids=str)
def test_one_two_three_five_classes(cls, names):
    model, values = cls(grow=True), np.array(names)
    for count in (1, 2, 3, 5):
        quiet(model.partial_fit, X, values[np.arange(N) % count])
        assert model.classes_.tolist() == sorted(names[:count])
        assert model.coef_.shape == (count if count > 2 else 1, 7)
        assert set(model.predict(X)) <= set(names[:count])
        assert model.predict_proba(X).shape == (N, count)
        assert model.predict_proba(X).sum(axis=1) == pytest.approx(np.ones(N))


@pytest.mark.parametrize("rule", ["descent", "dual_averaging", "ftrl", "adagrad"])
@pytest.mark.parametrize("names", NAMES, ids=str)
def test_every_class_keeps_its_scores_when_others_come(interpreted, rule, names):
    """Without penalty and intercept a row of zeros teaches nothing, so that only the meeting of its
    class is seen.
    """
    model = OnlineClassifier(
        grow=True,
        optimizer=rule,
        penalty=None,
        learning_rate="constant",
        eta=0.3,
        fit_intercept=False,
    )
    values = np.array(names)
    for count, more in ((1, 2), (2, 3), (3, 5)):
        quiet(model.partial_fit, X, values[np.arange(N) % count])
        before = sides(model)
        quiet(model.partial_fit, np.zeros((more - count, 7)), values[count:more])
        after = sides(model)
        assert set(after) == set(names[:more])
        for name, scores in before.items():
            assert np.array_equal(after[name], scores), (name, more)
        if more > 2:
            assert not any(after[name].any() for name in names[count:more])


@pytest.mark.parametrize("rule", ["descent", "dual_averaging", "ftrl", "adagrad"])
@pytest.mark.parametrize("average", [False, True], ids=["last", "average"])
def test_a_class_that_comes_first_turns_the_model_round(interpreted, rule, average):
    """Learning [1], then meeting 0, is learning with both named from the start: class 1 was on the
    negative side.
    """
    given = {"optimizer": rule, "average": average}
    late = OnlineClassifier(grow=True, **given)
    quiet(late.partial_fit, X[:10], np.ones(10, dtype=int))
    quiet(late.partial_fit, X[10:], Y[10:])
    early = OnlineClassifier(**given)
    quiet(early.partial_fit, X[:10], np.ones(10, dtype=int), classes=[0, 1])
    quiet(early.partial_fit, X[10:], Y[10:])
    tiny.assert_same(early, late, X)


@pytest.mark.parametrize("cls", [FOBOSClassifier, RDAClassifier])
@pytest.mark.parametrize("weights", [None, "balanced"])
def test_chunks_do_not_matter_when_classes_arrive(interpreted, cls, weights):
    """The contract holds for growing models too: a class exists from its first row on, not from its
    first chunk on.
    """
    y = np.r_[np.zeros(8), np.ones(12), np.full(8, 2), np.arange(12) % 4].astype(int)

    @given(st.sets(st.integers(1, N - 1)).map(sorted))
    def law(places):
        model = cls(grow=True, class_weight=weights)
        for start, stop in zip([0, *places], [*places, N], strict=True):
            quiet(model.partial_fit, X[start:stop], y[start:stop])
        tiny.assert_same(single, model, X)

    single = cls(grow=True, class_weight=weights)
    for i in range(N):
        quiet(single.partial_fit, X[i : i + 1], y[i : i + 1])
    law()


@pytest.mark.parametrize("cls", CLASSIFIERS)
def test_without_grow_classes_are_fixed(cls):
    with pytest.raises(ValueError, match="classes must be passed"):
        cls().partial_fit(X, Y)
    model = quiet(cls().partial_fit, X, Y, classes=[0, 1])
    with pytest.raises(ValueError, match=r"y holds \[2\].*\[0, 1\].*grow=True"):
        model.partial_fit(X, Y + 1)
    with pytest.raises(ValueError, match="not the same as on the first call"):
        model.partial_fit(X, Y, classes=[0, 1, 2])
    with pytest.raises(ValueError, match="at least 2 classes"):
        cls().fit(X, np.zeros(N))


@pytest.mark.parametrize(("before", "after"), [(["a", "b"], [0, 1]), ([0, 1], ["a", "b"])])
def test_classes_of_another_kind_are_refused_and_leave_no_trace(interpreted, before, after):
    model = FOBOSClassifier(grow=True).partial_fit(X[:2], before)
    with pytest.raises(ValueError, match="of another kind than classes_"):
        model.partial_fit(X[:2], after)
    assert model.classes_.tolist() == before


def test_a_class_named_and_never_seen_is_allowed(interpreted):
    model = quiet(FOBOSClassifier().partial_fit, X, Y, classes=[0, 1, 2])
    assert model.coef_.shape == (3, 7)
    quiet(model.partial_fit, X, np.full(N, 2))
    assert 2 in model.predict(X)


def test_a_grown_model_is_saved_and_goes_on(tmp_path):
    model = quiet(FOBOSClassifier(grow=True).partial_fit, X[:10, :3], Y[:10])
    tamis.save(model, tmp_path / "model.tamis")
    again = tamis.load(tmp_path / "model.tamis")
    for grown in (model, again):
        quiet(grown.partial_fit, X[10:], np.arange(30) % 4 - 1)
    tiny.assert_same(model, again, X)
    assert again.classes_.tolist() == [-1, 0, 1, 2]


# -------------------------------------------------------------------------- failures leave no trace
def failures(y):
    three, wide = tiny.classes(N), np.hstack([X, X])
    return {
        "short weights": ((X, y), {"sample_weight": [1.0]}),
        "nan": ((np.full_like(X, np.nan), y), {}),
        "short y": ((wide, y[:-1]), {}),
        "new classes, bad weights": ((X, three), {"sample_weight": -np.ones(N)}),
        "new columns, bad weights": ((wide, y), {"sample_weight": [1.0]}),
    }


@pytest.mark.parametrize("kind", failures(Y))
@pytest.mark.parametrize("grow", [False, True])
def test_a_chunk_that_fails_leaves_the_stream_as_it_was(interpreted, kind, grow):
    model = quiet(one_pass(FOBOSClassifier, grow=grow).fit, X, Y)
    before, classes = tiny.shown(model, X), model.classes_.tolist()
    arguments, named = failures(Y)[kind]
    with pytest.raises(ValueError):  # noqa: PT011
        model.partial_fit(*arguments, **named)
    assert model.classes_.tolist() == classes
    assert model.n_features_in_ == 7
    after = tiny.shown(model, X)
    assert all(np.array_equal(before[name], after[name]) for name in before)
    quiet(model.partial_fit, X, Y)
    tiny.assert_same(
        quiet(quiet(one_pass(FOBOSClassifier, grow=grow).fit, X, Y).partial_fit, X, Y), model, X
    )


@pytest.mark.parametrize("kind", failures(Y))
def test_a_fit_that_fails_leaves_no_model_that_predicts_nonsense(interpreted, kind):
    """After it `predict` answers as before, or refuses."""
    model = quiet(one_pass(FOBOSClassifier).fit, X, Y)
    before = model.predict(X)
    arguments, named = failures(Y)[kind]
    with pytest.raises(ValueError):  # noqa: PT011
        model.fit(*arguments, **named)
    try:
        after = model.predict(X)
    except (ValueError, AttributeError):
        return
    assert np.array_equal(after, before)


def test_positive_models_cannot_be_turned_round_and_say_so_without_a_trace(interpreted):
    model = quiet(FOBOSClassifier(grow=True, positive=True).partial_fit, X, Y)
    predicted = model.predict(X)
    with pytest.raises(ValueError, match="positive=True"):
        model.partial_fit(X, tiny.classes(N))
    assert model.classes_.tolist() == [0, 1]
    assert np.array_equal(model.predict(X), predicted)
    quiet(model.partial_fit, X, Y)


def test_wide_rows_after_a_failed_call_do_not_read_past_the_weights():
    """In a process of its own: it once was a crash."""
    run_process(
        """
        import numpy as np
        from tamis import FOBOSClassifier
        X, y = np.eye(4), np.array([0, 1, 0, 1])
        for grow in (False, True):
            model = FOBOSClassifier(grow=grow, max_iter=1, tol=None).fit(X, y)
            for method in (model.fit, model.partial_fit):
                try:
                    method(np.ones((2, 5_000_000)), [0, 1, 1])
                except ValueError:
                    pass
                try:
                    scores = model.decision_function(np.ones((1, 5_000_000)))
                    assert scores == model.decision_function(np.ones((1, 4))), scores
                except ValueError:
                    pass
        """
    )
