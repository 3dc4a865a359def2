"""Combinations of terms: valid ones fit, others are refused early with the reason."""

import numpy as np
import pytest
import tiny
from registry import CLASSIFIERS, REGRESSORS
from tiny import one_pass, quiet

from tamis import (
    FOBOSClassifier,
    FTRLClassifier,
    OnlineClassifier,
    OnlineRegressor,
    TruncatedGradientClassifier,
)
from tamis.terms import (
    FTRL,
    L1,
    AdaGrad,
    Averaged,
    CappedDescent,
    Constant,
    Descent,
    ElasticNet,
    Hinge,
    PassiveAggressive,
    Ridge,
)
from tamis.terms.losses import LOSSES, accepts_classes, accepts_numbers

X = tiny.matrix()
Y = (tiny.signs(X) > 0).astype(int)
INVALID = [
    (
        {"optimizer": "adagrad", "penalty": "l2"},
        "AdaGrad.*Ridge",
    ),
    ({"optimizer": "adagrad", "penalty": "elasticnet"}, "AdaGrad.*ElasticNet"),
    ({"optimizer": AdaGrad(0.1), "penalty": Ridge(0.1)}, r"AdaGrad\(delta=0\.1\).*Ridge"),
    (
        {"optimizer": "ftrl", "penalty": "l2", "average": True},
        "FTRL.*Ridge.* average=True",
    ),
    (
        {"optimizer": FTRL(1.0), "penalty": ElasticNet(), "average": True},
        "FTRL.*ElasticNet.* average=True",
    ),
    ({"optimizer": CappedDescent(), "penalty": "l2"}, "CappedDescent.*Ridge.*theta"),
    ({"learning_rate": "pa1"}, "passive-aggressive .*Logistic"),
    ({"learning_rate": "pa1", "loss": "hinge"}, "passive-aggressive .*L1"),
    (
        {"learning_rate": "pa1", "loss": "hinge", "penalty": None, "optimizer": "ftrl"},
        "passive-aggressive .*FTRL",
    ),
    (
        {"learning_rate": "pa1", "loss": "squared_hinge", "penalty": None},
        "passive-aggressive .*SquaredHinge",
    ),
    ({"learning_rate": Constant(0.1), "eta": 0.5}, "learning_rate=Constant.*eta"),
    ({"loss": "hinges"}, "'loss' parameter .*'hinges'"),
    ({"penalty": "l3"}, "'penalty' parameter .*'l3'"),
    ({"optimizer": "descend"}, "'optimizer' parameter .*'descend'"),
    ({"learning_rate": "invscaling"}, "'learning_rate' parameter .*'invscaling'"),
    ({"optimizer": Hinge()}, "Hinge.* optimizer: .*current_weight"),
    ({"penalty": Hinge()}, "Hinge.* penalty: .*prox"),
    ({"loss": L1()}, "L1.* loss: .*gradient, hessian_bound"),
    ({"loss": 0.5}, "'loss' parameter .*0.5"),
    ({"learning_rate": 0.1}, "'learning_rate' parameter .*0.1"),
    ({"penalty": 1e-4}, "'penalty' parameter .*0.0001"),
]


@pytest.mark.parametrize(("parameters", "reason"), INVALID, ids=[repr(p) for p, _ in INVALID])
@pytest.mark.parametrize("method", ["fit", "partial_fit"])
def test_invalid_pairs_are_refused_early_with_the_reason(parameters, reason, method):
    model = OnlineClassifier(**parameters)
    more = {"classes": [0, 1]} if method == "partial_fit" else {}
    with pytest.raises((ValueError, TypeError), match=reason):
        getattr(model, method)(X, Y, **more)
    assert not [name for name in vars(model) if name.endswith("_") and not name.startswith("_")], (
        "something was learnt"
    )
    with pytest.raises((ValueError, TypeError), match=reason):
        # The terms are looked at before the rows.
        getattr(model, method)(np.full((3, 2), np.nan), Y, **more)


@pytest.mark.parametrize(
    ("cls", "parameters", "reason"),
    [
        (FTRLClassifier, {"l1_ratio": 0.5, "average": True}, "FTRL.*ElasticNet.* average=True"),
        (
            OnlineRegressor,
            {"loss": "hinge"},
            "loss='hinge' .*OnlineRegressor .*'squared_error'",
        ),
        (OnlineRegressor, {"loss": "logistic"}, "loss='logistic' .*OnlineRegressor"),
        (OnlineRegressor, {"loss": Hinge(2)}, r"loss=Hinge\(margin=2\) .*OnlineRegressor"),
        (FOBOSClassifier, {"alpha": -1.0}, "'alpha' parameter of FOBOSClassifier .*-1"),
        (FOBOSClassifier, {"eta": 0.0}, "'eta' parameter of FOBOSClassifier .*0.0"),
        (FOBOSClassifier, {"l1_ratio": 1.5}, "The 'l1_ratio' parameter"),
        (TruncatedGradientClassifier, {"burst": 0}, "The 'burst' parameter"),
        (TruncatedGradientClassifier, {"theta": -1.0}, "The 'theta' parameter"),
        (FOBOSClassifier, {"max_iter": 0}, "The 'max_iter' parameter"),
        (FOBOSClassifier, {"class_weight": "equal"}, "The 'class_weight' parameter"),
    ],
)
def test_bad_parameters_of_recipes(cls, parameters, reason):
    with pytest.raises((ValueError, TypeError), match=reason):
        cls(**parameters).fit(X, Y)


@pytest.mark.parametrize(
    "parameters",
    [
        {"penalty": None},
        {"penalty": None, "positive": True},
        {"penalty": "l2"},
        {"penalty": "ridge"},
        {"penalty": "elasticnet", "l1_ratio": 0.3},
        {"penalty": L1(1e-3), "optimizer": AdaGrad(0.1), "average": True},
        {"penalty": None, "loss": "hinge", "learning_rate": "pa1"},
        {
            "penalty": None,
            "loss": "hinge",
            "learning_rate": PassiveAggressive(0.5, 2),
            "average": True,
            "positive": True,
        },
        {"penalty": "l1", "optimizer": CappedDescent(5, 1, 0), "alpha": 1e-3},
        {
            "loss": "squared_error",
            "optimizer": "dual_averaging",
            "learning_rate": "constant",
            "eta": 0.05,
        },
        {"loss": "huber", "optimizer": Descent(3, 1), "learning_rate": "inverse_time"},
    ],
    ids=repr,
)
def test_valid_pairs_fit(interpreted, parameters):
    model = quiet(one_pass(OnlineClassifier, **parameters).fit, X, Y)
    assert np.isfinite(model.coef_).all()
    assert model.coef_.any()


@pytest.mark.parametrize("cls", CLASSIFIERS)
@pytest.mark.parametrize("loss", [name for name, loss in LOSSES.items() if accepts_classes(loss)])
def test_every_classifier_takes_every_loss(interpreted, cls, loss):
    model = quiet(one_pass(cls, loss=loss).fit, X, Y)
    assert np.isfinite(model.coef_).all()
    if loss == "log_loss":
        tiny.assert_same(model, quiet(one_pass(cls, loss="logistic").fit, X, Y), X)


@pytest.mark.parametrize("cls", REGRESSORS)
@pytest.mark.parametrize(
    "loss",
    [n for n, loss in LOSSES.items() if accepts_numbers(loss) and not hasattr(loss, "accepts")],
)
def test_every_regressor_takes_every_loss_of_the_residual(interpreted, cls, loss):
    assert np.isfinite(quiet(one_pass(cls, loss=loss).fit, X, tiny.numbers(X)).coef_).all()


def test_averaging_is_a_parameter_not_a_rule():
    with pytest.raises(TypeError, match=r"Averaged.* cannot serve as optimizer"):
        OnlineClassifier(optimizer=Averaged(Descent())).fit(X, Y)
