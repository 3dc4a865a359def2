"""Rounds without a cluster: schedules, accounts, replays and checkpoints, to the bit."""

import copy
import re

import numpy as np
import pytest
import scipy.sparse as sp
from clusters.helpers import BLOCKS, CUTS, X, Y, bits, write_parts
from processes import run_process
from sklearn.linear_model import SGDClassifier

import tamis.distributed as td
from tamis import (
    AROWClassifier,
    FTRLClassifier,
    FTRLRegressor,
    OnlineMultiTaskClassifier,
    SieveClassifier,
    StabilizedSGDClassifier,
    load,
    open_rows,
    save,
    train,
)
from tamis.base.estimators import stream
from tamis.data.rows import ReadError, Rows
from tamis.distributed import fitting, placement
from tamis.system.progress import Progress


# --------------------------------------------------------------------------- walks
@pytest.mark.parametrize(
    "model",
    [
        FTRLClassifier(),
        FTRLClassifier(average=True, class_weight="balanced"),
        AROWClassifier(),
        StabilizedSGDClassifier(n_paths=2, random_state=0),
        SieveClassifier(n_paths=2, n_folds=2, random_state=0),
    ],
    ids=lambda model: type(model).__name__,
)
def test_one_path_is_the_pass_of_one_machine(model, tmp_path):
    from sklearn.base import clone

    whole = train(
        clone(model),
        open_rows(write_parts(tmp_path)),
        passes=2,
        stream=hasattr(model, "_reads_twice"),
    )
    found = td.fit(clone(model), write_parts(tmp_path), sweeps=2, paths=1)
    assert bits(found) == bits(whole)
    assert found.classes_.tolist() == whole.classes_.tolist()
    assert found.reading_ == whole.reading_
    assert found.train_history_[-1]["rows"] == 600
    blocks = td.fit(clone(model), BLOCKS, sweeps=2, paths=1)
    assert bits(blocks) == bits(whole)


@pytest.mark.parametrize("paths", [2, 3])
def test_paths_walk_in_a_latin_square(paths):
    model = td.fit(FTRLClassifier(), BLOCKS, sweeps=2, paths=paths)
    for m, path in enumerate(model.paths_):
        alone = FTRLClassifier()
        for r in range(8):
            alone.partial_fit(*BLOCKS[(4 * m // paths + r) % 4], classes=[0, 1])
        assert bits(path) == bits(alone)
    assert model.t_ == 600
    scores = np.mean([path.decision_function(X) for path in model.paths_], axis=0)
    assert np.allclose(model.decision_function(X), scores, atol=1e-12)
    kept = np.mean([path.coef_ != 0 for path in model.paths_], axis=0)
    assert np.array_equal(model.selection_probability_, kept)
    assert set(model.support_) == {j for path in model.paths_ for j in path.support_}
    assert len(td.fit(FTRLClassifier(), BLOCKS).paths_) == 4


@pytest.mark.parametrize("how", ["walk", "mix"])
def test_workers_change_no_bit(simulated_workers, how):
    whole = td.fit(FTRLClassifier(), BLOCKS, sweeps=4, how=how)
    for workers in (1, 2, 3, 7):
        here = simulated_workers(workers)
        assert bits(td.fit(FTRLClassifier(), BLOCKS, sweeps=4, how=how)) == bits(whole)
        opened = {worker for task, worker in here.at if task == "open_block"}
        assert len(opened) == min(workers, 4)


def test_few_paths_leave_no_worker_idle(simulated_workers):
    made = simulated_workers(2)
    td.fit(FTRLClassifier(), BLOCKS, paths=2)
    places = [worker for task, worker in made.at if task == "learn_partition"]
    assert [set(pair) for pair in zip(places[::2], places[1::2], strict=True)] == [
        set(made.names)
    ] * 4


def test_partitions_lie_beside_their_neighbours():
    assert placement.place_partitions(5, ["a", "b"]) == ["a", "a", "a", "b", "b"]
    assert placement.place_partitions(1, ["a", "b"]) == ["a"]


def test_halves_of_other_targets():
    """Nobody learns from one half alone."""
    rows = np.ones((50, 1))
    halves = [(rows, np.zeros(50)), (rows, np.full(50, 100.0))]
    for given in ({"how": "walk"}, {"how": "mix"}):
        model = td.fit(FTRLRegressor(fit_intercept=False, alpha=0), halves, sweeps=4, **given)
        assert 20 < model.predict(rows)[0] < 80


def test_numbers_weights_words_and_several_labels():
    y, w = np.asarray(X @ np.arange(60.0)), (np.arange(300) % 3).astype(float)
    blocks = [(X[a:b], y[a:b], w[a:b]) for a, b in CUTS]
    model, whole = td.fit(FTRLRegressor(), blocks, paths=1), FTRLRegressor()
    for rows, targets, weights in blocks:
        whole.partial_fit(rows, targets, sample_weight=weights)
    assert bits(model) == bits(whole)
    assert model.t_ == 200
    words = [Rows(X[a:b], np.array(["no", "yes"])[Y[a:b]], 0) for a, b in CUTS]
    assert td.fit(FTRLClassifier(), words).classes_.tolist() == ["no", "yes"]
    labels = sp.csr_array(np.stack([Y, 1 - Y, Y], axis=1))
    several = td.fit(FTRLClassifier(), [(X[a:b], labels[a:b]) for a, b in CUTS])
    assert several.multilabel_
    assert several.coef_.shape == (3, 60)


def test_a_model_of_another_library():
    blocks = [(sp.csr_matrix(rows), y) for rows, y in BLOCKS]
    model = td.fit(SGDClassifier(random_state=0), blocks)
    assert model.classes_.tolist() == [0, 1]
    with pytest.raises(ValueError, match="several paths of SGDClassifier"):
        td.fit(SGDClassifier(), blocks, paths=2)


def test_a_fitted_model_goes_on_and_the_data_stay_as_they_are():
    before = [rows.data.copy() for rows, _ in BLOCKS]
    first = FTRLClassifier().partial_fit(X, Y, classes=[0, 1])
    whole = FTRLClassifier().partial_fit(X, Y, classes=[0, 1]).partial_fit(X, Y)
    assert bits(td.fit(first, BLOCKS, paths=1)) == bits(whole)
    assert all(np.array_equal(a, rows.data) for a, (rows, _) in zip(before, BLOCKS, strict=True))


# --------------------------------------------------------------------------- the mean of paths
def test_a_mean_is_a_model_but_learns_no_more(tmp_path):
    model = td.fit(FTRLClassifier(random_state=0), BLOCKS)
    save(model, tmp_path / "a.tamis")
    again = load(tmp_path / "a.tamis")
    assert bits(again) == bits(model)
    assert np.array_equal(again.predict_proba(X), model.predict_proba(X))
    assert np.array_equal(again.selection_probability_, model.selection_probability_)
    with pytest.raises(ValueError, match="mean of several paths"):
        again.partial_fit(X, Y)
    with pytest.raises(AttributeError, match="has no 'constants'"):
        again.resolved_params_
    again.paths_[0].partial_fit(X, Y)
    assert np.array_equal(again.fit(X, Y).coef_, FTRLClassifier(random_state=0).fit(X, Y).coef_)
    assert not hasattr(again, "paths_")
    assert not hasattr(again, "selection_probability_")
    regressor = td.fit(FTRLRegressor(), [(rows, y * 1.0) for rows, y in BLOCKS])
    save(regressor, tmp_path / "b.tamis")
    assert load(tmp_path / "b.tamis").selection_probability_.shape == (60,)


# --------------------------------------------------------------------------- mixes
def test_a_mix_is_the_mean_of_what_partitions_learn():
    model = td.fit(FTRLClassifier(alpha=0), BLOCKS[:2], how="mix", sweeps=4)
    left = right = FTRLClassifier(alpha=0)
    for _ in range(4):
        from copy import deepcopy

        start = deepcopy(left)
        left, right = deepcopy(start), deepcopy(start)
        left.partial_fit(*BLOCKS[0], classes=[0, 1])
        right.partial_fit(*BLOCKS[1], classes=[0, 1])
        share = 70 / 150
        left._solver_state = left._solver_state.weighted_mean_with(right._solver_state, share)
    assert bits(model) == bits(left)


def mixed_once(model, blocks, **given):
    """A mix of one sweep, of which users are warned."""
    with pytest.warns(UserWarning, match="larger error than how='walk'"):
        return td.fit(model, blocks, how="mix", **given)


def test_a_mix_of_what_is_owed_is_a_mean_of_weights():
    from tamis import FOBOSClassifier

    (one, two) = (FOBOSClassifier(alpha=1e-3).partial_fit(*block, [0, 1]) for block in BLOCKS[:2])
    model = mixed_once(FOBOSClassifier(alpha=1e-3), BLOCKS[:2])
    share = 70 / 150
    assert np.allclose(model.coef_, (1 - share) * one.coef_ + share * two.coef_, atol=1e-12)


def test_precisions_add_up():
    model = mixed_once(AROWClassifier(), BLOCKS[:3], merge="precision")
    parts = [AROWClassifier().partial_fit(*block, [0, 1]) for block in BLOCKS[:3]]
    precisions = [1 / part.variance_ for part in parts]
    means = sum(p * part.coef_ for p, part in zip(precisions, parts, strict=True))
    assert np.allclose(model.coef_, means / sum(precisions), atol=1e-12)
    assert np.allclose(1 / model.variance_, sum(precisions) - 2.0, rtol=1e-12)
    plain = mixed_once(AROWClassifier(), BLOCKS[:3])
    assert not np.allclose(plain.coef_, model.coef_)


@pytest.mark.parametrize(
    ("model", "given", "said"),
    [
        (FTRLClassifier(average=True), {}, "pass average=False"),
        (FTRLClassifier(), {"merge": "precision"}, "is for confidence-weighted models"),
        (AROWClassifier(covariance="full"), {}, "pass covariance='diagonal'"),
        (StabilizedSGDClassifier(), {}, "has no mean that is a state"),
        (FTRLClassifier(), {"paths": 2}, "has one path"),
    ],
)
def test_what_cannot_be_mixed(model, given, said):
    with pytest.raises(ValueError, match=said):
        td.fit(model, BLOCKS, how="mix", sweeps=4, **given)


# --------------------------------------------------------------------------- the data agree
def test_files_of_mixed_bases(tmp_path):
    """A part without column 0 is not shifted beside one that has it."""
    texts = ["1 1:1 3:1\n-1 2:1\n" * 5, "", "-1 0:1 3:2\n1 4:1\n" * 5]
    for k, text in enumerate(texts):
        (tmp_path / f"{k}.svm").write_text(text)
    model = td.fit(FTRLClassifier(), [tmp_path / f"{k}.svm" for k in range(3)], paths=1)
    whole = train(FTRLClassifier(), open_rows(tmp_path / "*.svm"))
    assert bits(model) == bits(whole)
    assert model.n_features_in_ == 5
    assert model.reading_["zero_based"] is True


@pytest.mark.parametrize("how", ["walk", "mix"])
def test_empty_partitions_and_those_of_one_class(how):
    order = np.argsort(Y, kind="stable")
    rows, y = X[order], Y[order]
    cuts = [(0, 100), (100, 100), (100, 300)]
    blocks = [(rows[a:b], y[a:b]) for a, b in cuts]
    model = td.fit(FTRLClassifier(), blocks, how=how, sweeps=4)
    assert model.classes_.tolist() == [0, 1]
    assert np.isfinite(model.coef_).all()
    if how == "walk":
        assert model.t_ == 1200
        assert len(model.paths_) == 3
    else:
        assert bits(model) == bits(
            td.fit(FTRLClassifier(), [blocks[0], blocks[2]], how=how, sweeps=4)
        )


def test_partitions_that_do_not_go_together(tmp_path):
    with pytest.raises(ValueError, match="block 1 has 59 columns, block 0 60"):
        td.fit(FTRLClassifier(), [BLOCKS[0], (X[:5, :59], Y[:5])])
    with pytest.raises(ValueError, match="only one class: 1"):
        td.fit(FTRLClassifier(), [(X[:5], np.ones(5, int)), (X[:5], np.ones(5, int))])
    with pytest.raises(ReadError, match="no rows, nor in any other of 1"):
        td.fit(FTRLClassifier(), [(X[:0], Y[:0])])
    with pytest.raises(ValueError, match="5 rows of X, but 4 of y"):
        td.fit(FTRLClassifier(), [(X[:5], Y[:4])])
    with pytest.raises(ReadError, match=r"target 0.5 is no class"):
        td.fit(FTRLClassifier().partial_fit(X, Y, classes=[0, 1]), [(X[:2], np.array([0.5, 1.0]))])
    with pytest.raises(ReadError, match="no file matches"):
        td.fit(FTRLClassifier(), str(tmp_path / "*.svm"))


def test_what_is_not_held_is_read_at_every_visit(simulated_workers, tmp_path):
    glob = write_parts(tmp_path)
    whole = td.fit(FTRLClassifier(), glob, sweeps=2)
    simulated_workers(2, capacity=0)
    assert bits(td.fit(FTRLClassifier(), glob, sweeps=2)) == bits(whole)


def count_calls(monkeypatch, module, *names):
    """How often functions of a module are called from now on."""
    calls = dict.fromkeys(names, 0)
    for name in names:

        def counted(*given, function=getattr(module, name), name=name, **named):
            calls[name] += 1
            return function(*given, **named)

        monkeypatch.setattr(module, name, counted)
    return calls


@pytest.mark.parametrize("model", [FTRLClassifier(), AROWClassifier(), FTRLRegressor()])
def test_rows_are_validated_once(model, simulated_workers, monkeypatch):
    rows = [(x.toarray(), y, np.arange(len(y)) % 3.0) for x, y in BLOCKS]
    calls = count_calls(monkeypatch, stream, "validate_matrix", "validate_sample_weight")
    walked = td.fit(copy.deepcopy(model), rows, sweeps=3)
    assert calls == {"validate_matrix": 4, "validate_sample_weight": 4}
    simulated_workers(1, capacity=0)  # no room for converted rows
    assert bits(td.fit(copy.deepcopy(model), rows, sweeps=3)) == bits(walked)
    assert calls["validate_matrix"] == 4 + 4 * 4 * 3


class Plain(FTRLClassifier):
    """A model with a `partial_fit` of its own."""

    def partial_fit(self, X, y, classes=None, sample_weight=None):
        return super().partial_fit(X, y, classes=classes, sample_weight=sample_weight)


def test_other_models_learn_by_partial_fit():
    tasks = OnlineMultiTaskClassifier()
    for model in (Plain(), FTRLClassifier(grow=True), SGDClassifier(), tasks):
        assert stream.encoder_of(model) is None
    walked = td.fit(FTRLClassifier(), BLOCKS)
    for model in (Plain(), FTRLClassifier(grow=True)):
        assert bits(td.fit(model, BLOCKS)) == bits(walked)
    fitted = FTRLClassifier().partial_fit(X, Y, classes=[0, 1])
    encoder = stream.encoder_of(fitted)
    assert encoder._solver_state is None
    assert fitted._solver_state is not None


def test_rows_of_other_columns_or_targets_are_refused():
    model = FTRLClassifier().partial_fit(X, Y, classes=[0, 1])
    labels = np.stack([Y, 1 - Y], axis=1)
    for rows, y, named in (
        (X[:, :50], Y, {"classes": [0, 1]}),
        (X, Y + 1, {"classes": [1, 2]}),
        (X, labels, {}),
        (X, Y + np.arange(300) % 2, {"classes": [0, 1, 2]}),
    ):
        with pytest.raises(ValueError, match=r"do not go with this FTRLClassifier"):
            model._learn_encoded(FTRLClassifier()._encode(rows, y, **named))
    with pytest.raises(ValueError, match="1 outputs do not go with this FTRLRegressor"):
        FTRLRegressor().partial_fit(X, labels)._learn_encoded(FTRLRegressor()._encode(X, Y))
    several = [(X[a:b], labels[a:b, : 2 - k % 2]) for k, (a, b) in enumerate(CUTS)]
    with pytest.raises(ValueError, match="do not go with"):
        td.fit(FTRLRegressor(), several)


class Later:
    """A block that is yet to be computed, as dask has it."""

    def __init__(self, block):
        self.block, self.asked = block, 0

    def __dask_graph__(self):
        return {"block": self.block}

    def compute(self):
        self.asked += 1
        return self.block


def test_what_is_computed_is_computed_once():
    blocks = [Later(block) for block in BLOCKS]
    assert bits(td.fit(FTRLClassifier(), blocks)) == bits(td.fit(FTRLClassifier(), BLOCKS))
    assert [block.asked for block in blocks] == [1, 1, 1, 1]


def test_a_file_that_changes_meanwhile(tmp_path, monkeypatch):
    glob, plan = write_parts(tmp_path), fitting.plan

    def changed(*given):
        found = plan(*given)
        (tmp_path / "part-1.svm").write_text("1 1:1\n")
        return found

    monkeypatch.setattr(fitting, "plan", changed)
    with pytest.raises(ReadError, match=r"part-1\.svm: it has changed"):
        td.fit(FTRLClassifier(), glob)


# --------------------------------------------------------------------------- what is asked
@pytest.mark.parametrize(
    ("given", "kind", "said"),
    [
        ({"how": "run"}, ValueError, "how .*'run'"),
        ({"merge": "sum"}, ValueError, "merge .*'sum'"),
        ({"sweeps": 0}, ValueError, r"sweeps .* 0\."),
        ({"paths": 5}, ValueError, "paths=5 for 4 partitions"),
        ({"format": "csv"}, TypeError, "format: these are for files"),
    ],
)
def test_what_is_refused(given, kind, said):
    with pytest.raises(kind, match=said):
        td.fit(FTRLClassifier(), BLOCKS, **given)


def test_what_are_no_partitions(tmp_path):
    from tamis import LowRankLasso

    with pytest.raises(TypeError, match="has no partial_fit"):
        td.fit(LowRankLasso(), BLOCKS)
    with pytest.raises(TypeError, match="pass their names"):
        td.fit(FTRLClassifier(), open_rows(write_parts(tmp_path)))
    for rows, said in ((3, "Got int"), ([3], "block 0 must be Rows")):
        with pytest.raises(TypeError, match=said):
            td.fit(FTRLClassifier(), rows)
    with pytest.raises(ValueError, match="no partition was given"):
        td.fit(FTRLClassifier(), [])


@pytest.mark.parametrize("where", ["local", "local:0", "local:x", "host"])
def test_the_command_line_says_what_a_cluster_is(where):
    from tamis.cli.commands.cluster import connected
    from tamis.cli.methods import UsageError

    with pytest.raises(UsageError, match="takes the address of a scheduler"), connected(where):
        pass


def test_a_client_without_dask_names_the_extra():
    run_process(
        """
        import sys
        sys.modules["distributed"] = None
        import numpy as np, tamis.distributed, tamis
        try:
            tamis.distributed.fit(tamis.FTRLClassifier(), [(np.eye(2), [0, 1])], object())
        except ImportError as error:
            assert "pip install 'tamis[dask]'" in str(error), error
        else:
            raise SystemExit("no error")
        """
    )


def test_the_bar_says_rounds_pace_workers_and_paths(monkeypatch):
    said = []
    monkeypatch.setattr(Progress, "advance", lambda self, steps, words="": said.append(words))
    td.fit(FTRLClassifier(), BLOCKS)
    assert re.fullmatch(r"round 4 of 4, [\d,]+ rows a second, 1 workers, 4 paths", said[-1])
