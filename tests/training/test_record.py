"""Records of checkpoints that were edited: refused, whatever was done to whichever field; and
forged with a valid checksum, no third thing.
"""

import copy
import json

import numpy as np
import pytest

from tamis import FTRLClassifier, open_rows, train
from tamis.training import record as fields
from tamis.training.checkpoint import CheckpointError
from tamis.training.record import POSITION, checksum
from tamis.training.walk import Walk

LINES = "".join(f"{k % 2} {1 + k % 7}:{k % 5} {9 + k % 3}:1\n" for k in range(300))
TABLE = "a,b,y\n" + "".join(f"{k % 7},{k % 5},{k % 2}\n" for k in range(300))
ODD = [
    None,
    True,
    False,
    -1,
    0,
    1,
    10**9,
    2**63,
    10**400,
    0.5,
    -1.5,
    float("nan"),
    float("inf"),
    "",
    "x",
    "../x",
    [],
    [0],
    [[]],
    {},
    {"a": 1},
]


class Killed(BaseException):
    """Stands for a process that dies."""


class Left:
    """A checkpoint in mid-pass, to be forged again and again."""

    def __init__(self, file, folder, monkeypatch, after=400, **options):
        self.file, self.folder, self.options = file, folder, options
        learn = Walk._learn

        def mortal(walk, chunk):
            learn(walk, chunk)
            if walk.state.seen > after:
                raise Killed

        with monkeypatch.context() as patch:
            patch.setattr(Walk, "_learn", mortal)
            with pytest.raises(Killed):
                self.go_on(every=50)
        self.before = {path.name: path.read_bytes() for path in folder.iterdir()}
        self.record = json.loads(self.before["checkpoint.json"])

    def go_on(self, every=10**6):
        rows = open_rows(self.file, chunk_rows=21, **self.options)
        return train(
            FTRLClassifier(),
            rows,
            passes=2,
            validate="progressive",
            checkpoint=self.folder,
            every=every,
        )

    def forged(self, change, sealed=False):
        """Whether the changed record is gone on from; anything but a finished model or a refusal in
        words fails the test.
        """
        record = copy.deepcopy(self.record)
        change(record)
        if sealed:
            record["checksum"] = checksum(record)
        self.folder.mkdir(exist_ok=True)
        for path in self.folder.iterdir():
            path.unlink()
        for name, content in self.before.items():
            (self.folder / name).write_bytes(content)
        (self.folder / "checkpoint.json").write_text(json.dumps(record))
        try:
            return bool(np.isfinite(self.go_on().coef_).all())
        except ValueError as error:
            if not sealed and not isinstance(error, CheckpointError):
                raise
            refused = {
                path.name: path.read_bytes()
                for path in self.folder.iterdir()
                if path.name != "checkpoint.json"
            }
        assert refused.items() <= self.before.items()
        return False


@pytest.fixture
def left(tmp_path, monkeypatch):
    (tmp_path / "s.svm").write_text(LINES)
    return Left(tmp_path / "s.svm", tmp_path / "ck", monkeypatch)


def places(node, path=()):
    """Paths of all fields of a record, whole parts included; of lists of like things the ends."""
    ends = {0, len(node) - 1} if len(node) > 2 else range(len(node))
    for key in node if isinstance(node, dict) else sorted(ends):
        yield (*path, key)
        if isinstance(node[key], dict | list):
            yield from places(node[key], (*path, key))


def holder(record, path):
    for key in path[:-1]:
        record = record[key]
    return record


def edits(record):
    """All edits: every field taken away, given a neighbour, or replaced by odd values."""
    for path in places(record):
        parent = holder(record, path)
        yield f"{path} gone", lambda r, p=path: holder(r, p).pop(p[-1])
        if isinstance(parent, dict):
            yield f"{path} doubled", lambda r, p=path: holder(r, p).update({f"{p[-1]}_": 1})
        for odd in ODD:
            if json.dumps(odd) != json.dumps(parent[path[-1]]):
                yield (
                    f"{path} = {odd!r}",
                    lambda r, p=path, v=odd: holder(r, p).__setitem__(p[-1], v),
                )


def test_every_edit_is_refused(left):
    found = list(edits(left.record))
    assert len(found) > 1000
    assert left.forged(lambda record: None)
    for words, change in found:
        assert not left.forged(change), words


def test_every_forgery_is_refused_or_works(left):
    """With a checksum that matches.

    The task and the names of files are compared with what is asked for, whatever the checksum says.
    """
    left.record["state"]["history"][1:-1] = []  # enough of lines that are alike
    for words, change in edits(left.record):
        if words.startswith("('checksum',)"):
            continue  # that one is made anew
        works = left.forged(change, sealed=True)
        if (
            any(part in words for part in ("'task'", "'model'", " gone", " doubled", "'format'"))
            and not any(part in words for part in ("'history'", "'met'"))  # of any length
        ):
            assert not works, words


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"turn": 2}, "its figures contradict each other"),
        ({"turn": 0}, "its figures contradict each other"),
        ({"position": None, "turn": 0}, "no pass is done, and none begun"),
        ({"position": None, "seen": 401, "turn": 2}, "401 rows in 2 whole passes"),
        ({"chunks": 10**6}, "chunks of"),
        ({"mark": 5}, "the mark does not fit the history"),
        ({"history": []}, "the history does not fit the rows"),
        ({"seen": -1}, "'state.seen' .*-1"),
        ({"seen": 400.0}, "'state.seen' .*400.0"),
        ({"seen": True}, "'state.seen' .*[Tt]rue"),
        ({"charged": [0.0]}, "'state.charged' must be 7 numbers"),
        ({"extra": 1}, "'state.extra' is no field of a checkpoint"),
        ({"facts": {}}, "'state.facts.base' is missing"),
    ],
)
def test_contradictions_are_named(left, changes, words):
    left.record["state"] |= changes
    left.record["checksum"] = checksum(left.record)
    left.before["checkpoint.json"] = json.dumps(left.record).encode()
    (left.folder / "checkpoint.json").write_bytes(left.before["checkpoint.json"])
    with pytest.raises(CheckpointError, match=words):
        left.go_on()


def write_files(folder):
    """The same rows in every format that can be gone on with."""
    import gzip

    import pyarrow as arrow
    import pyarrow.parquet
    import scipy.sparse as sp

    (folder / "s.svm").write_text(LINES)
    (folder / "open.svm").write_text(LINES.rstrip("\n"))
    (folder / "s.svm.gz").write_bytes(gzip.compress(LINES.encode()))
    (folder / "s.csv").write_text(TABLE)
    (folder / "s.vw").write_text("".join(f"{k % 2} | a{k % 7} b{k % 5}\n" for k in range(300)))
    table = arrow.table({"a": [k % 7 for k in range(300)], "y": [k % 2 for k in range(300)]})
    pyarrow.parquet.write_table(table, folder / "s.parquet")
    X = sp.csr_array(np.arange(900.0).reshape(300, 3))
    np.savez(
        folder / "s.npz",
        data=X.data,
        indices=X.indices,
        indptr=X.indptr,
        shape=X.shape,
        y=np.arange(300) % 2,
    )


@pytest.mark.parametrize(
    "name", ["s.svm", "open.svm", "s.svm.gz", "s.csv", "s.vw", "s.parquet", "s.npz"]
)
def test_an_offset_that_the_file_does_not_have(name, tmp_path, monkeypatch):
    """Beyond the end, or inside a line or a chunk: refused in every format, with a checksum that
    matches too.
    """
    write_files(tmp_path)
    left = Left(
        tmp_path / name,
        tmp_path / "ck",
        monkeypatch,
        **({"hash_bits": 8} if name.endswith("vw") else {}),
    )
    offset = left.record["state"]["position"]["offset"]

    def move(to):
        return lambda record: record["state"]["position"].update(offset=to)

    assert left.forged(lambda record: None)
    for to in (offset + 1, offset - 1, offset + 10**6, 2**62, 2**63 - 1, -1, -offset):
        assert not left.forged(move(to), sealed=True), to
    assert not left.forged(lambda record: record["state"]["position"].update(file=1), sealed=True)
    assert not left.forged(
        lambda record: record["state"]["position"].update(width=10**9), sealed=True
    )


def test_a_model_of_another_moment_is_refused(left):
    """The record and its model are one pair: an older model of that name is no substitute."""
    from tamis import save

    (name,) = [name for name in left.before if name.startswith("model-")]
    save(FTRLClassifier().fit(np.eye(11), np.arange(11) % 2), left.folder / name)
    with pytest.raises(CheckpointError, match="its model is not the one"):
        left.go_on()


def test_all_that_is_written_is_declared(left):
    """The declared fields are those of a record, so that a new field without a rule fails here."""
    assert set(left.record) == set(fields.RECORD)
    assert set(left.record["state"]) == set(fields.STATE)
    assert set(left.record["state"]["facts"]) == set(fields.FACTS)
    assert set(left.record["state"]["position"]) == set(POSITION) == set(fields.Position._fields)
    (left.folder / "checkpoint.json").write_text("[" * 100_000)
    with pytest.raises(CheckpointError, match="it cannot be read"):
        left.go_on()
