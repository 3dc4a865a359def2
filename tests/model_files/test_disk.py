"""What `save` refuses, and files that appear whole or not at all."""

import os
import stat
import subprocess
from pathlib import Path

import numpy as np
import pytest
from processes import start_process
from scipy import sparse
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import MaxAbsScaler

from tamis import (
    FDRSelector,
    FTRLClassifier,
    distributed,
    export,
    open_rows,
    report,
    train,
    write_page,
)
from tamis.model_files import load, save
from tamis.model_files.blocks import Block
from tamis.system import files as _disk
from tamis.system.files import atomic_writer
from tamis.terms.losses import Hinge


# --------------------------------------------------------------------------- what cannot be saved
def nested_in_itself():
    """A list that holds itself."""
    value = []
    value.append(value)
    return value


@pytest.mark.parametrize(
    ("value", "message"),
    [
        (lambda: 0, "Toy.kept_: .*builtins.function"),
        ([1, {"a": {1}}], r"Toy.kept_\[1\]\['a'\]: .*builtins.set"),
        (slice(1), "Toy.kept_: a value of type builtins.slice"),
        ({(1,): 2}, r"Toy.kept_, key \(1,\): "),
        ({None: 2}, "Toy.kept_, key None: "),
        (Hinge, "Toy.kept_: a value of type builtins.type"),
        (Hinge(object()), "Toy.kept_.margin: a value of type builtins.object"),
        (np.array([1, [2]], object), r"Toy.kept_.flat\[1\]: "),
        (np.zeros(2, "f8,i4"), "Toy.kept_: .*dtype .*f8"),
        (np.zeros(2, "M8[s]"), "Toy.kept_: an array of dtype datetime64"),
        (
            np.zeros(2, np.longdouble),
            "Toy.kept_: .*dtype .*float64",
        ),
        (np.longdouble(1), "Toy.kept_: a value of type numpy.longdouble"),
        (np.ma.masked_array([1.0], [True]), "Toy.kept_: a value of type numpy.ma"),
        (
            sparse.coo_array(np.eye(2)),
            "Toy.kept_: .*coo_array .*CSR",
        ),
        (sparse.csr_array(np.eye(2, dtype=np.longdouble)), "Toy.kept_.data: an array of dtype"),
        (
            np.random.Generator(np.random.Philox(1)),
            r"Toy.kept_ \(Philox\): .*default_rng",
        ),
        (LogisticRegression(), "Toy.kept_: LogisticRegression"),
        (nested_in_itself(), "Toy.kept_.*: .* 64 levels"),
        (type("Words", (str,), {})("x"), "Toy.kept_: .*Words"),
        (3j, "Toy.kept_: a value of type builtins.complex"),
    ],
)
def test_values_that_cannot_be_saved(value, message, toy, tmp_path):
    with pytest.raises(TypeError, match=message):
        save(toy().holding(kept_=value), tmp_path / "m")
    assert not os.listdir(tmp_path)


def test_models_that_cannot_be_saved(toy, tmp_path, monkeypatch):
    impostor = type("Toy", (toy,), {})
    for model in (LogisticRegression(), impostor(), type("Own", (toy,), {})()):
        with pytest.raises(TypeError, match="is not a public estimator"):
            save(model, tmp_path / "m")
    assert not os.listdir(tmp_path)


# --------------------------------------------------------------------------- the disk
@pytest.mark.parametrize(
    "failure", [OSError(28, "No space left on device"), KeyboardInterrupt(), ValueError("any")]
)
@pytest.mark.parametrize("moment", ["block", "fsync", "replace"])
def test_failed_save_leaves_the_old_file(failure, moment, toy, tmp_path, monkeypatch):
    save(toy(alpha=1), tmp_path / "m")
    before = (tmp_path / "m").read_bytes()

    def fail(*_):
        raise failure

    def half(self):
        yield b"half"
        fail()

    target, name, replacement = {
        "block": (Block, "chunks", half),
        "fsync": (os, "fsync", fail),
        "replace": (os, "replace", fail),
    }[moment]
    with monkeypatch.context() as patch:
        patch.setattr(target, name, replacement)
        with pytest.raises(type(failure)) as caught:
            save(toy(alpha=2).holding(coef_=np.ones(10**5)), tmp_path / "m")
    if isinstance(failure, OSError):
        assert f"cannot save to {tmp_path / 'm'} (No space left on device)" in str(caught.value)
        assert caught.value.errno == 28
    assert os.listdir(tmp_path) == ["m"]
    assert (tmp_path / "m").read_bytes() == before


def test_model_that_changes_while_it_is_saved(toy, tmp_path, monkeypatch):
    monkeypatch.setattr(Block, "chunks", lambda self: iter([b"too short"]))
    with pytest.raises(RuntimeError, match="changed while it was being saved"):
        save(toy().holding(coef_=np.ones(9)), tmp_path / "m")
    assert not os.listdir(tmp_path)


def test_file_is_synced_before_it_is_moved(toy, tmp_path, monkeypatch):
    calls, fsync, replace = [], os.fsync, os.replace
    monkeypatch.setattr(
        os,
        "fsync",
        lambda number: (calls.append(("fsync", os.fstat(number).st_size)), fsync(number)),
    )
    monkeypatch.setattr(
        os,
        "replace",
        lambda a, b: (calls.append(("replace", os.path.dirname(a), b)), replace(a, b)),
    )
    save(toy(), tmp_path / "m")
    moved = ("replace", str(tmp_path), str(tmp_path / "m"))
    assert calls == [
        ("fsync", (tmp_path / "m").stat().st_size),
        moved,
        ("fsync", tmp_path.stat().st_size),
    ]


def test_the_rights_of_a_file_that_is_replaced_are_kept(toy, tmp_path):
    file_path = tmp_path / "m"
    for mode in (0o600, 0o664, 0o444):
        file_path.touch()
        file_path.chmod(mode)
        with atomic_writer(file_path) as file:
            assert stat.S_IMODE(os.fstat(file.fileno()).st_mode) == mode  # before there is content
            file.write(b"new")
        assert stat.S_IMODE(file_path.stat().st_mode) == mode
    if os.getuid() == 0:
        os.chown(file_path, 12345, 12346)
        save(toy(), file_path)
        assert (file_path.stat().st_uid, file_path.stat().st_gid) == (12345, 12346)


def test_what_is_no_regular_file_is_written_into(tmp_path):
    save(FTRLClassifier(), os.devnull)
    assert stat.S_ISCHR(os.stat(os.devnull).st_mode)
    os.mkfifo(tmp_path / "pipe")
    (tmp_path / "link").symlink_to("pipe")
    for name in ("pipe", "link"):
        with subprocess.Popen(["cat", tmp_path / name], stdout=subprocess.PIPE) as reader:
            save(FTRLClassifier(), tmp_path / name)
            assert reader.communicate(timeout=60)[0].startswith(b"TAMIS MODEL")
    assert stat.S_ISFIFO(os.stat(tmp_path / "pipe").st_mode)
    with open(tmp_path / "log", "wb") as log:
        log.write(b"before ")
        log.flush()
        with atomic_writer(f"/dev/fd/{log.fileno()}") as file:
            file.write(b"after")
    assert (tmp_path / "log").read_bytes() == b"before after"
    assert sorted(os.listdir(tmp_path)) == ["link", "log", "pipe"]
    with pytest.raises(OSError, match="No space left"):
        save(FTRLClassifier(), "/dev/full")


def test_a_model_does_not_replace_the_file_it_was_trained_from(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    rows = "1 1:1 3:1\n-1 2:1 3:1\n" * 50
    Path("v.svm").write_text(rows)
    Path("link").symlink_to("v.svm")
    os.link("v.svm", "hard")
    model = train(FTRLClassifier(), open_rows("v.svm"))
    by_address = train(FTRLClassifier(), open_rows(f"file://{tmp_path}/v.sv?"))
    selector = FDRSelector(targets="classes").fit_rows(open_rows("v.svm"))
    writers = {
        "save": lambda path: save(model, path),
        "address": lambda path: save(by_address, path),
        "selector": lambda path: save(selector, path),
        "page": lambda path: write_page(path, title="t", model=model),
        "audit": lambda path: write_page(path, title="t", audit={"files": ["v.svm"]}),
        "report": lambda path: report(model, path=path),
        "export": lambda path: export(model, path, to="json"),
    }
    for name in writers:
        for path in ("v.svm", b"v.svm", "link", "hard", tmp_path / "v.svm"):
            with pytest.raises(ValueError, match="would replace an input"):
                writers[name](path)
    save(model, "m")
    again = load("m")
    save(again, "m")
    for write in (export, lambda model, path, to: write_page(path, title="t", model=model)):
        for one in (again, make_pipeline(again), make_pipeline(MaxAbsScaler(), again)):
            with pytest.raises(ValueError, match="would replace an input"):
                write(one, "m", to="json")
    assert Path("v.svm").read_text() == rows
    assert sorted(os.listdir()) == ["hard", "link", "m", "v.svm"]


def test_rows_of_a_checkpoint_are_not_read_from_its_folder(tmp_path):
    file_path = tmp_path / "ck" / "checkpoint.json"
    file_path.parent.mkdir()
    file_path.write_text("1 1:1 3:1\n-1 2:1 3:1\n" * 50)
    rows = open_rows(file_path, format="svmlight")
    for learn in (
        lambda: train(FTRLClassifier(), rows, checkpoint=file_path.parent),
        lambda: distributed.fit(
            FTRLClassifier(), str(file_path), checkpoint=file_path.parent, format="svmlight"
        ),
    ):
        with pytest.raises(ValueError, match="would replace an input"):
            learn()
    assert os.listdir(file_path.parent) == ["checkpoint.json"]


# ---------------------------------------------------------------------- what killed processes leave
SLOW = """
    import sys, time
    from tamis import FTRLClassifier, save
    from tamis.model_files.blocks import Block

    def slow(self):
        yield b"half"
        print("writing", flush=True)
        time.sleep(600)

    Block.chunks = slow
    save(FTRLClassifier().fit([[0.0, 1.0], [1.0, 0.0]], [0, 1]), sys.argv[1])
"""


def temporaries(folder):
    return [name for name in os.listdir(folder) if name.endswith(".tmp")]


def test_a_killed_save_is_cleared_by_the_next_one(toy, tmp_path):
    """The next save in the folder removes what a dead process left there; what a living one is
    writing stays, and so do files of others.
    """
    (tmp_path / ".tamis-mine.tmp").write_text("a user's own")
    (tmp_path / f".tamis-{'0' * 24}.tmp").symlink_to(".tamis-mine.tmp")
    child = start_process(SLOW, tmp_path / "m")
    try:
        assert child.stdout.readline() == "writing\n"
        save(toy(), tmp_path / "other")
        assert len(temporaries(tmp_path)) == 3
    finally:
        child.kill()
        child.wait()
    assert len(temporaries(tmp_path)) == 3
    save(toy(), tmp_path / "other")
    assert sorted(temporaries(tmp_path)) == [f".tamis-{'0' * 24}.tmp", ".tamis-mine.tmp"]
    assert sorted(os.listdir(tmp_path))[-1] == "other"


def test_a_temporary_swept_before_it_was_locked_is_begun_again(toy, tmp_path, monkeypatch):
    lock, swept = _disk.lock, []

    def late(file):
        if not swept:
            swept.append(os.unlink(file.name))
        return lock(file)

    monkeypatch.setattr(_disk, "lock", late)
    save(toy(alpha=3), tmp_path / "m")
    assert swept
    assert os.listdir(tmp_path) == ["m"]
    assert load(tmp_path / "m").alpha == 3


def test_a_disk_without_locks(toy, tmp_path, monkeypatch):
    """Nothing is swept there, since nobody can tell dead from living."""

    def refuse(*_):
        raise OSError(38, "Function not implemented")

    (tmp_path / f".tamis-{'1' * 24}.tmp").write_text("dead")
    monkeypatch.setattr(_disk.fcntl, "flock", refuse)
    save(toy(alpha=3), tmp_path / "m")
    assert load(tmp_path / "m").alpha == 3
    assert temporaries(tmp_path) == [f".tamis-{'1' * 24}.tmp"]


def test_folder_that_may_not_be_written(toy, tmp_path, monkeypatch):
    tmp_path.chmod(0o500)
    if os.geteuid() == 0:  # root may write anywhere

        def refuse(name, mode):
            raise PermissionError(13, "Permission denied", name)

        monkeypatch.setattr(_disk, "open", refuse, raising=False)
    with pytest.raises(PermissionError, match=r"/m \(Permission denied\)"):
        save(toy(), tmp_path / "m")
    tmp_path.chmod(0o700)


def test_folder_that_is_not_there(toy, tmp_path):
    with pytest.raises(FileNotFoundError, match=r"absent.*folder that exists"):
        save(toy(), tmp_path / "absent" / "m")


def test_permissions_and_links(toy, tmp_path):
    before = os.umask(0o027)
    try:
        save(toy(alpha=1), tmp_path / "m")
    finally:
        os.umask(before)
    assert stat.S_IMODE((tmp_path / "m").stat().st_mode) == 0o640
    (tmp_path / "link").symlink_to("m")
    save(toy(alpha=2), tmp_path / "link")
    assert (tmp_path / "link").is_symlink()
    assert load(tmp_path / "m").alpha == 2
