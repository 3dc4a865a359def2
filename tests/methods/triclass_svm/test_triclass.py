"""TriClassSVC: the invariants of the method, and values of a cone program and of scikit-learn."""

import warnings

import numpy as np
import pytest
import scipy.sparse as sp
from scipy.optimize import minimize
from sklearn.exceptions import ConvergenceWarning
from sklearn.metrics import log_loss
from sklearn.metrics.pairwise import rbf_kernel
from sklearn.model_selection import StratifiedKFold
from sklearn.svm import SVC
from sklearn.utils.estimator_checks import parametrize_with_checks
from solvers import cone

from tamis import TriClassSVC
from tamis.methods.triclass_svm import solver as triclass
from tamis.methods.triclass_svm.problems import BinaryProblem
from tamis.methods.triclass_svm.solver import dual_entries
from tamis.solvers.calibration import fit_sigmoid

RNG = np.random.default_rng(0)
L, U, D = 30, 70, 6
TRUTH = np.where(np.arange(L + U) % 2, 1, -1)
X = RNG.normal(size=(L + U, D)) + 0.8 * TRUTH[:, None] * (np.arange(D) < 2)
X[L + 40 :] = RNG.normal(size=(U - 40, D))  # of neither class
Y = np.r_[TRUTH[:L], np.full(U, 9)]
KERNELS = ("linear", "rbf", "poly")


def machine(mode="3c", **parameters):
    return TriClassSVC(mode, **{"C_unlabeled": 0.1, "unlabeled": 9, "tol": 1e-5, **parameters})


def scores_of(model, rows=X):
    return model.decision_function(rows)


# --------------------------------------------------------------------------- scikit-learn
@parametrize_with_checks(
    [TriClassSVC(unlabeled=None)]
)  # those checks have a class -1, which is the usual mark of unlabelled rows
@pytest.mark.filterwarnings("ignore")
def test_common_checks_of_scikit_learn(estimator, check):
    check(estimator)


@pytest.mark.parametrize("kernel", KERNELS)
@pytest.mark.parametrize("solver", ["smo", "coordinate"])
@pytest.mark.filterwarnings("ignore:TriClassSVC stopped")
def test_without_a_cost_of_unlabelled_rows_it_is_svc(kernel, solver):
    if solver == "coordinate" and kernel != "linear":
        return
    svc = SVC(C=0.7, kernel=kernel, gamma=0.2, coef0=1.0, tol=1e-8).fit(X[:L], TRUTH[:L])
    for parameters in (
        {"mode": "3c", "C_unlabeled": 0.0},
        {"mode": "svm"},
        {"mode": "usvm", "C_unlabeled": 0.0},
    ):
        ours = machine(
            **parameters, C=0.7, kernel=kernel, gamma=0.2, coef0=1.0, tol=1e-8, solver=solver
        ).fit(X, Y)
        # Sweeps over single rows may end at their bound: then the weights are within the root of
        # twice the gap.
        tolerance = (
            1e-5
            if solver == "smo"
            else 1e-5 + 2.0 * np.sqrt(2.0 * max(ours.gap_, 0.0)) * np.linalg.norm(X, axis=1).max()
        )
        assert scores_of(ours) == pytest.approx(svc.decision_function(X), abs=tolerance)


def test_pairs_of_classes_are_those_of_svc():
    three = np.arange(L + U) % 3
    rows = X + np.eye(D)[three]
    svc = SVC(kernel="rbf", gamma=0.3, tol=1e-8).fit(rows, three)
    ours = machine("svm", kernel="rbf", gamma=0.3, tol=1e-8).fit(rows, three)
    assert scores_of(ours, rows) == pytest.approx(svc.decision_function(rows), abs=1e-5)
    assert ours.dual_coef_.shape[0] == 3


# --------------------------------------------------------------------------- invariants
@pytest.mark.parametrize("init", ["usvm", "svm", "anneal"])
@pytest.mark.parametrize("mode", ["3c", "s3vm"])
@pytest.mark.parametrize("cost", [0.03, 0.3, 3.0])
def test_the_objective_never_rises(mode, init, cost):
    for parameters in ({"kernel": "rbf"}, {"ramp": -0.4}, {"balance": "labels"}):
        model = machine(
            mode,
            init=init,
            C_unlabeled=cost,
            balance=parameters.pop("balance", False),
            **parameters,
        ).fit(X, Y)
        values = [record["objective"] for record in model.history_]
        assert (np.diff(values) <= 0.0).all()
        assert values[-1] == model.objective_
        assert len(values) <= model.n_iter_ + 1


@pytest.mark.parametrize("mode", ["3c", "usvm", "s3vm", "svm"])
def test_the_objective_is_the_formula(mode):
    model = machine(mode, C=0.7, C_unlabeled=0.2, epsilon=0.15, ramp=-0.3, balance=False).fit(X, Y)
    f = scores_of(model)
    hinge, tube = np.maximum(0, 1 - np.abs(f[L:])), np.maximum(0, np.abs(f[L:]) - 0.15)
    unlabelled_loss = {
        "3c": np.minimum(hinge, tube),
        "usvm": tube,
        "s3vm": np.minimum(hinge, 0.7),
        "svm": 0 * hinge,
    }[mode]
    value = (
        0.5 * np.sum(model.coef_**2)
        + 0.7 * np.maximum(0, 1 - TRUTH[:L] * f[:L]).sum()
        + 0.2 * unlabelled_loss.sum()
    )
    assert model.objective_ == pytest.approx(value, rel=1e-9)


def test_unlabelled_rows_marked_as_irrelevant_are_usvm():
    """Also where the two are mixed, and with weights."""
    weights = RNG.integers(0, 3, L + U) / 2.0
    as_usvm = machine("usvm", kernel="rbf").fit(X, Y, sample_weight=weights)
    for mode in ("usvm", "3c", "s3vm", "svm"):
        with_irrelevant = machine(mode, kernel="rbf", unlabeled=None, irrelevant_label=9).fit(
            X, Y, sample_weight=weights
        )
        assert np.array_equal(scores_of(with_irrelevant), scores_of(as_usvm))
    mixed = np.where(np.arange(L + U) % 2, Y, np.where(Y == 9, 0, Y))
    assert scores_of(
        machine("usvm", kernel="rbf", irrelevant_label=0).fit(X, mixed, sample_weight=weights)
    ) == pytest.approx(scores_of(as_usvm))


@pytest.mark.parametrize("mode", ["3c", "usvm", "s3vm"])
def test_negated_labels_negate_the_scores(mode):
    parameters = {"tol": 1e-9, "C_unlabeled": 0.05, "balance": 0.2 if mode == "s3vm" else None}
    one = machine(mode, **parameters).fit(X, Y)
    parameters["balance"] = None if parameters["balance"] is None else -0.2
    other = machine(mode, **parameters).fit(X, np.where(Y == 9, 9, -Y))
    assert scores_of(one) == pytest.approx(-scores_of(other), abs=1e-7)


@pytest.mark.parametrize("kernel", ["linear", "rbf"])
@pytest.mark.parametrize("solver", ["smo", "coordinate"])
def test_usvm_has_the_value_of_a_cone_program(kernel, solver):
    if (kernel, solver) == ("rbf", "coordinate"):
        return
    matrix = X @ X.T if kernel == "linear" else rbf_kernel(X, gamma=0.2)
    model = machine(
        "usvm",
        C=0.6,
        C_unlabeled=0.2,
        C_irrelevant=0.4,
        kernel=kernel,
        gamma=0.2,
        irrelevant_label=5,
        solver=solver,
        tol=1e-7,
    )
    labels = np.where(np.arange(L + U) >= 90, 5, Y)
    model.fit(X, labels)
    costs = np.r_[np.full(L, 0.6), np.full(60, 0.2), np.full(10, 0.4)]
    problem = BinaryProblem(
        np.where(labels == 9, 0.0, np.where(labels == 5, 0.0, Y.astype(float))), costs, 0.1, "usvm"
    )
    _, value, _ = cone.solve(matrix, *dual_entries(problem, problem.labels))
    assert -1e-6 <= model.objective_ - value <= model.gap_ + 1e-6
    assert 0.0 <= model.gap_ + 1e-9 < 1e-4 * value


@pytest.mark.parametrize(
    ("mode", "kernel"), [("3c", "rbf"), ("usvm", "linear"), ("s3vm", "rbf"), ("s3vm", "linear")]
)
@pytest.mark.parametrize("solver", ["smo", "coordinate"])
def test_the_mean_of_unlabelled_rows_is_held(mode, kernel, solver):
    """Read off the predictions: the weight of the mean row must be back in the rows."""
    if solver == "coordinate" and kernel != "linear":
        return
    for balance in (0.25, "labels"):
        labels = np.where(np.arange(L + U) < 3, 1, Y)
        model = machine(mode, kernel=kernel, balance=balance, solver=solver).fit(X, labels)
        mean_score = 0.25 if balance == 0.25 else labels[:L].mean()
        assert scores_of(model)[L:].mean() == pytest.approx(mean_score, abs=2e-5)


@pytest.mark.parametrize("mode", ["3c", "s3vm"])
def test_a_solution_is_a_fixed_point(mode):
    model = machine(mode, kernel="rbf", C_unlabeled=0.3, balance=False, init="svm").fit(X, Y)
    again = machine(mode, kernel="rbf", C_unlabeled=0.3, balance=False, init=scores_of(model)).fit(
        X, Y
    )
    assert model.n_iter_ > 1
    assert again.n_iter_ == 1
    assert scores_of(again) == pytest.approx(scores_of(model), abs=1e-3)
    assert again.objective_ == pytest.approx(model.objective_, abs=1e-4)


@pytest.mark.parametrize("cost", [1.0, 100.0, 1e4])
def test_unlabelled_rows_of_high_cost_end_beyond_the_margin_or_at_zero(cost):
    """The theorem of the slides, for epsilon = 0 on rows that can be separated."""
    rng = np.random.default_rng(3)
    side = np.where(np.arange(30) % 2, 1.0, -1.0)
    rows = rng.normal(size=(30, 40)) + 2.0 * side[:, None] * (np.arange(40) < 3)
    rows[24:, :3] = 0.0  # irrelevant: nothing of the direction that tells
    labels = np.r_[side[:10], np.full(20, 9)]
    model = machine("3c", epsilon=0.0, C=10.0, C_unlabeled=cost, init="svm").fit(rows, labels)
    f = np.abs(scores_of(model, rows)[10:])
    assert ((f >= 1 - 1e-3) | (f <= 1e-3)).all()
    assert {0.0, 1.0} == set(np.unique(np.round(np.minimum(f, 1.0))))


# -------------------------------------------------------------------------- two solvers, many forms
@pytest.mark.parametrize("mode", ["3c", "usvm", "s3vm"])
def test_sweeps_of_sparse_rows_find_the_machine_of_the_kernel_matrix(mode):
    parameters = {"balance": False, "tol": 1e-7, "C": 0.05, "C_unlabeled": 0.02}
    smo = machine(mode, solver="smo", **parameters).fit(X, Y)
    for rows in (X, sp.csr_array(X), sp.csc_matrix(X), X.astype(np.float32)):
        swept = machine(mode, solver="coordinate", **parameters).fit(rows, Y)
        assert scores_of(swept, rows) == pytest.approx(scores_of(smo), abs=1e-5)
        assert swept.objective_ == pytest.approx(smo.objective_, rel=1e-6)


def test_more_than_3000_rows_of_a_linear_kernel_are_swept(monkeypatch):
    from tamis.methods.triclass_svm import estimator as triclass_base

    monkeypatch.setattr(triclass_base, "kernel_matrix", None)  # calling it would fail
    rows = np.tile(X, (31, 1))
    model = machine("usvm", C_unlabeled=0.01).fit(sp.csr_array(rows), np.tile(Y, 31))
    assert model.coef_.shape == (1, D)
    assert model.score(X[:L], TRUTH[:L]) > 0.7


@pytest.mark.parametrize("kernel", [*KERNELS, "sigmoid", "cosine"])
def test_sparse_dense_precomputed_and_callable_kernels_agree(kernel):
    from sklearn.metrics.pairwise import pairwise_kernels

    # At the optimum: rounding sends the steps there on other ways.
    parameters = {"gamma": 0.1, "degree": 2, "coef0": 0.5, "tol": 1e-9}
    dense = machine(kernel=kernel, **parameters).fit(X, Y)
    sparse = machine(kernel=kernel, **parameters).fit(sp.csr_array(X), Y)
    assert scores_of(sparse, sp.csr_array(X)) == pytest.approx(scores_of(dense), abs=1e-6)
    function = lambda a, b: pairwise_kernels(a, b, metric=kernel, filter_params=True, **parameters)  # noqa: E731
    assert scores_of(machine(kernel=function, tol=1e-9).fit(X, Y)) == pytest.approx(
        scores_of(dense), abs=1e-6
    )
    matrix = function(X, X)
    ready = machine(kernel="precomputed", tol=1e-9).fit(matrix, Y)
    assert ready.decision_function(matrix[:5]) == pytest.approx(scores_of(dense)[:5], abs=1e-6)


def test_the_automatic_width_is_that_of_svc():
    svc = SVC(gamma="scale", tol=1e-8).fit(X[:L], TRUTH[:L])
    ours = machine("svm", kernel="rbf", gamma="scale", tol=1e-8).fit(X[:L], TRUTH[:L])
    assert scores_of(ours) == pytest.approx(svc.decision_function(X), abs=1e-5)
    weights = np.r_[np.ones(L), np.zeros(U)]
    assert scores_of(
        machine("usvm", kernel="rbf", tol=1e-8).fit(X, Y, sample_weight=weights)
    ) == pytest.approx(scores_of(ours), abs=1e-6)


def test_weights_are_repeats_and_balanced_classes_are_weights():
    weights = RNG.integers(0, 4, L + U)
    for parameters in ({}, {"balance": "labels"}, {"kernel": "rbf"}):
        weighed = machine(tol=1e-8, **parameters).fit(X, Y, sample_weight=weights)
        repeated = machine(tol=1e-8, **parameters).fit(
            np.repeat(X, weights, axis=0), np.repeat(Y, weights)
        )
        assert scores_of(weighed) == pytest.approx(scores_of(repeated), abs=1e-4)
    labels = np.where((np.arange(L + U) < L) & (np.arange(L + U) % 6 == 1), 9, Y)
    counts = {c: np.count_nonzero(labels == c) for c in (-1, 1)}
    class_weights = np.where(
        labels == 9, 1.0, sum(counts.values()) / (2 * np.where(labels == 1, counts[1], counts[-1]))
    )
    assert scores_of(machine(class_weight="balanced").fit(X, labels)) == pytest.approx(
        scores_of(machine().fit(X, labels, sample_weight=class_weights))
    )
    with pytest.raises(ValueError, match=r"class_weight names \[4\]"):
        machine(class_weight={4: 1.0}).fit(X, Y)


# --------------------------------------------------------------------------- labels
@pytest.mark.parametrize(
    ("names", "unlabeled", "mark"),
    [
        ((-1, 1, None), None, 0),
        ((-1.0, 1.0, np.nan), np.nan, 0),
        ((0, 1, -1), -1, -2),
        (("no", "yes", "?"), "?", "irrelevant"),
        (("no", "yes", None), None, "irrelevant"),
        ((False, True, None), None, -1),
    ],
)
def test_any_label_marks_unlabelled_rows(names, unlabeled, mark):
    low, high, missing = names
    labels = [missing if v == 9 else high if v == 1 else low for v in Y.tolist()]
    usual = machine().fit(X, Y)
    for y in (labels, np.array(labels, dtype=object)):
        model = machine(unlabeled=unlabeled).fit(X, y)
        assert model.classes_.tolist() == [low, high]
        assert np.array_equal(scores_of(model), scores_of(usual))
        assert model.irrelevant_label_ == mark
        assert np.array_equal(model.predict_tri(X[L:]), model.transduction_)
        assert set(model.transduction_.tolist()) <= {low, high, mark}


def test_three_ways_to_call_a_row():
    model = machine(C_unlabeled=0.3, epsilon=0.2).fit(X, Y)
    f, tri = scores_of(model), model.predict_tri(X)
    assert np.array_equal(tri == model.irrelevant_label_, np.abs(f) < 0.6)
    assert np.array_equal(tri[np.abs(f) >= 0.6], np.sign(f[np.abs(f) >= 0.6]))
    assert np.array_equal(model.transduction_, tri[L:])
    assert np.array_equal(model.predict(X), np.where(f > 0, 1, -1))
    assert machine(irrelevant_label=4).fit(X, Y).irrelevant_label_ == 4


@pytest.mark.parametrize("multi_class", ["ovo", "ovr"])
@pytest.mark.parametrize("mode", ["3c", "usvm", "s3vm", "svm"])
def test_several_classes_and_rows_of_none(mode, multi_class):
    rng = np.random.default_rng(5)
    classes = np.arange(160) % 4
    rows = 0.5 * rng.normal(size=(160, 5)) + 4.0 * np.eye(4, 5)[classes]
    labels = np.where(np.arange(160) < 60, np.array(["a", "b", "c", "beside"])[classes], "?")
    parameters = {
        "C": 10.0,
        "C_irrelevant": 10.0,
        "unlabeled": "?",
        "irrelevant_label": "beside",
        "balance": False,
    }
    model = machine(mode, multi_class=multi_class, **parameters).fit(rows, labels)
    assert model.classes_.tolist() == ["a", "b", "c"]
    assert model.decision_function(rows).shape == (160, 3)
    inside = classes < 3
    assert (model.predict(rows)[inside] == np.array(["a", "b", "c"])[classes[inside]]).mean() > 0.95
    beside = model.predict_tri(rows) == "beside"
    assert beside[classes == 3].mean() > 0.5
    assert beside[inside].mean() < 0.05
    assert {record["machine"] for record in model.history_} == {0, 1, 2}


def test_rows_of_other_classes_serve_as_irrelevant_ones():
    rows, three = X + np.eye(D)[np.arange(L + U) % 3], np.arange(L + U) % 3
    model = machine("usvm", C_irrelevant=0.4, unlabeled=-1).fit(rows, three)
    pair = machine("usvm", C_irrelevant=0.4, unlabeled=-1, irrelevant_label=2).fit(rows, three)
    assert model.coef_[0] == pytest.approx(pair.coef_[0], abs=1e-9)


def test_no_unlabelled_rows_work():
    for mode in ("3c", "s3vm", "usvm"):
        model = machine(mode).fit(X[:L], Y[:L])
        assert model.transduction_.shape == (0,)
        assert scores_of(model) == pytest.approx(scores_of(machine("svm").fit(X, Y)))


# --------------------------------------------------------------------------- probabilities
@pytest.mark.parametrize(
    ("mode", "parameters"),
    [
        ("3c", {}),
        ("usvm", {"kernel": "rbf"}),
        ("s3vm", {"balance": 0.1}),
        ("svm", {"solver": "coordinate"}),
    ],
)
def test_probabilities_are_a_sigmoid_of_scores_of_rows_held_out(mode, parameters):
    """Worked by hand: folds of the labelled rows alone, each left out of a whole fit, and the
    likelihood of two numbers.
    """
    weights = 0.5 + RNG.random(L + U)
    model = machine(mode, probability=True, **parameters).fit(X, Y, sample_weight=weights)
    held_out_scores = np.zeros(L)
    for _, test in StratifiedKFold(5, shuffle=True, random_state=0).split(X[:L], Y[:L]):
        is_held_out = np.isin(np.arange(L + U), test)
        other = machine(mode, **parameters, gamma=model._width).fit(
            X, Y, sample_weight=np.where(is_held_out, 0.0, weights)
        )
        held_out_scores[test] = scores_of(other)[test]
    up, total = Y[:L] == 1, {side: weights[:L][Y[:L] == side].sum() for side in (1, -1)}
    sigmoid_targets = np.where(up, (total[1] + 1) / (total[1] + 2), 1 / (total[-1] + 2))

    def loss(line):
        z = line[0] * held_out_scores + line[1]
        return weights[:L] @ (np.logaddexp(0, z) - sigmoid_targets * z)

    slope, offset = minimize(loss, [1.0, 0.0], tol=1e-12).x
    P = model.predict_proba(X)
    assert P[:, 1] == pytest.approx(1 / (1 + np.exp(-slope * scores_of(model) - offset)), abs=1e-4)
    assert P.sum(axis=1) == pytest.approx(1.0)
    assert np.exp(model.predict_log_proba(X)) == pytest.approx(P)
    assert np.array_equal(
        scores_of(machine(mode, **parameters).fit(X, Y, sample_weight=weights)), scores_of(model)
    )


@pytest.mark.parametrize("multi_class", ["ovo", "ovr"])
def test_probabilities_of_several_classes_tell_them_apart(multi_class):
    three = np.arange(L + U) % 3
    rows = X + 3.0 * np.eye(D)[three]
    labels = np.where(np.arange(L + U) < 60, three, 9)
    model = machine(
        probability=True, multi_class=multi_class, kernel="rbf", class_weight="balanced"
    ).fit(rows, labels)
    P = model.predict_proba(rows)
    assert P.shape == (L + U, 3)
    assert P.sum(axis=1) == pytest.approx(1.0)
    assert log_loss(three[60:], P[60:]) < 0.8 * np.log(3)
    assert (P.argmax(axis=1) == three).mean() > 0.8


def test_probabilities_of_two_labelled_rows_are_finite():
    labels = np.where(np.arange(L + U) < 2, TRUTH, 9)
    for mode in ("3c", "usvm", "svm"):
        P = machine(mode, probability=True).fit(X, labels).predict_proba(X)
        assert ((P > 0.0) & (P < 1.0)).all()


@pytest.mark.filterwarnings("ignore:TriClassSVC stopped before it converged")
def test_probabilities_are_refused_where_they_were_not_asked_for():
    model = machine().fit(X, Y)
    assert not hasattr(model, "predict_proba")
    with pytest.raises(AttributeError) as refused:
        model.predict_proba(X)
    assert "TriClassSVC has probability=False" in str(refused.value.__cause__)
    with pytest.raises(AttributeError, match="probability=False; fit it again"):
        model.set_params(probability=True).predict_proba(X)
    with pytest.warns(ConvergenceWarning, match=r"5 machines .*probabilities"):
        machine("3c", init="svm", max_iter=1, C_unlabeled=1.0, probability=True).fit(X, Y)


# --------------------------------------------------------------------------- words
def test_errors_name_the_thing_and_the_way_out():
    with pytest.raises(ValueError, match=r"one class .* 1, .*50 .*unlabeled=-1"):
        TriClassSVC().fit(X, TRUTH)
    with pytest.raises(ValueError, match=r"no class, besides 100 unlabelled rows"):
        TriClassSVC(unlabeled=1).fit(X, np.ones(L + U))
    with pytest.raises(ValueError, match="Pass unlabeled=None"):
        TriClassSVC().fit(X, [None, *Y[1:].tolist()])
    with pytest.raises(ValueError, match="mixes text and numbers"):
        TriClassSVC().fit(X, np.array(["a", *Y[1:].tolist()], dtype=object))
    with pytest.raises(ValueError, match="mark the same rows"):
        machine(irrelevant_label=9).fit(X, Y)
    with pytest.raises(ValueError, match=r"solver='coordinate' .*linear kernel"):
        machine(kernel="rbf", solver="coordinate").fit(X, Y)
    with pytest.raises(ValueError, match="mode='svm' ignores"):
        machine("svm", balance=0.1).fit(X, Y)
    with pytest.raises(ValueError, match="square, dense"):
        machine(kernel="precomputed").fit(X, Y)
    with pytest.raises(ValueError, match="init as scores needs two classes"):
        machine(init=np.zeros((L + U, 2))).fit(X, Y)
    with pytest.raises(ValueError, match="init holds 3 scores for 100 rows"):
        machine(init=np.zeros(3)).fit(X, Y)
    with pytest.raises(ValueError, match=r"shape \(3,\)"):
        machine(kernel=lambda a, b: np.ones(3)).fit(X, Y)


def test_warnings():
    with pytest.warns(UserWarning, match="balance='labels'"):
        machine("s3vm").fit(X, Y)
    with pytest.warns(ConvergenceWarning, match=r"stopped before it converged.*max_iter=1"):
        machine("3c", init="svm", max_iter=1, C_unlabeled=1.0).fit(X, Y)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        machine("3c").fit(X, Y)
        machine("s3vm", balance=False).fit(X, Y)
        machine("s3vm").fit(X[:L], Y[:L])


def test_no_support_and_weights_only_of_a_linear_kernel():
    linear, curved = machine().fit(X, Y), machine(kernel="rbf").fit(X, Y)
    assert not hasattr(linear, "support_")
    assert not hasattr(curved, "support_")
    assert not hasattr(curved, "coef_")
    assert scores_of(linear) == pytest.approx(X @ linear.coef_[0] + linear.intercept_[0])
    again = linear.set_params(kernel="rbf").fit(X, Y)
    assert not hasattr(again, "coef_")
    assert np.array_equal(scores_of(again), scores_of(curved))


def test_parameters_of_the_usual_signature():
    parameters = TriClassSVC().get_params()
    expected = {
        "mode": "3c",
        "C": 1.0,
        "C_unlabeled": "auto",
        "C_irrelevant": None,
        "epsilon": 0.1,
        "kernel": "linear",
        "balance": None,
        "init": "best",
    }
    assert expected.items() <= parameters.items()
    assert (parameters["unlabeled"], parameters["irrelevant_label"]) == (-1, None)


def test_a_machine_that_does_not_converge_ends_the_steps(monkeypatch, bounded):
    """No labels are taken from scores that are not those of a solution; nothing is solved again to
    the last digit.
    """
    calls = []

    def never_converging(*entries, **options):
        calls.append(options)
        return original(*entries, **options)._replace(converged=False)

    original = triclass.solve_svm
    monkeypatch.setattr(triclass, "solve_svm", never_converging)
    with pytest.warns(ConvergenceWarning, match=r"stopped .*gap .*\d"):
        machine(init="svm", kernel="rbf").fit(X, Y)
    assert len(calls) == 1


@pytest.mark.parametrize("weight", [1e-40, 1.0, 1e40])
@pytest.mark.parametrize(
    "scores",
    [np.full(60, 3.0), np.zeros(60), 1e40 * np.linspace(-1.0, 1.0, 60)],
    ids=["one", "zero", "huge"],
)
def test_sigmoids_of_scores_that_tell_nothing(scores, weight, bounded):
    positive = np.arange(60) % 3 == 0
    slope, offset, _ = fit_sigmoid(scores, positive, np.full(60, weight))
    probabilities = 1.0 / (1.0 + np.exp(-(slope * scores + offset)))
    assert ((probabilities > 0.0) & (probabilities < 1.0)).all()
