"""The folder of checkpoints: files of others are never removed, and one process or thread uses it
at a time.
"""

import json
import os
import signal
import threading

import numpy as np
import pytest
from cli.commands import here
from processes import run_process, start_process

from tamis import FTRLClassifier, open_rows, save, train
from tamis.training.checkpoint import CheckpointError, CheckpointFolder
from tamis.training.trainer import Trainer

LINES = "".join(f"{k % 2} {1 + k % 7}:{k % 5} {9 + k % 3}:1\n" for k in range(300))
HOLD_FOLDER = """
    import sys
    from tamis.training.checkpoint import CheckpointFolder
    with CheckpointFolder(sys.argv[1]):
        print("held", flush=True)
        sys.stdin.readline()
"""
FORK_PROCESS = """
    import os, sys
    from tamis.training.checkpoint import CheckpointFolder
    reading, writing = os.pipe()
    with CheckpointFolder(sys.argv[1]):
        child = os.fork()
        if not child:
            os.close(writing)
            os.read(reading, 1)
            os._exit(0)
    with CheckpointFolder(sys.argv[1]):
        pass
    os.close(writing)
    os.waitpid(child, 0)
"""


class Killed(BaseException):
    """Stands for a process that dies."""


@pytest.fixture
def rows(tmp_path):
    (tmp_path / "s.svm").write_text(LINES)
    return lambda: open_rows(tmp_path / "s.svm", chunk_rows=21)


def contents(folder):
    """All files under a folder, with their bytes."""
    return {
        str(path.relative_to(folder)): path.read_bytes()
        for path in folder.rglob("*")
        if path.is_file()
    }


def stop_at(monkeypatch, seen):
    """Let training die after some rows."""
    learn = Trainer._learn

    def learn_and_die(self, chunk):
        learn(self, chunk)
        if self.state.seen > seen:
            raise Killed

    monkeypatch.setattr(Trainer, "_learn", learn_and_die)


def leave_checkpoint(rows, folder, monkeypatch):
    """A checkpoint in mid-pass."""
    with monkeypatch.context() as patch:
        stop_at(patch, 100)
        with pytest.raises(Killed):
            train(FTRLClassifier(), rows(), checkpoint=folder, every=50)


# --------------------------------------------------------------------------- nothing of others
@pytest.mark.parametrize(
    "name", ["model-b.tamis", "notes.txt", ".tamis-0123456789abcdef01234567.tmp", "checkpoint.json"]
)
def test_a_folder_with_anything_else_is_refused(rows, tmp_path, name):
    folder = tmp_path / "m"
    folder.mkdir()
    (folder / name).write_text("precious")
    with pytest.raises(CheckpointError, match="a folder of their own"):
        train(FTRLClassifier(), rows(), checkpoint=folder)
    assert contents(folder) == {name: b"precious"}


def test_the_command_of_the_lost_models(rows, tmp_path, capsys, monkeypatch):
    """`tamis fit s.svm --out m/model-b.tamis --checkpoint m` once removed every model of the
    folder, and the folder.
    """
    rows()
    folder = tmp_path / "m"
    folder.mkdir()
    save(FTRLClassifier(), folder / "model-a.tamis")
    before = contents(folder)
    monkeypatch.chdir(tmp_path)
    result = here(
        "fit",
        "s.svm",
        "--method",
        "ftrl",
        "--out",
        "m/model-b.tamis",
        "--checkpoint",
        "m",
        capsys=capsys,
    )
    assert (result.code, result.err.count("\n")) == (2, 1)
    assert "m/model-b.tamis: " in result.err
    result = here(
        "fit",
        "s.svm",
        "--method",
        "ftrl",
        "--out",
        "model-b.tamis",
        "--checkpoint",
        "m",
        capsys=capsys,
    )
    assert (result.code, result.err.count("\n")) == (1, 1)
    assert "'model-a.tamis'" in result.err
    assert contents(folder) == before
    for out in ("m2", "m2/../m2/x", "m2/x.html"):
        assert (
            here(
                "fit",
                "s.svm",
                "--method",
                "ftrl",
                "--report",
                out,
                "--checkpoint",
                "m2",
                capsys=capsys,
            ).code
            == 2
        )
    assert sorted(os.listdir(tmp_path)) == ["m", "s.svm"]


def test_what_is_put_there_on_the_way_stays(rows, tmp_path, monkeypatch, capsys):
    """Files that appear next to a checkpoint are refused at the next start, and remain."""
    folder, learn = tmp_path / "ck", Trainer._learn

    def learn_and_write(self, chunk):
        learn(self, chunk)
        (folder / "model-x.tamis").write_text("precious")

    monkeypatch.setattr(Trainer, "_learn", learn_and_write)
    result = here(
        "fit",
        tmp_path / "s.svm",
        "--method",
        "ftrl",
        "--checkpoint",
        folder,
        "--out",
        tmp_path / "m",
        capsys=capsys,
    )
    assert result.code == 0
    assert contents(folder) == {"model-x.tamis": b"precious"}
    (folder / "model-x.tamis").unlink()
    leave_checkpoint(rows, folder, monkeypatch)
    with pytest.raises(CheckpointError, match=r"'model-x\.tamis'"):
        train(FTRLClassifier(), rows(), checkpoint=folder)
    assert contents(folder)["model-x.tamis"] == b"precious"


@pytest.mark.parametrize("exists_before", [False, True])
def test_a_folder_goes_only_if_it_was_made_for_the_checkpoint(
    rows, tmp_path, exists_before, capsys
):
    rows()
    folder = tmp_path / "new" / "ck"
    if exists_before:
        folder.mkdir(parents=True)
    result = here(
        "fit",
        tmp_path / "s.svm",
        "--method",
        "ftrl",
        "--checkpoint",
        folder,
        "--every",
        50,
        "--out",
        tmp_path / "m",
        capsys=capsys,
    )
    assert result.code == 0
    assert folder.exists() == exists_before
    assert not exists_before or not os.listdir(folder)


def test_a_failure_before_the_first_checkpoint_leaves_nothing(tmp_path, capsys):
    (tmp_path / "bad.svm").write_text("1 1:1\nspam 2:2\n")
    arguments = ("fit", tmp_path / "bad.svm", "--stream", "--checkpoint", tmp_path / "ck")
    assert here(*arguments, capsys=capsys).code == 1
    with pytest.raises(ValueError, match="rows that can be found again"):
        train(FTRLClassifier(), [(np.eye(2), [0, 1])], checkpoint=tmp_path / "ck")
    assert os.listdir(tmp_path) == ["bad.svm"]


def test_what_a_killed_process_left_is_cleared(rows, tmp_path, monkeypatch):
    """A model without its record, and temporary files, have known names and are removed at the next
    start.
    """
    folder = tmp_path / "ck"
    leave_checkpoint(rows, folder, monkeypatch)
    (model,) = folder.glob("model-*.tamis")
    other = model.with_name(
        model.name.replace("-a.", "-c.").replace("-b.", "-a.").replace("-c.", "-b.")
    )
    other.write_bytes(b"half")
    (folder / f".tamis-{'0' * 24}.tmp").write_bytes(b"half")
    with CheckpointFolder(folder):
        assert sorted(os.listdir(folder)) == sorted(
            ["checkpoint.json", "checkpoint.lock", model.name, other.name]
        )
    train(FTRLClassifier(), rows(), checkpoint=folder)
    assert len(list(folder.glob("model-*.tamis"))) == 1
    (folder / "checkpoint.json").unlink()
    with CheckpointFolder(folder) as checkpoints:
        assert checkpoints.read({"model": "FTRLClassifier"}) is None
        assert os.listdir(folder) == ["checkpoint.lock"]
    assert not folder.exists()


def test_a_process_killed_before_its_first_word(tmp_path, rows):
    """The lock file is empty: nothing was learnt, and the folder can be used."""
    folder = tmp_path / "ck"
    folder.mkdir()
    (folder / "checkpoint.lock").touch()
    train(FTRLClassifier(), rows(), checkpoint=folder)
    assert len(os.listdir(folder)) == 3


@pytest.mark.parametrize(
    "text",
    [
        "mine",
        "{}",
        "[]",
        '{"id": 3, "made": true}',
        '{"id": "../..", "made": true}',
        '{"id": "zz", "made": 1}',
    ],
)
def test_a_lock_that_no_checkpoint_wrote(tmp_path, rows, text):
    folder = tmp_path / "ck"
    folder.mkdir()
    (folder / "checkpoint.lock").write_text(text)
    with pytest.raises(CheckpointError, match="no checkpoint wrote this file"):
        train(FTRLClassifier(), rows(), checkpoint=folder)
    assert contents(folder) == {"checkpoint.lock": text.encode()}


# --------------------------------------------------------------------------- one at a time
def test_a_second_process_is_refused_and_a_dead_one_leaves_no_trap(tmp_path, rows):
    folder = tmp_path / "ck"
    train(FTRLClassifier(), rows(), checkpoint=folder)
    before = contents(folder)
    child = start_process(HOLD_FOLDER, folder)
    try:
        assert child.stdout.readline() == "held\n"
        with pytest.raises(CheckpointError, match=r"ck: another process"):
            train(FTRLClassifier(), rows(), checkpoint=folder)
    finally:
        os.kill(child.pid, signal.SIGKILL)
        child.wait()
    assert contents(folder) == before
    assert train(FTRLClassifier(), rows(), checkpoint=folder).t_ == 300


def test_two_threads_in_one_folder(tmp_path, rows, monkeypatch):
    has_started, may_continue, models = threading.Event(), threading.Event(), []
    learn = Trainer._learn

    def learn_and_wait(self, chunk):
        learn(self, chunk)
        has_started.set()
        may_continue.wait(60)

    monkeypatch.setattr(Trainer, "_learn", learn_and_wait)
    worker = threading.Thread(
        target=lambda: models.append(train(FTRLClassifier(), rows(), checkpoint=tmp_path / "ck"))
    )
    worker.start()
    try:
        assert has_started.wait(60)
        with pytest.raises(CheckpointError, match="another thread, is using this folder"):
            train(FTRLClassifier(), rows(), checkpoint=tmp_path / "ck")
    finally:
        may_continue.set()
        worker.join()
    assert models[0].t_ == 300


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork here")
def test_a_forked_child_does_not_keep_the_lock(tmp_path):
    """A worker that outlives its killed parent must not lock the folder."""
    run_process(FORK_PROCESS, tmp_path / "ck", timeout=60)


def test_a_folder_that_goes_away_while_it_is_claimed(tmp_path, monkeypatch):
    """Another process removes its lock file between open and lock: try again with a new file."""
    from tamis.training import checkpoint

    lock, folder, lock_calls = checkpoint.lock, tmp_path / "ck", []

    def lock_after_removal(file):
        if not lock_calls:
            (folder / "checkpoint.lock").unlink()
            folder.rmdir()
        lock_calls.append(file)
        return lock(file)

    monkeypatch.setattr(checkpoint, "lock", lock_after_removal)
    with CheckpointFolder(folder):
        assert len(lock_calls) == 2
        assert json.loads((folder / "checkpoint.lock").read_bytes())["made"] is True
        with pytest.raises(CheckpointError, match="is using this folder"), CheckpointFolder(folder):
            pass


def test_a_disk_without_locks_is_said_to_be_one(tmp_path, rows, monkeypatch):
    from tamis.system import files as _disk

    def refuse(*_):
        raise OSError(38, "Function not implemented")

    monkeypatch.setattr(_disk.fcntl, "flock", refuse)
    with pytest.warns(UserWarning, match="this disk has no locks"):
        assert train(FTRLClassifier(), rows(), checkpoint=tmp_path / "ck").t_ == 300


def test_a_place_that_is_no_folder(tmp_path, rows):
    (tmp_path / "file").write_text("precious")
    for name in ("file", "file/ck"):
        with pytest.raises(CheckpointError, match="a folder that can be written"):
            train(FTRLClassifier(), rows(), checkpoint=tmp_path / name)
    assert (tmp_path / "file").read_text() == "precious"
