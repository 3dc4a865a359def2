"""Stabilized models and sieves as wholes, without a cluster: what one machine finds, on parts."""

import pickle
import warnings
from contextlib import nullcontext
from dataclasses import replace

import numpy as np
import pytest
from clusters.helpers import BLOCKS, CUTS, SimulatedWorkers, X, Y, bits, write_parts
from sklearn.base import clone

import tamis.distributed as td
from tamis import (
    FTRLClassifier,
    SieveClassifier,
    SieveRegressor,
    StabilizedSGDClassifier,
    StabilizedSGDRegressor,
    load,
    save,
)
from tamis.cli.main import main
from tamis.distributed import fitting, placement
from tamis.distributed import staged as staged_fit
from tamis.distributed.schedule import AccountError

HALVES = [(X[:150], Y[:150]), (X[150:], Y[150:])]
STABLE = StabilizedSGDClassifier(n_paths=3, random_state=0)
SIEVE = SieveClassifier(n_paths=2, n_folds=2, random_state=0)
NUMBERS = X @ np.arange(60.0)


def staged(model, rows, client=None, **given):
    """A fit in stages of a copy."""
    return td.fit(clone(model), rows, client, how="stages", **given)


# --------------------------------------------------------------------------- one partition is `fit`
@pytest.mark.parametrize(
    ("given", "stages"),
    [({"purge": 0.0}, 1), ({"gravity": 0.02, "burn_in": 0.5}, 12), ({"shuffle": False}, 1)],
    ids=["no purge", "all stages", "a stream"],
)
def test_a_stabilized_model_of_one_partition_is_that_of_a_fit(given, stages):
    """300 rows are 12 stages of 5 bursts of 5 rows."""
    given = {"max_iter": 3, "tol": None, "purge": 0.0, **given}
    if "gravity" in given:
        given["purge"] = 0.7
    model = clone(STABLE).set_params(**given)
    there, here = staged(model, [(X, Y)], sweeps=3, stages=stages), clone(model).fit(X, Y)
    assert bits(there) == bits(here)
    assert there.t_ == here.t_ == 900
    assert there.history_[-1]["kept"] == here.history_[-1]["kept"]
    if stages == 12:
        assert there.history_[-1]["kept"] < 60
        assert np.array_equal(there.selection_probability_, here.selection_probability_)
        for one, other in zip(there.history_, here.history_, strict=True):
            assert one == pytest.approx(other)


@pytest.mark.parametrize("weight", [None, "balanced"])
def test_a_sieve_of_one_partition_is_that_of_a_fit(weight):
    model = clone(SIEVE).set_params(class_weight=weight)
    there, here = staged(model, [(X, Y)]), clone(model).fit(X, Y)
    assert bits(there) == bits(here)
    assert there.error_ == here.error_
    assert np.array_equal(there.sizes_["error"], here.sizes_["error"])
    assert np.array_equal(there.selection_probability_, here.selection_probability_)
    assert there.importance_ == pytest.approx(here.importance_)
    assert there.history_ == here.history_
    assert there.resize(3).support_.tolist() == here.resize(3).support_.tolist()


# --------------------------------------------------------------------------- partitions
@pytest.mark.parametrize("workers", [1, 3])
@pytest.mark.parametrize("model", [STABLE, SIEVE], ids=lambda model: type(model).__name__)
def test_workers_and_losses_change_no_bit(monkeypatch, model, workers):
    rows = BLOCKS if model is STABLE else HALVES
    whole = staged(model, rows)
    simulated_workers = SimulatedWorkers(workers, lost=(2, 4, 7))
    monkeypatch.setattr(fitting, "LocalExecutor", lambda: simulated_workers)
    assert bits(staged(model, rows)) == bits(whole)
    assert len({worker for _, worker in simulated_workers.at}) >= min(workers, 2)


@pytest.mark.parametrize("model", [STABLE, SIEVE], ids=lambda model: type(model).__name__)
def test_files_without_room_are_read_again(monkeypatch, tmp_path, model):
    glob = write_parts(tmp_path)
    whole, reads, read = staged(model, glob), [], staged_fit.validate_matrix
    monkeypatch.setattr(fitting, "LocalExecutor", lambda: SimulatedWorkers(2, capacity=0))
    monkeypatch.setattr(
        staged_fit,
        "validate_matrix",
        lambda *given, **named: reads.append(1) or read(*given, **named),
    )
    assert bits(staged(model, glob)) == bits(whole)
    # A sieve holds its rows in standard units; stabilized paths read them in every stage.
    assert (len(reads) == 8) is (model is SIEVE)


def brought(thing):
    """Something that came from elsewhere, its arrays read-only, as some engines bring them."""
    buffers = []
    words = pickle.dumps(thing, protocol=5, buffer_callback=buffers.append)
    return pickle.loads(words, buffers=[bytes(one.raw()) for one in buffers])


class Strict(SimulatedWorkers):
    """Simulated workers whose results may not be written to."""

    def gather(self, handles):
        return [brought(one) for one in super().gather(handles)]


@pytest.mark.parametrize("model", [STABLE, SIEVE], ids=lambda model: type(model).__name__)
def test_what_an_engine_brings_may_be_read_only(monkeypatch, model):
    whole = staged(model, HALVES)
    monkeypatch.setattr(fitting, "LocalExecutor", lambda: Strict(2))
    assert bits(staged(model, HALVES)) == bits(whole)


def test_models_are_ordinary(tmp_path):
    y = np.array(["no", "yes"])[Y]
    for model in (STABLE, SIEVE):
        found = staged(model, [(X[a:b], y[a:b]) for a, b in CUTS[:2]])
        assert found.classes_.tolist() == ["no", "yes"]
        assert found.n_features_in_ == 60
        save(found, tmp_path / "model.tamis")
        assert bits(load(tmp_path / "model.tamis")) == bits(found)
        found.partial_fit(X[220:], y[220:], classes=["no", "yes"])
    stable = staged(STABLE, write_parts(tmp_path), sweeps=3, stages=4)
    assert stable.t_ == 900
    assert stable.paths_.shape == (3, 1, 60)
    assert stable.n_stages_ == 3 * 4 * 4
    assert stable.score(X, Y) > 0.9


def test_a_sieve_that_learnt_a_stream_begins_anew():
    model = clone(SIEVE).partial_fit(X[:100], Y[:100], classes=[0, 1])
    td.fit(model, HALVES, how="stages")
    assert bits(model) == bits(staged(SIEVE, HALVES))
    model.partial_fit(X[:100], Y[:100])
    assert bits(model) == bits(clone(SIEVE).partial_fit(X[:100], Y[:100], classes=[0, 1]))


def test_labels_have_no_balance():
    labels = np.c_[Y, 1 - Y]
    rows = [(X[a:b], labels[a:b]) for a, b in CUTS[:2]]
    for model in (STABLE, SIEVE):
        even = clone(model).set_params(class_weight="balanced")
        assert bits(staged(even, rows)) == bits(staged(model, rows))


def test_rows_are_validated_and_converted_once(monkeypatch):
    times = {"convert": 0, "read": 0}
    for module, name in ((placement, "convert"), (staged_fit, "validate_matrix")):

        def counted(*given, make=getattr(module, name), name=name, **named):
            times["convert" if name == "convert" else "read"] += 1
            return make(*given, **named)

        monkeypatch.setattr(module, name, counted)
    staged(clone(SIEVE).set_params(class_weight="balanced"), HALVES)
    assert times == {"convert": 2, "read": 2}


def test_a_sieve_of_partitions_is_near_that_of_a_fit():
    there, here = staged(SIEVE, BLOCKS), clone(SIEVE).fit(X, Y)
    assert abs(there.error_ - here.error_) < 2.0 * here.standard_error_
    assert np.corrcoef(there.coef_[0], here.coef_[0])[0, 1] > 0.95
    assert abs(there.score(X, Y) - here.score(X, Y)) < 0.03


def test_more_rows_than_are_judged():
    few = clone(SIEVE).set_params(n_sample=100)
    found = staged(few, HALVES)
    assert np.isfinite(found.error_)
    assert bits(found) != bits(staged(SIEVE, HALVES))


def test_numbers_weights_and_dense_columns():
    rng = np.random.default_rng(0)
    dense, w = rng.normal(3.0, 1.0, (300, 8)), (np.arange(300) % 3).astype(float)
    dense[:, 2] = np.where(rng.random(300) < 0.7, 5.0, dense[:, 2])  # one value in most rows
    y = 2.0 * dense[:, 0] - dense[:, 2] + 0.1 * rng.normal(size=300)
    blocks = [(dense[a:b], y[a:b], w[a:b]) for a, b in CUTS]
    found = staged(SieveRegressor(n_paths=2, n_folds=2, random_state=0), blocks)
    assert found.support_.tolist() == [0, 2]
    assert found.coef_[[0, 2]] == pytest.approx([2.0, -1.0], abs=0.1)
    stable = staged(StabilizedSGDRegressor(n_paths=2, random_state=0), blocks, sweeps=10)
    assert stable.t_ == 2000
    assert stable.coef_[0] == pytest.approx(2.0, abs=0.3)


def test_several_classes_and_balance():
    three = np.where(X[:, [0]].toarray()[:, 0] > 0, 2, Y)
    blocks = [(X[a:b], three[a:b]) for a, b in CUTS]
    for model in (STABLE, clone(SIEVE).set_params(per_class=True, n_paths=1)):
        found = staged(clone(model).set_params(class_weight="balanced"), blocks)
        assert found.coef_.shape == (3, 60)
        assert found.classes_.tolist() == [0, 1, 2]
        assert np.isfinite(found.coef_).all()
        assert bits(found) != bits(staged(model, blocks))


def test_the_command_line_sieves_on_a_cluster(monkeypatch, tmp_path, capsys):
    """By the method that it takes by itself: its fit, in stages."""
    monkeypatch.setattr("tamis.cli.commands.fit.connected", lambda where: nullcontext())
    monkeypatch.setattr(warnings, "showwarning", warnings.showwarning)
    glob, out = write_parts(tmp_path), str(tmp_path / "model.tamis")
    words = ["fit", glob, "--cluster", "local:1", "--set", "n_paths=2", "--set", "n_folds=2"]
    assert main([*words, "--out", out]) == 0
    assert bits(load(out)) == bits(staged(SIEVE, glob))
    assert "Error on rows held out" in capsys.readouterr().out
    for flag in (["--memory", "9"], ["--passes", "2"], ["--checkpoint", str(tmp_path / "run")]):
        assert main([*words, *flag]) == 2
        assert flag[0] in capsys.readouterr().err


# --------------------------------------------------------------------------- accounts, refusals
def test_who_has_not_learnt_all_rows_is_refused(monkeypatch):
    advance = staged_fit.advance

    def one_too_many(*given):
        after = advance(*given)
        after.state.rows += 1
        return replace(after, rows=after.state.rows)

    with monkeypatch.context() as patch:
        patch.setattr(staged_fit, "advance", one_too_many)
        with pytest.raises(AccountError, match=r"state 0 .* 158 rows .* 150 rows"):
            staged(STABLE, BLOCKS, stages=4)
    monkeypatch.setattr(staged_fit, "pass_partition", lambda path, *given: path)
    with pytest.raises(AccountError, match="state 0 has learnt 0 rows"):
        staged(SIEVE, HALVES)


def test_what_has_no_stages_is_refused(tmp_path):
    with pytest.raises(ValueError, match="not for FTRLClassifier"):
        staged(FTRLClassifier(), BLOCKS)
    with pytest.raises(ValueError, match="pass n_paths"):
        staged(STABLE, BLOCKS, paths=2)
    with pytest.raises(ValueError, match="keeps no checkpoints"):
        staged(STABLE, BLOCKS, checkpoint=tmp_path)
    with pytest.raises(ValueError, match="sweeps=2"):
        staged(SIEVE, BLOCKS, sweeps=2)
    with pytest.raises(ValueError, match="stages must be a whole number"):
        staged(STABLE, BLOCKS, stages=0)
