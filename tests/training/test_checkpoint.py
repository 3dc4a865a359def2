"""Checkpoints: an interrupted and resumed model has the bits of an uninterrupted one; checkpoints
of other tasks are refused.
"""

import contextlib
import json
import signal
import threading

import numpy as np
import pytest

from tamis import (
    FOBOSClassifier,
    FTRLClassifier,
    SieveClassifier,
    StabilizedSGDClassifier,
    open_rows,
    save,
    train,
)
from tamis.cli.commands.demo import write_svmlight
from tamis.datasets import make_text
from tamis.training.checkpoint import RECORD_NAME, CheckpointError
from tamis.training.record import checksum
from tamis.training.trainer import Trainer

X, Y, _ = make_text(n_samples=300, n_features=80, n_informative=6, words=12, random_state=1)
MODELS = {
    "FTRL": lambda: FTRLClassifier(),
    "FTRL, growing": lambda: FTRLClassifier(grow=True),
    "sieve": lambda: SieveClassifier(n_paths=2, n_folds=2, n_sample=100, random_state=0),
    "stabilized": lambda: StabilizedSGDClassifier(n_paths=2, random_state=0),
}


@pytest.fixture
def path(tmp_path):
    write_svmlight(X, Y, tmp_path / "a.svm")
    return tmp_path / "a.svm"


class Killed(BaseException):
    """Stands for a process that dies."""


def bytes_of(model, tmp_path):
    save(model, tmp_path / "final.tamis")
    return (tmp_path / "final.tamis").read_bytes()


@pytest.mark.parametrize("name", MODELS)
@pytest.mark.parametrize("validate", [None, "progressive"])
def test_dying_at_any_chunk_changes_no_bit(name, validate, path, tmp_path, monkeypatch):
    options = {"passes": 2, "validate": validate, "stream": name == "sieve"}
    checkpoint_options = {**options, "every": 50}
    expected = bytes_of(
        train(
            MODELS[name](),
            open_rows(path, chunk_rows=21),
            checkpoint=tmp_path / "whole",
            **checkpoint_options,
        ),
        tmp_path,
    )
    uninterrupted = bytes_of(
        train(MODELS[name](), open_rows(path, chunk_rows=21), **options), tmp_path
    )
    assert uninterrupted == expected
    learn, chunks_left = Trainer._learn, 0

    def learn_or_die(self, chunk):
        nonlocal chunks_left
        chunks_left -= 1
        if chunks_left < 0:
            raise Killed
        learn(self, chunk)

    monkeypatch.setattr(Trainer, "_learn", learn_or_die)
    lives = 0
    for life in (3, 7, 1, 5, 4, 2, 9, 30):
        chunks_left, lives = life, lives + 1
        try:
            model = train(
                MODELS[name](),
                open_rows(path, chunk_rows=21),
                checkpoint=tmp_path / "ck",
                **checkpoint_options,
            )
            break
        except Killed:
            continue
    assert lives > 3
    assert bytes_of(model, tmp_path) == expected


@pytest.mark.parametrize(
    "text", ["0 0:1 3:1\n", "0,1 1:1 3:1\n"], ids=["columns from 0", "several labels"]
)
def test_what_the_first_chunk_decided_is_remembered(text, tmp_path, monkeypatch):
    """Only the first line shows that columns count from 0, or that rows have several labels; the
    resumed training does not read it.
    """
    path = tmp_path / "a.svm"
    path.write_text(text + "".join(f"{k % 2} {1 + k % 5}:1 {7 + k % 2}:1\n" for k in range(200)))
    expected = bytes_of(train(FTRLClassifier(grow=True), open_rows(path, chunk_rows=21)), tmp_path)
    learn = Trainer._learn

    def learn_or_die(self, chunk):
        if self.state.seen > 100:
            raise Killed
        learn(self, chunk)

    monkeypatch.setattr(Trainer, "_learn", learn_or_die)
    with pytest.raises(Killed):
        train(
            FTRLClassifier(grow=True),
            open_rows(path, chunk_rows=21),
            checkpoint=tmp_path / "ck",
            every=50,
        )
    monkeypatch.setattr(Trainer, "_learn", learn)
    model = train(
        FTRLClassifier(grow=True),
        open_rows(path, chunk_rows=21),
        checkpoint=tmp_path / "ck",
        every=50,
    )
    assert bytes_of(model, tmp_path) == expected


def test_a_checkpoint_is_one_whole_pair_at_every_moment(path, tmp_path, monkeypatch):
    """Fail before and after each step of writing: training can always resume from the folder."""
    import os

    folder, steps = tmp_path / "ck", 0
    expected = train(FTRLClassifier(), open_rows(path, chunk_rows=21)).coef_
    replace = os.replace

    for failing_step in range(12):
        steps = 0

        def replace_or_die(a, b, failing_step=failing_step):
            nonlocal steps
            steps += 1
            if steps == failing_step:
                raise Killed
            replace(a, b)

        monkeypatch.setattr(os, "replace", replace_or_die)
        with contextlib.suppress(Killed):
            train(FTRLClassifier(), open_rows(path, chunk_rows=21), checkpoint=folder, every=21)
        monkeypatch.setattr(os, "replace", replace)
        assert len(list(folder.glob("model-*.tamis"))) <= 2
    assert np.array_equal(
        train(FTRLClassifier(), open_rows(path, chunk_rows=21), checkpoint=folder, every=21).coef_,
        expected,
    )


def test_other_tasks_are_refused_with_the_reason(path, tmp_path):
    folder = tmp_path / "ck"

    def train_again(model=None, rows=None, **options):
        return train(
            model or FTRLClassifier(),
            rows or open_rows(path, chunk_rows=50),
            checkpoint=folder,
            **options,
        )

    train_again()
    with pytest.raises(CheckpointError, match=r"'alpha' was 'auto', now 0\.1"):
        train_again(FTRLClassifier(alpha=0.1))
    with pytest.raises(CheckpointError, match="FTRLClassifier, now FOBOSClassifier"):
        train_again(FOBOSClassifier())
    with pytest.raises(CheckpointError, match="another task: passes was 1, now 2"):
        train_again(passes=2)
    with pytest.raises(CheckpointError, match="another task: reading 'on_bad'"):
        train_again(rows=open_rows(path, chunk_rows=50, on_bad="skip"))
    train_again(FTRLClassifier(n_jobs=2))
    text = path.read_bytes()
    path.write_bytes(text.replace(b"0", b"1", 1))
    with pytest.raises(CheckpointError, match=r"another task: file 1 has changed since"):
        train_again()
    path.write_bytes(text + b"1 1:1\n")
    with pytest.raises(CheckpointError, match="file 1 has changed since"):
        train_again()


def test_chunks_of_another_size_are_no_other_task(path, tmp_path):
    """Another version may have other sizes of chunks."""
    folder = tmp_path / "ck"
    expected = train(FTRLClassifier(), open_rows(path), checkpoint=folder).coef_
    record = json.loads((folder / RECORD_NAME).read_text())
    record["task"]["reading"]["chunk_bytes"] = "1048576"
    record["checksum"] = checksum(record)
    (folder / RECORD_NAME).write_text(json.dumps(record))
    again = train(FTRLClassifier(), open_rows(path), checkpoint=folder)
    assert np.array_equal(again.coef_, expected)


def test_damaged_checkpoints_are_refused(path, tmp_path):
    folder = tmp_path / "ck"
    train(FTRLClassifier(), open_rows(path), checkpoint=folder)
    record = (folder / "checkpoint.json").read_text()
    for content, message in (
        ("{", "cannot be read"),
        ("null", "it holds null"),
        ("[]", "no checkpoint of format"),
        (json.dumps({"format": 99}), "no checkpoint of format"),
    ):
        (folder / "checkpoint.json").write_text(content)
        with pytest.raises(CheckpointError, match=message):
            train(FTRLClassifier(), open_rows(path), checkpoint=folder)
    (folder / "checkpoint.json").write_text(record)
    (model,) = folder.glob("model-*.tamis")
    model.write_bytes(model.read_bytes()[:-1])
    with pytest.raises(CheckpointError, match="its model cannot be loaded"):
        train(FTRLClassifier(), open_rows(path), checkpoint=folder)
    with pytest.raises(ValueError, match="checkpoints need rows"):
        train(FTRLClassifier(), [(X, Y)], checkpoint=folder)


def test_an_interruption_waits_for_the_chunk_and_leaves_a_checkpoint(path, tmp_path, monkeypatch):
    learn = Trainer._learn

    def interrupted(self, chunk):
        learn(self, chunk)
        if self.state.seen == 63:
            signal.raise_signal(signal.SIGINT)

    monkeypatch.setattr(Trainer, "_learn", interrupted)
    before = signal.getsignal(signal.SIGINT)  # in the background of a shell it is ignored
    with pytest.raises(KeyboardInterrupt):
        train(FTRLClassifier(), open_rows(path, chunk_rows=21), checkpoint=tmp_path / "ck")
    state = json.loads((tmp_path / "ck" / "checkpoint.json").read_text())["state"]
    assert state["seen"] == 84
    assert signal.getsignal(signal.SIGINT) is before
    monkeypatch.setattr(Trainer, "_learn", learn)
    model = train(FTRLClassifier(), open_rows(path, chunk_rows=21), checkpoint=tmp_path / "ck")
    assert np.array_equal(model.coef_, train(FTRLClassifier(), open_rows(path)).coef_)


def test_in_another_thread_signals_are_left_alone(path, tmp_path):
    models = []
    worker = threading.Thread(
        target=lambda: models.append(
            train(FTRLClassifier(), open_rows(path), checkpoint=tmp_path / "ck")
        )
    )
    worker.start()
    worker.join()
    assert models[0].t_ == 300
