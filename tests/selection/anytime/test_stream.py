"""FDRStream: the same for any cut into chunks, by hand, and what it promises."""

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.utils.estimator_checks import parametrize_with_checks

from tamis import FDRStream, load, save
from tamis.selection.anytime.evidence import BLOCK_ROWS
from tamis.selection.false_discovery.multiple_testing import benjamini_hochberg, evalue_pvalues

REAL = [4, 17, 33]


def make_stream(rows=900, columns=60, seed=0, kind="numbers"):
    """A stream in which three columns tell."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(rows, columns)) * (rng.random((rows, columns)) < 0.6)
    score = X[:, REAL] @ [1.0, -1.0, 0.7]
    if kind == "numbers":
        return X, score + rng.normal(size=rows)
    if kind == "classes":
        return X, np.where(2.0 * score + rng.logistic(size=rows) > 0, "up", "down")
    return X, np.digitize(score + rng.normal(size=rows), [-0.7, 0.7])


def learn_in_chunks(X, y, cuts, **options):
    """The rows in chunks."""
    model = FDRStream(**{"n_screen": 300, **options})
    for start, stop in zip([0, *cuts], [*cuts, len(y)], strict=True):
        model.partial_fit(
            X[start:stop], y[start:stop], classes=np.unique(y) if y.dtype != float else None
        )
    return model


def state(model):
    return {**vars(model._stage), "history": model.history_, "rows": model.n_rows_}


def same(one, other):
    assert one.keys() == other.keys()
    for name, value in one.items():
        if sp.issparse(value):
            assert (value != other[name]).nnz == 0
        else:
            np.testing.assert_array_equal(value, other[name], err_msg=name)


@pytest.mark.parametrize("kind", ["numbers", "classes", "three"])
def test_same_rows_in_any_chunks_dense_or_sparse_give_the_same_bits(kind):
    X, y = make_stream(kind=kind)
    model_at_once = FDRStream(n_screen=300).fit(X, y)
    assert set(REAL[:2]) <= set(model_at_once.support_) <= set(REAL)
    for cuts in ([299, 301, 455], [1, 2, 3, 300, 777], [899]):
        same(state(learn_in_chunks(X, y, cuts)), state(model_at_once))
    same(state(learn_in_chunks(sp.csr_array(X), y, [500])), state(model_at_once))
    assert model_at_once.n_rows_ == 900
    assert model_at_once.n_tested_ == 600


def test_evidence_by_hand():
    """One column and one control: residuals of fits to the rows before each block."""
    rng = np.random.default_rng(1)
    X = rng.normal(size=(600, 2))
    X[:, 1] += 0.5 * X[:, 0]
    y = X @ [1.0, 0.4] + rng.normal(size=600)
    model = FDRStream(n_screen=200, substitutes=None).fit(X, y)
    k = model.candidates_.tolist().index(1)
    A = np.column_stack([np.ones(600), X[:, 0]])
    sums = squares = 0.0
    for start in range(200, 600, BLOCK_ROWS):
        r = y - A @ np.linalg.lstsq(A[:start], y[:start], rcond=None)[0]
        e = X[:, 1] - A @ np.linalg.lstsq(A[:start], X[:start, 1], rcond=None)[0]
        block = slice(start, start + BLOCK_ROWS)
        sums, squares = sums + e[block] @ r[block], squares + e[block] ** 2 @ r[block] ** 2
        if start == 200:
            prior = (e[:200] ** 2 @ r[:200] ** 2) / 12.0
    unit = model._stage.units[1]
    assert model._stage.sums[k] == pytest.approx(sums * unit, rel=1e-5)
    assert model._stage.squares[k] == pytest.approx(squares * unit**2, rel=1e-5)
    expected = 0.5 * np.log(prior / (squares + prior)) + sums**2 / (2 * (squares + prior))
    assert model.log_evalues_[1] == pytest.approx(expected, rel=1e-5)


def test_e_bh_by_its_definition():
    evalues = np.array([900.0, 1.0, 40.0, 300.0, 0.2, 150.0])
    actual = benjamini_hochberg(evalue_pvalues(np.log(evalues)), 10)
    for q in (0.01, 0.02, 0.05, 0.1, 0.5):
        ordered = np.sort(evalues)[::-1]
        size = max((k for k in range(1, 7) if ordered[k - 1] >= 10 / (q * k)), default=0)
        assert np.count_nonzero(actual <= q) == size
    assert np.all(actual <= 1.0)


def test_a_column_in_the_group_of_a_head_is_no_claim_of_its_own():
    X, y = make_stream()
    X[:, 5] = X[:, 4] + 0.1 * np.random.default_rng(3).normal(size=len(X))
    model = FDRStream(n_screen=300).fit(X, y)
    assert len({4, 5} & set(model.support_)) == 1
    alone = FDRStream(n_screen=300, substitutes=None).fit(X, y)
    assert not {5} & set(alone.support_)


def test_looking_after_every_block_finds_nothing_in_noise():
    """30 streams of pure noise: a fixed-n test would select in most of them at some look."""
    ever, fixed = 0, 0
    for seed in range(30):
        rng = np.random.default_rng([7, seed])
        model, broken = FDRStream(n_screen=100, n_candidates=20), False
        for _ in range(16):
            model.partial_fit(rng.normal(size=(BLOCK_ROWS, 40)), rng.normal(size=BLOCK_ROWS))
            if model.n_tested_:
                z = np.abs(model._stage.sums) / np.sqrt(model._stage.squares)
                broken |= z.max() > 2.81  # 0.1 / 20, two-sided: the first step of BH
        ever, fixed = ever + bool(model.history_), fixed + broken
    assert ever <= 3
    assert fixed >= 6


def test_history_tells_when_and_files_keep_a_stream_in_mid_block(tmp_path):
    X, y = make_stream()
    for stop in (120, 655):  # still waiting for rows to screen on; 55 rows into a block
        model = learn_in_chunks(X[:stop], y[:stop], [])
        save(model, tmp_path / "m.tamis")
        same(
            state(load(tmp_path / "m.tamis").partial_fit(X[stop:], y[stop:])),
            state(learn_in_chunks(X, y, [])),
        )
    model = learn_in_chunks(X, y, [])
    assert [entry["column"] for entry in model.history_][:2] == [4, 17]
    assert all(entry["rows"] in range(400, 901, BLOCK_ROWS) for entry in model.history_)
    assert model.transform(X).shape == (900, len(model.support_))


def test_sentences():
    X, y = make_stream()
    with pytest.warns(UserWarning, match="none was tested"):
        model = FDRStream().fit(X, y)
    assert len(model.support_) == 0
    assert np.all(model.qvalues_ == 1.0)
    with pytest.raises(ValueError, match="at least 2 classes"):
        FDRStream(targets="classes").partial_fit(X, np.zeros(900, dtype=int))
    with pytest.raises(ValueError, match="n_screen"):
        FDRStream(n_screen=3).fit(X, y)


@pytest.mark.filterwarnings("ignore:FDRStream keeps the first 20 rows to screen on")
@pytest.mark.filterwarnings("ignore:No features were selected")
@parametrize_with_checks([FDRStream(n_screen=20)])
def test_scikit_learns_checks(estimator, check):
    check(estimator)


def test_the_level_of_a_category_is_not_lost_for_all_others_make_it():
    rng = np.random.default_rng(0)
    levels = np.eye(5)[rng.integers(0, 5, 1200)]
    X = np.column_stack([levels, rng.normal(size=(1200, 20))])
    model = FDRStream(n_screen=400, targets="numbers")
    model.partial_fit(X, 1.5 * X[:, 2] + rng.normal(size=1200))
    assert 2 in model.support_


def test_pairs_and_features_of_several_classes_each_keep_the_rate():
    X, y = make_stream(kind="three")
    model = FDRStream(n_screen=300, substitutes=None).fit(X, y)
    columns, outputs = model.candidates_, model.candidate_outputs_
    pvalues = evalue_pvalues(model.log_evalues_[outputs, columns])
    tested = np.unique(columns)
    best = np.minimum(3.0 * np.exp(-model.log_evalues_[:, tested].max(axis=0)), 1.0)
    features = dict(zip(tested, benjamini_hochberg(best, len(tested)), strict=True))
    pairs = benjamini_hochberg(pvalues, len(columns))
    expected = [max(pair, features[j]) for pair, j in zip(pairs, columns, strict=True)]
    assert model.qvalues_[outputs, columns].tolist() == expected
    assert set(model.support_) == {j for j, rate in features.items() if rate <= model.q}
