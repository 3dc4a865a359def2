"""Penalty weights and signs of columns, in every first-order stream and for all forms of rows."""

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
import tiny
from registry import MODELS
from scipy.optimize import lsq_linear
from sklearn.base import clone, is_classifier
from tiny import one_pass, quiet

import tamis
from tamis import (
    FOBOSClassifier,
    FOBOSRegressor,
    FTRLClassifier,
    FTRLRegressor,
    OnlineClassifier,
    OnlineRegressor,
    RDAClassifier,
    RDARegressor,
)
from tamis.numerics.numba import Loop
from tamis.serving.loop import load_row
from tamis.terms import ByColumn, Descent

N, P = 40, 7
X = tiny.matrix(N, P)
W = tiny.weights(N)
WEIGHTS = np.array([0.0, 1.0, 2.0, 0.5, 0.0, 3.0, 1.0])
SIGNS = np.array([0, 1, -1, 0, 1, -1, 1])
WEIGHED = [cls for cls in MODELS if "penalty_weights" in cls().get_params()]
SIGNED = [cls for cls in MODELS if issubclass(cls, WEIGHED[0].__mro__[2]) or cls in WEIGHED]
BOTH = {"penalty_weights": WEIGHTS, "positive": SIGNS, "alpha": 0.03}


def targets(cls, multi_output=False):
    if is_classifier(cls()):
        return tiny.classes(N) if multi_output else (tiny.signs(X) > 0).astype(int)
    return tiny.numbers(X, 3 if multi_output else 1)


def fitted(cls, multi_output=False, rows=X, **parameters):
    return quiet(one_pass(cls, **parameters).fit, rows, targets(cls, multi_output), sample_weight=W)


def test_who_takes_them():
    assert {cls.__name__[:4] for cls in WEIGHED} == {"FOBO", "RDAC", "RDAR", "FTRL", "Onli"}


# --------------------------------------------------------------------------- what they mean
@pytest.mark.parametrize("cls", WEIGHED)
@pytest.mark.parametrize("multi_output", [False, True], ids=["one", "many"])
@pytest.mark.parametrize("average", [False, True], ids=["last", "average"])
def test_equal_weights_multiply_alpha(interpreted, cls, multi_output, average):
    shared = {"average": average, "l1_ratio": 1.0}
    strong = fitted(cls, multi_output, alpha=0.06, **shared)
    for weight, alpha in ((1.0, 0.06), (2.0, 0.03), (0.5, 0.12)):
        weighed = fitted(
            cls, multi_output, alpha=alpha, penalty_weights=np.full(P, weight), **shared
        )
        np.testing.assert_allclose(weighed.coef_, strong.coef_, rtol=1e-12, atol=1e-14)
        np.testing.assert_allclose(weighed.intercept_, strong.intercept_, rtol=1e-12, atol=1e-14)
    assert strong.coef_.any()


@pytest.mark.parametrize("cls", [RDARegressor, FTRLRegressor, RDAClassifier, FTRLClassifier])
@pytest.mark.parametrize("l1_ratio", [0.0, 0.4])
def test_equal_weights_multiply_a_ridge(interpreted, cls, l1_ratio):
    strong = fitted(cls, alpha=0.6, l1_ratio=l1_ratio)
    weighed = fitted(cls, alpha=0.2, l1_ratio=l1_ratio, penalty_weights=np.full(P, 3.0))
    np.testing.assert_allclose(weighed.coef_, strong.coef_, rtol=1e-12, atol=1e-14)


@pytest.mark.parametrize("cls", WEIGHED)
@pytest.mark.parametrize("l1_ratio", [1.0, 0.5, 0.0])
def test_a_column_of_weight_0_is_never_shrunk(interpreted, cls, l1_ratio):
    """Under a penalty so strong that no other column has a weight, those of weight 0 are what they
    are alone and free. With a ridge alone the others hold small weights.
    """
    rows = np.hstack([X, X[:, :1] + X[:, 1:2]])
    columns = np.array([1, 7])
    weights = np.ones(8)
    weights[columns] = 0.0
    alpha = 1e6 if l1_ratio else 1e8
    options = {"alpha": alpha, "l1_ratio": l1_ratio, "eta": 0.05, "penalty_weights": weights}
    options |= {"penalty": "elasticnet"} if cls.__name__.startswith("Online") else {}
    model = fitted(cls, rows=rows, **options)
    free = {"penalty": None} if "penalty" in options else {"alpha": 0.0}
    unpenalized_alone = fitted(cls, rows=rows[:, columns], eta=0.05, **free)
    result, expected = np.ravel(model.coef_)[columns], np.ravel(unpenalized_alone.coef_)
    np.testing.assert_allclose(result, expected, rtol=1e-5)
    assert expected.all()


@pytest.mark.parametrize("cls", SIGNED)
@pytest.mark.parametrize("multi_output", [False, True], ids=["one", "many"])
@pytest.mark.parametrize("average", [False, True], ids=["last", "average"])
def test_no_weight_has_the_wrong_sign(interpreted, cls, multi_output, average):
    options = {"positive": SIGNS, "average": average}
    coefs = [
        np.atleast_2d(fitted(cls, multi_output, rows=rows, **options).coef_) for rows in (X, -X)
    ]
    assert all((coef * SIGNS >= 0.0).all() for coef in coefs)
    assert any(coef[:, SIGNS != 0].any() for coef in coefs)


@pytest.mark.parametrize("cls", SIGNED)
def test_the_sign_1_of_every_column_is_positive_true(interpreted, cls):
    tiny.assert_same(fitted(cls, positive=True), fitted(cls, positive=np.ones(P)), X)
    mirrored = fitted(cls, rows=-X, positive=np.full(P, -1.0))
    assert np.array_equal(np.ravel(mirrored.coef_), -np.ravel(fitted(cls, positive=True).coef_))


@pytest.mark.parametrize("cls", [FOBOSRegressor, RDARegressor, FTRLRegressor])
def test_signs_approach_bounded_least_squares(cls):
    rng = np.random.default_rng(3)
    rows = rng.normal(size=(200, 4))
    y = rows @ [1.0, -1.0, 1.0, -1.0] + 0.1 * rng.normal(size=200)
    signs = [1, 1, -1, 0]
    bounds = [0.0, 0.0, -np.inf, -np.inf], [np.inf, np.inf, 1e-300, np.inf]
    expected = lsq_linear(rows, y, bounds).x
    model = cls(alpha=0.0, positive=signs, fit_intercept=False, average=True, max_iter=300)
    result = quiet(model.set_params(tol=None, random_state=0).fit, rows, y).coef_
    np.testing.assert_allclose(result, expected, atol=0.05)
    assert result[1] == result[2] == 0.0


# --------------------------------------------------------------------------- rows as they come
@pytest.mark.parametrize("cls", WEIGHED)
@pytest.mark.parametrize("multi_output", [False, True], ids=["one", "many"])
@pytest.mark.parametrize("average", [False, True], ids=["last", "average"])
def test_chunks_dense_sparse_files_and_single_rows(
    interpreted, monkeypatch, cls, multi_output, average, tmp_path
):
    """Single rows of one class go through machine code, those of the others through its source."""
    if cls is not FTRLClassifier or average:
        compiled_for = Loop.compiled_for
        monkeypatch.setattr(
            Loop,
            "compiled_for",
            lambda loop, *a: compiled_for(loop, *a) if loop is load_row else loop,
        )
    y, options = targets(cls, multi_output), BOTH | {"average": average}
    options |= {"l1_ratio": 1.0}
    in_one = fitted(cls, multi_output, **options)
    tiny.assert_same(in_one, fitted(cls, multi_output, rows=sp.csr_array(X), **options), X)
    more = {"classes": np.unique(y)} if is_classifier(cls()) else {}
    chunks, service = cls(**options, random_state=0), None
    for start, stop in ((0, 1), (1, 13), (13, N)):
        chunk = slice(start, stop)
        quiet(chunks.partial_fit, X[chunk], y[chunk], sample_weight=W[chunk], **more)
        more = {}
        if start:
            tamis.save(chunks, tmp_path / "model.tamis")
            chunks = tamis.load(tmp_path / "model.tamis")
    tiny.assert_same(in_one, chunks, X)
    if not multi_output or is_classifier(cls()):
        named = {"classes": np.unique(y)} if is_classifier(cls()) else {}
        service = tamis.live(cls(**options, random_state=0), n_features=P, **named)
        for row, target, weight in zip(X, y, W, strict=True):
            columns = np.flatnonzero(row)
            quiet(service.learn, columns, row[columns], target, float(weight))
        tiny.assert_same(in_one, service.model, X)


@pytest.mark.parametrize("cls", [FOBOSClassifier, FTRLClassifier])
@pytest.mark.parametrize("wide", [False, True], ids=["all", "packed"])
def test_compiled_equals_source(cls, wide, monkeypatch):
    """Of one output and of several; also where only columns that occur are walked."""
    from plain import Interpreter

    from tamis.numerics import numba

    width = 5000 if wide else P
    rows = sp.csr_array((X[X != 0.0], np.nonzero(X)), shape=(N, width))
    options = {"penalty_weights": dict(enumerate(WEIGHTS)), "positive": dict(enumerate(SIGNS))}
    options |= {"l1_ratio": 1.0}
    for multi_output in (False, True):
        compiled = fitted(cls, multi_output, rows=rows, **options)
        with monkeypatch.context() as patch, np.errstate(over="ignore"):
            patch.setattr(numba.Loop, "__call__", Interpreter().method())
            source = fitted(cls, multi_output, rows=rows, **options)
        tiny.assert_same(compiled, source, rows)
        assert (np.atleast_2d(compiled.coef_)[:, :P] * SIGNS >= 0.0).all()


def test_names_and_indices_of_columns(interpreted):
    frame = pd.DataFrame(X, columns=list("abcdefg"))
    expected = fitted(
        FTRLClassifier, penalty_weights=[1, 0, 1, 5, 1, 1, 1], positive=[-1] + [0] * 6
    )
    for weights, signs in (({1: 0, 3: 5.0}, {0: -1}), ({"b": 0.0, "d": 5}, {"a": -1})):
        model = one_pass(FTRLClassifier, penalty_weights=weights, positive=signs)
        rows = frame if "b" in weights else X
        quiet(model.fit, rows, targets(FTRLClassifier), sample_weight=W)
        assert np.array_equal(model.coef_, expected.coef_)
        assert clone(model).penalty_weights == weights


@pytest.mark.parametrize("cls", [FOBOSClassifier, RDARegressor])
@pytest.mark.parametrize("weights", [WEIGHTS, dict(enumerate(WEIGHTS))], ids=["array", "mapping"])
def test_new_columns_have_theirs_by_position(interpreted, cls, weights):
    rows, y = X.copy(), targets(cls)
    rows[:15, 4:] = 0.0
    more = {"classes": [0, 1]} if is_classifier(cls()) else {}
    options = {"penalty_weights": weights, "positive": {5: -1}, "alpha": 0.03}
    grown = cls(grow=True, **options)
    quiet(grown.partial_fit, rows[:15, :4], y[:15], **more)
    quiet(grown.partial_fit, rows[15:], y[15:])
    tiny.assert_same(quiet(cls(**options).partial_fit, rows, y, **more), grown, X)
    usual = cls(grow=True, penalty_weights=WEIGHTS[:4])
    quiet(usual.partial_fit, rows[:15, :4], y[:15], **more)
    quiet(usual.partial_fit, rows[15:], y[15:])
    ones = cls(penalty_weights=np.r_[WEIGHTS[:4], 1, 1, 1])
    tiny.assert_same(quiet(ones.partial_fit, rows, y, **more), usual, X)


def test_new_classes_have_the_weights_too(interpreted):
    y = np.sort(tiny.classes(N))
    grown = FTRLClassifier(grow=True, penalty_weights=WEIGHTS)
    for chunk in (slice(0, 3), slice(3, 20), slice(20, N)):
        quiet(grown.partial_fit, X[chunk], y[chunk])
    stored = grown._solver_state.column_penalties
    assert np.array_equal(stored[0], np.repeat(WEIGHTS[:, None], 3, axis=1))
    for signs in (SIGNS, True):
        model = quiet(FOBOSClassifier(grow=True, positive=signs).partial_fit, X[:20], y[:20])
        with pytest.raises(ValueError, match="two classes cannot be turned"):
            model.partial_fit(X, tiny.classes(N))


# --------------------------------------------------------------------------- refused
REFUSED = [
    ({"penalty_weights": [1, 2]}, r"penalty_weights has shape \(2,\).*7 features"),
    ({"penalty_weights": -WEIGHTS}, "penalty_weights holds -1 for column 1"),
    ({"penalty_weights": {3: np.inf}}, "penalty_weights holds inf for column 3"),
    ({"penalty_weights": {3: np.nan}}, "penalty_weights holds nan for column 3"),
    ({"penalty_weights": np.zeros(P)}, "all penalty_weights are 0"),
    ({"penalty_weights": {7: 1.0}}, "column 7, but X has 7 features"),
    ({"penalty_weights": {-1: 1.0}}, "column -1, but X has 7 features"),
    ({"penalty_weights": {"age": 1.0}}, "'age', but X has no names"),
    ({"penalty_weights": {"age": 1.0}, "grow": True}, "'age'; with grow=True"),
    ({"penalty_weights": {0: "much"}}, "penalty_weights holds 'much'"),
    ({"positive": {0: 2}}, "positive holds 2 for column 0"),
    ({"positive": [1, -1]}, r"positive has shape \(2,\)"),
    ({"positive": {"age": 1}}, "positive names column 'age'"),
]


@pytest.mark.parametrize(("options", "message"), REFUSED, ids=str)
def test_what_is_no_weight_or_sign(interpreted, options, message):
    model = FTRLClassifier(**options)
    with pytest.raises(ValueError, match=f"FTRLClassifier: .*{message}"):
        model.partial_fit(X, targets(FTRLClassifier), classes=[0, 1])
    assert not hasattr(model, "t_")


def test_unknown_names_of_a_frame(interpreted):
    frame = pd.DataFrame(X, columns=list("abcdefg"))
    with pytest.raises(ValueError, match=r"penalty_weights.*'age'"):
        FTRLClassifier(penalty_weights={"age": 2}).fit(frame, targets(FTRLClassifier))


@pytest.mark.parametrize("cls", [FOBOSClassifier, OnlineRegressor])
def test_descent_refuses_other_weights_of_a_ridge(interpreted, cls):
    y = targets(cls)
    options = {"l1_ratio": 0.5}
    options |= {"penalty": "elasticnet"} if cls is OnlineRegressor else {}
    for weights in ({0: 0.5}, {0: 2}):
        with pytest.raises(ValueError, match=r"descent .*0 or 1"):
            cls(penalty_weights=weights, **options).fit(X, y)
    fitted(cls, penalty_weights={0: 0.0}, **options)
    more = {"classes": [0, 1]} if is_classifier(cls()) else {}
    model = cls(**{**options, "penalty_weights": {0: 2.0}, "l1_ratio": 1.0})
    quiet(model.partial_fit, X, y, **more)
    model.set_params(l1_ratio=0.5)
    with pytest.raises(ValueError, match="0 or 1"):
        model.partial_fit(X, y)


def test_averages_refuse_weights_of_a_ridge(interpreted):
    with pytest.raises(ValueError, match="average=False"):
        fitted(RDAClassifier, average=True, l1_ratio=0.5, penalty_weights=WEIGHTS)
    fitted(RDAClassifier, average=True, l1_ratio=0.5, positive=SIGNS)


def test_changes_in_mid_stream_are_refused(interpreted):
    y = targets(FTRLClassifier)
    for changed in ({"penalty_weights": 2 * WEIGHTS}, {"penalty_weights": None}):
        model = quiet(FTRLClassifier(penalty_weights=WEIGHTS).partial_fit, X, y, [0, 1])
        model.set_params(**changed)
        with pytest.raises(ValueError, match="changed since the model was fitted"):
            model.partial_fit(X, y)
    same = quiet(FTRLClassifier(penalty_weights=WEIGHTS).partial_fit, X, y, [0, 1])
    quiet(same.set_params(penalty_weights=WEIGHTS.tolist()).partial_fit, X, y)
    plain = quiet(FTRLClassifier().partial_fit, X, y, [0, 1]).set_params(positive=SIGNS)
    with pytest.raises(ValueError, match="changed since the model was fitted"):
        plain.partial_fit(X, y)


def test_the_optimizer_itself_is_not_for_users(interpreted):
    with pytest.raises(ValueError, match="penalty_weights and positive"):
        OnlineClassifier(optimizer=ByColumn(Descent())).fit(X, targets(OnlineClassifier))


@pytest.mark.parametrize("cls", [RDAClassifier, FTRLClassifier, FOBOSClassifier])
def test_partitions_share_the_weights(cls):
    """Sums over partitions, and means of what they learn apart: columns of weight 0 have weights,
    no weight has the wrong sign, and nothing else survives a penalty that strong.
    """
    import tamis.distributed as td

    y = targets(cls)
    blocks = [(sp.csr_array(X[chunk]), y[chunk]) for chunk in (slice(0, 20), slice(20, N))]
    model = cls(penalty_weights=np.where(WEIGHTS == 0.0, 0.0, 1e6), positive=SIGNS, random_state=0)
    for how in ("mix", "sum") if cls is RDAClassifier else ("mix",):
        result = quiet(td.fit, model, blocks, how=how, sweeps=4)
        stored = result._solver_state.column_penalties[:, :, 0]
        np.testing.assert_allclose(stored, [model.penalty_weights, SIGNS], rtol=1e-12)
        assert set(result.support_) <= {0, 4}
        assert len(result.support_)
        assert (result.coef_ * SIGNS >= 0.0).all()
