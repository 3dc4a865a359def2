"""TriClassSVC's price of unlabelled rows where nobody said: it helps, or the machine is the plain
one.
"""

import warnings

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.metrics import roc_auc_score

from tamis import TriClassSVC, load, save
from tamis.methods.triclass_svm.choice import SHARES, Known, choose_price, gained

RNG = np.random.default_rng(0)
L, U = 20, 150
SIDES = np.where(np.arange(L) % 2, 1, 0)


def draw(sides, loud=3.0):
    """Rows of two columns that tell and 28 that are noise."""
    noise = RNG.normal(size=(len(sides), 30)) * np.r_[0.3, 0.3, np.full(28, loud)]
    return 0.3 * sides[:, None] + noise


HELPED = np.concatenate([draw(2 * SIDES - 1), draw(np.zeros(U))])  # noise says what does not tell
HARMED = np.concatenate([draw(2 * SIDES - 1, 0.4), draw(np.where(np.arange(U) % 2, 1, -1), 0.4)])
LABELS = np.r_[SIDES, np.full(U, -1)]
DOUBTFUL = np.r_[1, 0, LABELS[2:]]  # two labels are wrong, so that no machine gets all rows right
NEW = draw(np.repeat([-1, 1], 300))
TRUTH = np.repeat([0, 1], 300)


def known(sides, weights=None):
    weights = np.ones(len(sides)) if weights is None else weights
    return Known(sides[:, None] > 0, weights, sides, lambda s: (s[:, 0] > 0).astype(int))


# --------------------------------------------------------------------------- whole fits
@pytest.mark.parametrize("mode", ["3c", "usvm"])
def test_rows_that_help_are_used(mode):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        model = TriClassSVC(mode).fit(HELPED, LABELS)
        price = model.resolved_params_["C_unlabeled"]
        said = TriClassSVC(mode, C_unlabeled=price).fit(HELPED, LABELS)
    plain = TriClassSVC("svm").fit(HELPED, LABELS)
    assert price in SHARES
    assert np.array_equal(model.coef_, said.coef_)
    assert model.score(NEW, TRUTH) > plain.score(NEW, TRUTH) + 0.05
    assert [record["C_unlabeled"] for record in model.prices_] == [0.0, *SHARES]
    chosen = model.prices_[1 + SHARES.index(price)]
    assert chosen["gain"] > chosen["standard_error"] > 0.0
    assert chosen["error"] < model.prices_[0]["error"]
    assert said.prices_ == []
    assert said.resolved_params_ == {"C_unlabeled": price, "C_irrelevant": price}


@pytest.mark.parametrize("given", [{}, {"solver": "coordinate"}, {"kernel": "rbf"}])
@pytest.mark.parametrize("mode", ["3c", "usvm", "s3vm"])
def test_rows_that_gain_nothing_are_left_out_and_it_is_said(mode, given):
    """To the bits of the plain machine, with no mean held."""
    rest = {"balance": "labels"} if mode == "s3vm" else {}
    with pytest.warns(UserWarning, match=r"150 rows .*C_unlabeled=0.2"):
        model = TriClassSVC(mode, C=2.0, **given, **rest).fit(HARMED, DOUBTFUL)
    plain = TriClassSVC("svm", C=2.0, **given).fit(HARMED, DOUBTFUL)
    assert np.array_equal(model.decision_function(NEW), plain.decision_function(NEW))
    assert model.resolved_params_ == {"C_unlabeled": 0.0, "C_irrelevant": 0.0}
    assert len(model.prices_) == 1 + len(SHARES)


def test_rows_known_as_irrelevant_share_the_price_unless_they_have_their_own():
    labels = np.where(np.arange(L + U) < L, LABELS, 7)
    model = TriClassSVC("svm", irrelevant_label=7).fit(HELPED, labels)
    assert model.resolved_params_["C_irrelevant"] in SHARES
    own = TriClassSVC("usvm", irrelevant_label=7, C_irrelevant=0.3).fit(HELPED, labels)
    said = TriClassSVC("usvm", irrelevant_label=7, C_unlabeled=0.3).fit(HELPED, labels)
    assert own.resolved_params_ == {"C_unlabeled": 0.0, "C_irrelevant": 0.3}
    assert np.array_equal(own.coef_, said.coef_)


def test_nothing_to_choose_is_nothing_to_say():
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
    kind = np.arange(L + U) % 3
    rows = sp.csr_array(2.0 * np.eye(3, 30)[kind] + 0.5 * np.abs(HELPED) * (np.abs(HELPED) > 2))
    labels = np.where(np.arange(L + U) < 24, kind, -1)
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
        rows = known(sides[keep], weights)
        return gained([scores[keep, None]], [worse[keep, None]], rows)

    for weights in (np.ones(60), RNG.integers(1, 4, 60).astype(float)):
        area = [roc_auc_score(sides, s, sample_weight=weights) for s in (better, worse)]
        assert gain_of(better, weights)[0] == pytest.approx(area[0] - area[1], abs=1e-12)
    assert gain_of(np.zeros(60))[0] == pytest.approx(0.5 - roc_auc_score(sides, worse), abs=1e-12)
    left = [gain_of(better, keep=np.arange(60) != k)[0] for k in range(60)]
    jackknife = np.sqrt(59 / 60 * np.sum((left - np.mean(left)) ** 2))
    assert gain_of(better)[1] == pytest.approx(jackknife, rel=0.1)


def test_a_gain_within_its_error_or_without_fewer_wrong_rows_is_none():
    sides = np.where(np.arange(20) % 2, 1, 0)
    signs = 2.0 * sides[:, None] - 1.0
    asked = []

    def choose(*scores):
        """The price chosen among 0, 1, 2, ... whose machines give these scores in every cut."""
        asked.clear()

        def held_out(price, seed):
            asked.append((price, seed))
            return scores[int(price)]

        return choose_price(known(sides), np.arange(1.0, len(scores)).tolist(), held_out)[0]

    def wrong(count):
        return np.where(np.arange(20)[:, None] < count, -signs, signs)

    assert choose(wrong(8), wrong(7)) == 0.0  # one row is not enough
    assert choose(wrong(8), wrong(7), wrong(1)) == 2.0
    assert asked == [(p, 0) for p in (0, 1, 2)] + [(p, s) for s in (1, 2) for p in (0, 1, 2)]
    # In the right order, yet all on one side of 0.
    assert choose(wrong(8), 0.1 * signs - 5.0) == 0.0
    # What gains nothing in the first cut is not tried again, and nothing where all rows are right.
    assert choose(wrong(1), wrong(2)) == 0.0
    assert asked == [(0, 0), (1, 0)]
    assert choose(signs, signs) == 0.0
    assert asked == [(0, 0)]
