"""Edited records of checkpoints: refused whichever field is changed; with a valid checksum refused
or valid.
"""

import copy
import json

import numpy as np
import pytest

from tamis import FTRLClassifier, open_rows, train
from tamis.training import record as fields
from tamis.training.checkpoint import CheckpointError
from tamis.training.record import POSITION, checksum
from tamis.training.trainer import Trainer

LINES = "".join(f"{k % 2} {1 + k % 7}:{k % 5} {9 + k % 3}:1\n" for k in range(300))
TABLE = "a,b,y\n" + "".join(f"{k % 7},{k % 5},{k % 2}\n" for k in range(300))
ODD_VALUES = [
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


class PartialCheckpoint:
    """Checkpoint in the middle of a pass, to be edited repeatedly."""

    def __init__(self, file, folder, monkeypatch, after=400, **options):
        self.file, self.folder, self.options = file, folder, options
        learn = Trainer._learn

        def learn_and_die(walk, chunk):
            learn(walk, chunk)
            if walk.state.seen > after:
                raise Killed

        with monkeypatch.context() as patch:
            patch.setattr(Trainer, "_learn", learn_and_die)
            with pytest.raises(Killed):
                self.resume(every=50)
        self.files = {path.name: path.read_bytes() for path in folder.iterdir()}
        self.record = json.loads(self.files["checkpoint.json"])

    def resume(self, every=10**6):
        rows = open_rows(self.file, chunk_rows=21, **self.options)
        return train(
            FTRLClassifier(),
            rows,
            passes=2,
            validate="progressive",
            checkpoint=self.folder,
            every=every,
        )

    def accepts(self, change, with_checksum=False):
        """Return whether training resumes from the changed record.

        Anything but a finished model or a refusal fails the test.
        """
        record = copy.deepcopy(self.record)
        change(record)
        if with_checksum:
            record["checksum"] = checksum(record)
        self.folder.mkdir(exist_ok=True)
        for path in self.folder.iterdir():
            path.unlink()
        for name, content in self.files.items():
            (self.folder / name).write_bytes(content)
        (self.folder / "checkpoint.json").write_text(json.dumps(record))
        try:
            return bool(np.isfinite(self.resume().coef_).all())
        except ValueError as error:
            if not with_checksum and not isinstance(error, CheckpointError):
                raise
            refused = {
                path.name: path.read_bytes()
                for path in self.folder.iterdir()
                if path.name != "checkpoint.json"
            }
        assert refused.items() <= self.files.items()
        return False


@pytest.fixture
def partial(tmp_path, monkeypatch):
    (tmp_path / "s.svm").write_text(LINES)
    return PartialCheckpoint(tmp_path / "s.svm", tmp_path / "ck", monkeypatch)


def field_paths(node, path=()):
    """Yield the paths of all fields of a record, nested ones too; of lists only the ends."""
    ends = {0, len(node) - 1} if len(node) > 2 else range(len(node))
    for key in node if isinstance(node, dict) else sorted(ends):
        yield (*path, key)
        if isinstance(node[key], dict | list):
            yield from field_paths(node[key], (*path, key))


def parent_of(record, path):
    for key in path[:-1]:
        record = record[key]
    return record


def edits(record):
    """Yield all edits: every field removed, given a neighbour, or replaced by odd values."""
    for path in field_paths(record):
        parent = parent_of(record, path)
        yield f"{path} gone", lambda r, p=path: parent_of(r, p).pop(p[-1])
        if isinstance(parent, dict):
            yield f"{path} doubled", lambda r, p=path: parent_of(r, p).update({f"{p[-1]}_": 1})
        for odd in ODD_VALUES:
            if json.dumps(odd) != json.dumps(parent[path[-1]]):
                yield (
                    f"{path} = {odd!r}",
                    lambda r, p=path, v=odd: parent_of(r, p).__setitem__(p[-1], v),
                )


def test_every_edit_is_refused(partial):
    all_edits = list(edits(partial.record))
    assert len(all_edits) > 1000
    assert partial.accepts(lambda record: None)
    for description, change in all_edits:
        assert not partial.accepts(change), description


def test_every_forgery_is_refused_or_works(partial):
    """With a valid checksum.

    The task and the names of files are compared with the current ones in any case.
    """
    partial.record["state"]["history"][1:-1] = []  # enough of lines that are alike
    for description, change in edits(partial.record):
        if description.startswith("('checksum',)"):
            continue  # that one is made anew
        is_accepted = partial.accepts(change, with_checksum=True)
        if (
            any(
                field in description
                for field in ("'task'", "'model'", " gone", " doubled", "'format'")
            )
            and not any(field in description for field in ("'history'", "'met'"))  # of any length
        ):
            assert not is_accepted, description


@pytest.mark.parametrize(
    ("changes", "message"),
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
def test_contradictions_are_named(partial, changes, message):
    partial.record["state"] |= changes
    partial.record["checksum"] = checksum(partial.record)
    partial.files["checkpoint.json"] = json.dumps(partial.record).encode()
    (partial.folder / "checkpoint.json").write_bytes(partial.files["checkpoint.json"])
    with pytest.raises(CheckpointError, match=message):
        partial.resume()


def write_files(folder):
    """Write the same rows in every format from which training can resume."""
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
    """Beyond the end, or inside a line or a chunk: refused in every format, also with a valid
    checksum.
    """
    write_files(tmp_path)
    partial = PartialCheckpoint(
        tmp_path / name,
        tmp_path / "ck",
        monkeypatch,
        **({"hash_bits": 8} if name.endswith("vw") else {}),
    )
    offset = partial.record["state"]["position"]["offset"]

    def set_offset(offset_in_record):
        return lambda record: record["state"]["position"].update(offset=offset_in_record)

    assert partial.accepts(lambda record: None)
    for offset_in_record in (offset + 1, offset - 1, offset + 10**6, 2**62, 2**63 - 1, -1, -offset):
        assert not partial.accepts(set_offset(offset_in_record), with_checksum=True), (
            offset_in_record
        )
    assert not partial.accepts(
        lambda record: record["state"]["position"].update(file=1), with_checksum=True
    )
    assert not partial.accepts(
        lambda record: record["state"]["position"].update(width=10**9), with_checksum=True
    )


def test_a_model_of_another_moment_is_refused(partial):
    """The record and its model are a pair: an older model with that name is refused."""
    from tamis import save

    (name,) = [name for name in partial.files if name.startswith("model-")]
    save(FTRLClassifier().fit(np.eye(11), np.arange(11) % 2), partial.folder / name)
    with pytest.raises(CheckpointError, match="its model is not the one"):
        partial.resume()


def test_all_that_is_written_is_declared(partial):
    """A record has exactly the declared fields, so that a new field without a rule fails here."""
    assert set(partial.record) == set(fields.RECORD)
    assert set(partial.record["state"]) == set(fields.STATE)
    assert set(partial.record["state"]["facts"]) == set(fields.FACTS)
    assert set(partial.record["state"]["position"]) == set(POSITION) == set(fields.Position._fields)
    (partial.folder / "checkpoint.json").write_text("[" * 100_000)
    with pytest.raises(CheckpointError, match="it cannot be read"):
        partial.resume()
