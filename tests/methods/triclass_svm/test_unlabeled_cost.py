"""The automatic cost of unlabelled rows of TriClassSVC: it helps, or the machine is the plain
one.
"""

import warnings

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.metrics import roc_auc_score

from tamis import TriClassSVC, load, save
from tamis.methods.triclass_svm.unlabeled_cost import (
    COST_RATIOS,
    LabelledRows,
    auc_gain,
    choose_cost,
)

RNG = np.random.default_rng(0)
L, U = 20, 150
SIDES = np.where(np.arange(L) % 2, 1, 0)


def draw(sides, noise_std=3.0):
    """Rows of two columns that tell and 28 that are noise."""
    noise = RNG.normal(size=(len(sides), 30)) * np.r_[0.3, 0.3, np.full(28, noise_std)]
    return 0.3 * sides[:, None] + noise


HELPED = np.concatenate([draw(2 * SIDES - 1), draw(np.zeros(U))])  # noise says what does not tell
HARMED = np.concatenate([draw(2 * SIDES - 1, 0.4), draw(np.where(np.arange(U) % 2, 1, -1), 0.4)])
LABELS = np.r_[SIDES, np.full(U, -1)]
NOISY_LABELS = np.r_[
    1, 0, LABELS[2:]
]  # two labels are wrong, so that no machine gets all rows right
NEW = draw(np.repeat([-1, 1], 300))
TRUTH = np.repeat([0, 1], 300)


def labelled(sides, weights=None):
    weights = np.ones(len(sides)) if weights is None else weights
    return LabelledRows(sides[:, None] > 0, weights, sides, lambda s: (s[:, 0] > 0).astype(int))


# --------------------------------------------------------------------------- whole fits
@pytest.mark.parametrize("mode", ["3c", "usvm"])
def test_rows_that_help_are_used(mode):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        model = TriClassSVC(mode).fit(HELPED, LABELS)
        cost = model.resolved_params_["C_unlabeled"]
        explicit = TriClassSVC(mode, C_unlabeled=cost).fit(HELPED, LABELS)
    plain = TriClassSVC("svm").fit(HELPED, LABELS)
    assert cost in COST_RATIOS
    assert np.array_equal(model.coef_, explicit.coef_)
    assert model.score(NEW, TRUTH) > plain.score(NEW, TRUTH) + 0.05
    assert [record["C_unlabeled"] for record in model.prices_] == [0.0, *COST_RATIOS]
    chosen = model.prices_[1 + COST_RATIOS.index(cost)]
    assert chosen["gain"] > chosen["standard_error"] > 0.0
    assert chosen["error"] < model.prices_[0]["error"]
    assert explicit.prices_ == []
    assert explicit.resolved_params_ == {"C_unlabeled": cost, "C_irrelevant": cost}


@pytest.mark.parametrize("parameters", [{}, {"solver": "coordinate"}, {"kernel": "rbf"}])
@pytest.mark.parametrize("mode", ["3c", "usvm", "s3vm"])
def test_rows_that_gain_nothing_are_left_out_with_a_warning(mode, parameters):
    """To the bits of the plain machine, with no mean held."""
    rest = {"balance": "labels"} if mode == "s3vm" else {}
    with pytest.warns(UserWarning, match=r"150 rows .*C_unlabeled=0.2"):
        model = TriClassSVC(mode, C=2.0, **parameters, **rest).fit(HARMED, NOISY_LABELS)
    plain = TriClassSVC("svm", C=2.0, **parameters).fit(HARMED, NOISY_LABELS)
    assert np.array_equal(model.decision_function(NEW), plain.decision_function(NEW))
    assert model.resolved_params_ == {"C_unlabeled": 0.0, "C_irrelevant": 0.0}
    assert len(model.prices_) == 1 + len(COST_RATIOS)


def test_rows_known_as_irrelevant_share_the_cost_without_C_irrelevant():
    labels = np.where(np.arange(L + U) < L, LABELS, 7)
    model = TriClassSVC("svm", irrelevant_label=7).fit(HELPED, labels)
    assert model.resolved_params_["C_irrelevant"] in COST_RATIOS
    separate = TriClassSVC("usvm", irrelevant_label=7, C_irrelevant=0.3).fit(HELPED, labels)
    explicit = TriClassSVC("usvm", irrelevant_label=7, C_unlabeled=0.3).fit(HELPED, labels)
    assert separate.resolved_params_ == {"C_unlabeled": 0.0, "C_irrelevant": 0.3}
    assert np.array_equal(separate.coef_, explicit.coef_)


def test_nothing_to_choose_gives_no_warning():
    """Without unlabelled rows, with weights of 0, or where the mode ignores them."""
    weights = np.repeat([1.0, 0.0], [L, U])
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        models = [
            TriClassSVC().fit(HELPED[:L], LABELS[:L]),
            TriClassSVC().fit(HELPED, LABELS, sample_weight=weights),
            TriClassSVC("svm").fit(HELPED, LABELS),
        ]
    for model in models:
        assert model.prices_ == []
        assert model.coef_ == pytest.approx(models[0].coef_, abs=1e-9)


def test_one_label_of_a_class_is_too_few_to_choose_by():
    labels = np.where((np.arange(L + U) > 1) & (LABELS == 1), -1, LABELS)
    with pytest.warns(UserWarning, match="a class has one labelled row"):
        TriClassSVC().fit(HELPED, labels)
    with pytest.warns(UserWarning, match="get every labelled row right"):
        TriClassSVC().fit(np.abs(HELPED) * np.where(LABELS == 1, 1.0, -1.0)[:, None], LABELS)


def test_several_classes_sparse_rows_and_a_file(tmp_path):
    classes = np.arange(L + U) % 3
    rows = sp.csr_array(2.0 * np.eye(3, 30)[classes] + 0.5 * np.abs(HELPED) * (np.abs(HELPED) > 2))
    labels = np.where(np.arange(L + U) < 24, classes, -1)
    model = TriClassSVC(class_weight="balanced")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model.fit(rows, labels)
    assert len(model.prices_) >= 1
    save(model, tmp_path / "model")
    again = load(tmp_path / "model")
    assert again.resolved_params_ == model.resolved_params_
    assert again.prices_ == model.prices_


# --------------------------------------------------------------------------- the rule
def test_the_gain_is_a_difference_of_areas_and_its_error_that_of_a_jackknife():
    sides = np.where(np.arange(60) % 3, 1, 0)
    better, worse = sides + RNG.normal(size=60), 0.2 * sides + RNG.normal(size=60)

    def gain_of(scores, weights=None, keep=slice(None)):
        rows = labelled(sides[keep], weights)
        return auc_gain([scores[keep, None]], [worse[keep, None]], rows)

    for weights in (np.ones(60), RNG.integers(1, 4, 60).astype(float)):
        area = [roc_auc_score(sides, s, sample_weight=weights) for s in (better, worse)]
        assert gain_of(better, weights)[0] == pytest.approx(area[0] - area[1], abs=1e-12)
    assert gain_of(np.zeros(60))[0] == pytest.approx(0.5 - roc_auc_score(sides, worse), abs=1e-12)
    leave_one_out = [gain_of(better, keep=np.arange(60) != k)[0] for k in range(60)]
    jackknife = np.sqrt(59 / 60 * np.sum((leave_one_out - np.mean(leave_one_out)) ** 2))
    assert gain_of(better)[1] == pytest.approx(jackknife, rel=0.1)


def test_a_gain_within_its_error_or_without_fewer_errors_does_not_count():
    sides = np.where(np.arange(20) % 2, 1, 0)
    signs = 2.0 * sides[:, None] - 1.0
    calls = []

    def choose(*scores):
        """Choose a cost among 0, 1, 2, ..., whose machines give these scores in every split."""
        calls.clear()

        def held_out_scores(cost, seed):
            calls.append((cost, seed))
            return scores[int(cost)]

        return choose_cost(labelled(sides), np.arange(1.0, len(scores)).tolist(), held_out_scores)[
            0
        ]

    def scores_with_errors(count):
        return np.where(np.arange(20)[:, None] < count, -signs, signs)

    assert choose(scores_with_errors(8), scores_with_errors(7)) == 0.0  # one row is not enough
    assert choose(scores_with_errors(8), scores_with_errors(7), scores_with_errors(1)) == 2.0
    assert calls == [(p, 0) for p in (0, 1, 2)] + [(p, s) for s in (1, 2) for p in (0, 1, 2)]
    # In the right order, yet all on one side of 0.
    assert choose(scores_with_errors(8), 0.1 * signs - 5.0) == 0.0
    # What gains nothing in the first cut is not tried again, and nothing where all rows are right.
    assert choose(scores_with_errors(1), scores_with_errors(2)) == 0.0
    assert calls == [(0, 0), (1, 0)]
    assert choose(signs, signs) == 0.0
    assert calls == [(0, 0)]
