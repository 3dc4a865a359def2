"""Pieces of distributed fits, each alone: sizes, blocks, warm starts, what is lost, and words."""

import numpy as np
import pytest
from clusters.helpers import BLOCKS, X, Y, bits

import tamis.distributed as td
from tamis import FTRLClassifier, FTRLRegressor, TruncatedGradientClassifier
from tamis.data.options import Options
from tamis.data.rows import ReadError
from tamis.data.survey import Survey
from tamis.distributed import worker_tasks
from tamis.distributed.executors import ConnectionLost, LocalExecutor
from tamis.distributed.inputs import block_sources, file_names
from tamis.distributed.schema import (
    PartitionSummary,
    RemoteTable,
    SharedSchema,
    class_targets,
    shared_schema,
)
from tamis.distributed.worker_tasks import array_bytes


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
    assert array_bytes(given) == 40 + 16 + 3 * 64  # and of the list, the dict and the tuple


def test_a_tuple_of_which_some_are_lazy_is_computed():
    executor = LocalExecutor()
    found = executor.put((Lazy(3), "y"), "here")
    assert found == (3, "y")
    assert executor.put(Lazy(4), "here") == 4
    assert executor.put((1, 2), "here") == (1, 2)


def test_a_loss_says_what_it_is():
    assert str(ConnectionLost("worker")) == "a worker was lost"
    assert str(ConnectionLost("scheduler", "gone")) == "gone"


def test_targets_in_a_column_are_targets():
    model = td.fit(FTRLClassifier(), [(x, y[:, None]) for x, y in BLOCKS], paths=1)
    assert bits(model) == bits(td.fit(FTRLClassifier(), BLOCKS, paths=1))


def test_targets_of_several_columns_are_left_as_they_are():
    schema = SharedSchema([], Survey(), whole_classes=True)
    labels = np.array([[0.0, 1.0], [1.0, 1.0]])
    assert class_targets(labels, schema, "part") is labels
    assert class_targets(labels[:, 0], schema, "part").dtype == np.int64
    with pytest.raises(ReadError, match=r"part: target 0\.5 is no class"):
        class_targets(np.array([0.0, 0.5]), schema, "part")


def test_a_classifier_of_whole_numbers_gets_whole_numbers():
    summaries = [PartitionSummary(Survey.merge([summary_of(y)])) for y in (Y * 1.0, Y * 2.0)]
    for model, of in ((FTRLClassifier(), 1.0), (FTRLClassifier().partial_fit(X, Y, [0, 1]), 1.0)):
        schema = shared_schema(model, summaries[:1], ["part"], False)
        assert class_targets(Y * of, schema, "part").dtype == np.int64
    halves = [PartitionSummary(summary_of(Y * 0.5))]
    schema = shared_schema(FTRLClassifier(), halves, ["part"], False)
    assert class_targets(Y * 0.5, schema, "part").dtype == np.float64
    assert not shared_schema(FTRLRegressor(), summaries, ["part", "other"], False).whole_classes


def summary_of(y):
    """The survey of a block."""
    return worker_tasks.summarize_block(worker_tasks.Block(X, y, None), False).survey


def test_a_block_without_rows_is_a_partition_without_blocks():
    schema = SharedSchema([], Survey())
    none, some = (worker_tasks.Block(X[:rows], Y[:rows], None) for rows in (0, 3))
    assert worker_tasks.open_block(0, none, "none", schema).blocks == []
    (block,) = worker_tasks.open_block(0, some, "some", schema).blocks
    assert block.X.shape == (3, 60)


def test_a_warm_start_compiles_by_a_few_rows(monkeypatch):
    met = []
    monkeypatch.setattr(
        worker_tasks, "_learn_block", lambda model, block, schema: met.append(block)
    )
    path, schema = worker_tasks.PathState(FTRLClassifier()), SharedSchema([], Survey())
    for block in (
        worker_tasks.Block(X, Y, np.ones(len(Y))),
        worker_tasks.Block(X[:1], Y[:1], None),
    ):
        worker_tasks.compile_loops(path, worker_tasks.Partition(0, "part", schema, [block]))
    assert [block.X.shape for block in met] == [(worker_tasks.COMPILE_ROWS, 60), (1, 60)]
    assert met[0].weights.shape == (worker_tasks.COMPILE_ROWS,)
    met.clear()
    for rows in (300, 1):
        encoded = FTRLClassifier()._encode(X[:rows], Y[:rows], np.ones(rows), classes=[0, 1])
        block = worker_tasks.EncodedBlock(encoded, rows)
        worker_tasks.compile_loops(path, worker_tasks.Partition(0, "part", schema, [block]))
    sizes = [(one.rows.rows.n_rows, len(one.rows.encoded.columns)) for one in met]
    assert sizes == [(worker_tasks.COMPILE_ROWS,) * 2, (1, 1)]


def test_weights_that_remember_what_they_paid_are_not_mixed():
    with pytest.raises(ValueError, match="pass theta=inf"):
        td.fit(TruncatedGradientClassifier(theta=0.5), BLOCKS, how="mix", sweeps=4)


def test_the_first_file_that_cannot_be_read_is_named():
    said = ReadError("a.csv: nothing there")
    apart = RemoteTable(Options("csv"), lambda task: [said, "head"])
    with pytest.raises(ReadError, match=r"a\.csv: nothing there"):
        apart.look()
    assert RemoteTable(Options("csv"), lambda task: ["head", said]).look() == ["head"]


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
    found = block_sources((Blocks([3, 4], [5]), Blocks([3, 4])), None)
    assert [part.value for part in found] == [("2:0", "1:0"), ("2:1", "1:1")]
    unknown = block_sources((Blocks([np.nan, np.nan], [5]), Blocks([3, 4])), None)
    assert len(unknown) == 2
    with pytest.raises(ValueError, match="cut into different blocks of rows"):
        block_sources((Blocks([3, 4], [5]), Blocks([4, 3])), None)
    with pytest.raises(ValueError, match="cut by columns, into 2 parts"):
        block_sources((Blocks([3, 4], [2, 3]), Blocks([3, 4])), None)
    with pytest.raises(ValueError, match="cut by columns"):
        block_sources((Blocks([3, 4]), Blocks([3, 4])), None)


def test_a_pair_of_which_one_is_lazy_is_no_pair_of_arrays():
    with pytest.raises(TypeError, match="block 1 must be Rows"):
        block_sources((Blocks([3], [5]), np.zeros(3)), None)


def test_a_frame_needs_its_target():
    frame = Lazy(None)
    frame.columns, frame.to_delayed = ["a", "y"], lambda: ["part"]
    assert [part.name for part in block_sources(frame, "y")] == ["partition 0"]
    for target in (None, "z"):
        with pytest.raises(ValueError, match=f"target={target!r} is no column"):
            block_sources(frame, target)


def test_names_are_files_where_all_are_names(tmp_path):
    assert file_names([tmp_path / "a", "b"]) == [str(tmp_path / "a"), "b"]
    assert file_names("b") == ["b"]
    assert file_names(["a", BLOCKS[0]]) is None
    assert file_names([]) is None
