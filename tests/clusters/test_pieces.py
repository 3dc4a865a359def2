"""Pieces of distributed fits, each alone: sizes, blocks, warm starts, what is lost, and words."""

import numpy as np
import pytest
from clusters.ground import BLOCKS, X, Y, bits

import tamis.distributed as td
from tamis import FTRLClassifier, TruncatedGradientClassifier
from tamis.data.options import Options
from tamis.data.rows import ReadError
from tamis.data.survey import Survey
from tamis.distributed import visits
from tamis.distributed.agreement import Agreed, Apart, coded
from tamis.distributed.executors import Inline, Lost
from tamis.distributed.parts import blocks_of, named_files
from tamis.distributed.visits import bytes_in


class Lazy:
    """What a cluster would compute."""

    __dask_graph__ = None

    def __init__(self, value):
        self.value = value

    def compute(self):
        return self.value


def test_bytes_are_those_of_arrays_each_once():
    array = np.zeros(5)
    given = [array, array, "word", 3, None, {"a": (array[:2].copy(), True)}]
    assert bytes_in(given) == 40 + 16 + 3 * 64  # and of the list, the dict and the tuple


def test_a_tuple_of_which_some_are_lazy_is_computed():
    executor = Inline()
    found = executor.put((Lazy(3), "y"), "here")
    assert found == (3, "y")
    assert executor.put(Lazy(4), "here") == 4
    assert executor.put((1, 2), "here") == (1, 2)


def test_a_loss_says_what_it_is():
    assert str(Lost("worker")) == "a worker was lost"
    assert str(Lost("scheduler", "gone")) == "gone"


def test_targets_in_a_column_are_targets():
    model = td.fit(FTRLClassifier(), [(x, y[:, None]) for x, y in BLOCKS], paths=1)
    assert bits(model) == bits(td.fit(FTRLClassifier(), BLOCKS, paths=1))


def test_targets_of_several_columns_are_left_as_they_are():
    agreed = Agreed([], Survey())
    model = type("Model", (), {"classes_": np.array([0, 1])})()
    labels = np.array([[0.0, 1.0], [1.0, 1.0]])
    assert coded(model, labels, agreed, "part") is labels
    assert coded(model, labels[:, 0], agreed, "part").dtype == np.int64
    with pytest.raises(ReadError, match=r"part: target 0\.5 is no class"):
        coded(model, np.array([0.0, 0.5]), agreed, "part")


def test_a_block_without_rows_is_a_partition_without_blocks():
    agreed = Agreed([], Survey())
    assert visits.open_block(0, visits.Block(X[:0], Y[:0], None), "none", agreed).blocks == []
    (block,) = visits.open_block(0, visits.Block(X[:3], Y[:3], None), "some", agreed).blocks
    assert block.X.shape == (3, 60)


def test_a_warm_start_compiles_by_a_few_rows(monkeypatch):
    met = []
    monkeypatch.setattr(visits, "_learn", lambda model, block, partition: met.append(block.X.shape))
    block = visits.Block(X, Y, np.ones(len(Y)))
    visits.warm(visits.Path(FTRLClassifier()), [block])
    visits.warm(visits.Path(FTRLClassifier()), [visits.Block(X[:1], Y[:1], None)])
    assert met == [(visits.WARM, 60), (1, 60)]


def test_weights_that_remember_what_they_paid_are_not_mixed():
    with pytest.raises(ValueError, match="pass theta=inf"):
        td.fit(TruncatedGradientClassifier(theta=0.5), BLOCKS, how="mix", sweeps=4)


def test_the_first_file_that_cannot_be_read_is_named():
    said = ReadError("a.csv: nothing there")
    apart = Apart(Options("csv"), lambda task: [said, "head"])
    with pytest.raises(ReadError, match=r"a\.csv: nothing there"):
        apart.look()
    assert Apart(Options("csv"), lambda task: ["head", said]).look() == ["head"]


def test_other_letters_than_usual_are_read_everywhere(tmp_path):
    for k in range(2):
        rows = "\n".join(f"{'né' if i % 2 else 'où'},{i % 5},{i % 2}" for i in range(40))
        (tmp_path / f"{k}.csv").write_text(f"mot,z,y\n{rows}\n", encoding="latin-1")
    model = td.fit(FTRLClassifier(), str(tmp_path / "*.csv"), target="y", encoding="latin-1")
    assert model.reading_["encoding"] == "latin-1"
    for k in range(2):
        text = (tmp_path / f"{k}.csv").read_text(encoding="latin-1")
        (tmp_path / f"{k}.csv").write_text(text, encoding="utf-8")
    plain = td.fit(FTRLClassifier(), str(tmp_path / "*.csv"), target="y")
    assert "encoding" not in plain.reading_
    assert bits(plain) == bits(model)


class Blocks(Lazy):
    """An array of a cluster, cut by rows and perhaps by columns."""

    def __init__(self, rows, columns=None):
        self.chunks = (tuple(rows),) if columns is None else (tuple(rows), tuple(columns))
        self.ndim, self.numblocks = len(self.chunks), tuple(map(len, self.chunks))

    def to_delayed(self):
        return np.array([f"{self.ndim}:{k}" for k in range(len(self.chunks[0]))], dtype=object)


def test_arrays_are_blocks_of_rows():
    found = blocks_of((Blocks([3, 4], [5]), Blocks([3, 4])), None)
    assert [part.what for part in found] == [("2:0", "1:0"), ("2:1", "1:1")]
    unknown = blocks_of((Blocks([np.nan, np.nan], [5]), Blocks([3, 4])), None)
    assert len(unknown) == 2
    with pytest.raises(ValueError, match="cut into different blocks of rows"):
        blocks_of((Blocks([3, 4], [5]), Blocks([4, 3])), None)
    with pytest.raises(ValueError, match="cut by columns, into 2 parts"):
        blocks_of((Blocks([3, 4], [2, 3]), Blocks([3, 4])), None)
    with pytest.raises(ValueError, match="cut by columns"):
        blocks_of((Blocks([3, 4]), Blocks([3, 4])), None)


def test_a_pair_of_which_one_is_lazy_is_no_pair_of_arrays():
    with pytest.raises(TypeError, match="block 1 must be Rows"):
        blocks_of((Blocks([3], [5]), np.zeros(3)), None)


def test_a_frame_needs_its_target():
    frame = Lazy(None)
    frame.columns, frame.to_delayed = ["a", "y"], lambda: ["part"]
    assert [part.name for part in blocks_of(frame, "y")] == ["partition 0"]
    for target in (None, "z"):
        with pytest.raises(ValueError, match=f"target={target!r} is no column"):
            blocks_of(frame, target)


def test_names_are_files_where_all_are_names(tmp_path):
    assert named_files([tmp_path / "a", "b"]) == [str(tmp_path / "a"), "b"]
    assert named_files("b") == ["b"]
    assert named_files(["a", BLOCKS[0]]) is None
    assert named_files([]) is None
