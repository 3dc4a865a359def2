"""Models survive the way to disk and back, to the bit."""

import base64
import json
import random
import struct
import tracemalloc
from pathlib import Path

import numpy as np
import pytest
from scipy import sparse

from tamis import FOBOSClassifier
from tamis.model_files import ModelFileError, classes, container, load, save
from tamis.terms.losses import Hinge, Huber
from tamis.terms.optimizers import FTRL, Averaged, Descent

pytestmark = pytest.mark.quick

GOLDEN = Path(__file__).parent / "golden_format_1.txt"
# A nan with a sign and a payload.
NAN = struct.unpack("<d", struct.pack("<Q", 0xFFF8_0000_0000_0123))[0]
# A nan that arithmetic would quieten.
SIGNALING = np.frombuffer(struct.pack("<I", 0x7FA0_0001), "<f4")


def matrix(kind):
    """A small sparse matrix with an explicit zero and unsorted indices."""
    return kind(
        (np.array([1.5, -0.0, 3.0]), np.array([2, 0, 1]), np.array([0, 2, 3])),
        shape=(2, 3) if "csr" in kind.__name__ else (3, 2),
    )


def wide(kind):
    """A sparse matrix whose indices are wider than they need be."""
    result = matrix(kind)
    result.indices, result.indptr = (
        result.indices.astype(np.int64),
        result.indptr.astype(np.int64),
    )
    return result


def advanced(generator):
    """A generator in the middle of its work, with half a draw left over."""
    generator.integers(10, dtype=np.uint32) if isinstance(
        generator, np.random.Generator
    ) else generator.normal()
    return generator


VALUES = {
    "none": None,
    "bools": [True, False],
    "ints": [0, -1, 2**63 - 1, -(2**63), 2**63, -(2**63) - 1, 7**2000, -(10**5000)],
    "floats": [
        0.0,
        -0.0,
        1.0,
        0.1,
        5e-324,
        1.7976931348623157e308,
        1e16,
        float("inf"),
        float("-inf"),
        float("nan"),
        NAN,
    ],
    "str": ["", "plain", "été 数 😀", 'quote " \\ \n \0', "\ud83d\ude00", "\udcff"],
    "bytes": [b"", b"\0\xff", bytes(range(256))],
    "lists": [[], [[]], [1, [2.0, ["3", None]]]],
    "tuples": [(), (1,), ((1, 2.0), [()])],
    "dicts": [
        {},
        {"b": 1, "a": {"": ()}},
        {1: 2, 2.5: 3, False: 4, np.int8(7): 5, np.str_("k"): 6, float("nan"): 7},
    ],
    "numpy scalars": [
        t(1)
        for t in (
            np.bool_,
            np.int8,
            np.uint16,
            np.int64,
            np.float16,
            np.float32,
            np.float64,
            np.complex64,
        )
    ],
    "numpy odd scalars": [
        np.float64(-0.0),
        np.float64(NAN),
        SIGNALING[0],
        np.str_(""),
        np.str_("a\0"),
        np.bytes_(b"x\0"),
    ],
    "numbers": [
        np.arange(6).astype(t).reshape(2, 3)
        for t in (
            "?",
            "i1",
            "i2",
            "i4",
            "i8",
            "u1",
            "u2",
            "u4",
            "u8",
            "f2",
            "f4",
            "f8",
            "c8",
            "c16",
        )
    ],
    "shapes": [
        np.array(2.5),
        np.zeros(0),
        np.ones((0, 3)),
        np.ones((3, 0, 2)),
        np.ones((2, 3, 4)),
        np.ones((1,) * 20),
    ],
    "order": [
        np.arange(12.0).reshape(3, 4).T,
        np.zeros((9, 2)).T,
        np.array([["a", "b"], ["c", "d"]]).T,
    ],
    "odd floats": [
        np.array([0.0, -0.0, NAN, np.inf, 5e-324]),
        np.repeat(SIGNALING, 9),
        np.array([[1, -0.0], [0, 0]]),
    ],
    "text": [
        np.array(["a", "longer", "é\0x"]),
        np.array([b"x", b"yy\0z"]),
        np.array([["", "a"]]),
        np.zeros(0, "U3"),
    ],
    "objects": [
        np.array(["a", None, 3, 2.5, True, "é"], object),
        np.array([[1], ["b"]], object),
        np.zeros((0, 2), object),
    ],
    "sparse": [f(k) for f in (matrix, wide) for k in classes.SPARSE_CLASSES.values()],
    "sparse data": [sparse.csr_array((2, 3), dtype="?"), sparse.csc_matrix(np.eye(3, dtype="c8"))],
    "terms": [
        Hinge(),
        Huber(2.0),
        Averaged(Descent(3.0)),
        Averaged(Averaged(FTRL(0.5))),
        {"in": [Hinge(np.float32(0.1))]},
    ],
    "generators": [advanced(np.random.default_rng(3)), np.random.Generator(np.random.MT19937(4))],
    "random states": [
        advanced(np.random.RandomState(5)),
        np.random.RandomState(6),
        advanced(np.random.RandomState(np.random.PCG64(7))),
    ],
}


@pytest.mark.parametrize("kind", VALUES)
def test_every_type_comes_back(kind, toy, same, tmp_path):
    model = toy(alpha=VALUES[kind], inner=toy(loss=VALUES[kind])).holding(kept_=VALUES[kind])
    save(model, tmp_path / "m")
    again = load(tmp_path / "m")
    assert type(again) is toy
    assert same(model, again)


def test_sparse_vectors_come_back(toy, same, tmp_path):
    model = toy().holding(kept_=sparse.csr_array(np.array([0.0, 2.0, 0.0])))
    save(model, tmp_path / "m")
    assert same(model, load(tmp_path / "m"))


def any_value(draw, depth=0):
    """A random value, nested at random."""
    leaves = [value for group in VALUES.values() for value in (group or [None])]
    choice = draw.random()
    if depth > 4 or choice < 0.4:
        return draw.choice(leaves)
    inside = [any_value(draw, depth + 1) for _ in range(draw.randrange(4))]
    if choice < 0.6:
        return inside
    return (
        tuple(inside)
        if choice < 0.8
        else {draw.choice(["a", 1, 2.5, np.int32(3), "b"]): value for value in inside}
    )


def test_nested_values_come_back(toy, same, tmp_path):
    draw = random.Random(0)
    for _ in range(60):
        model = toy().holding(kept_=any_value(draw))
        save(model, tmp_path / "m")
        assert same(model, load(tmp_path / "m"))


@pytest.mark.parametrize(
    "shape", [(1, 9000), (9000,), (3000, 3), (3, 3000), (30, 10, 30), (2, 200_000)]
)
@pytest.mark.parametrize("dtype", ["f8", "f4", "i8", "?", ">f8"])
@pytest.mark.parametrize("share", [0.0, 0.01, 0.3, 1.0])
def test_arrays_of_all_densities_come_back(shape, dtype, share, toy, same, tmp_path):
    draw = np.random.default_rng(0)
    array = ((draw.random(shape) < share) * draw.integers(1, 9, shape)).astype(dtype)
    for kept in (
        array,
        np.asfortranarray(array),
        np.repeat(array, 2, axis=0)[::2],
        np.broadcast_to(array, array.shape),
    ):
        save(toy().holding(kept_=kept), tmp_path / "m")
        again = load(tmp_path / "m").kept_
        assert again.flags.f_contiguous >= kept.flags.f_contiguous
        assert same(
            np.ascontiguousarray(again),
            np.ascontiguousarray(array.astype(array.dtype.newbyteorder("="))),
        )
        assert again.flags.writeable
        assert (tmp_path / "m").stat().st_size < array.nbytes * min(1, 10 * share + 0.1) + 1500


def test_rows_of_zeros_take_no_room(toy, same, tmp_path):
    state = np.zeros((1_000_000, 2))
    state[np.arange(10) * 99_999] = np.random.default_rng(0).normal(size=(10, 2))
    state[5, 1] = -0.0
    coefficients = np.ascontiguousarray(state[:, :1].T)
    save(toy().holding(state_=state, coef_=coefficients, mask_=state[:, 0] != 0), tmp_path / "m")
    assert (tmp_path / "m").stat().st_size < 4_000
    again = load(tmp_path / "m")
    assert same(again.state_, state)
    assert same(again.coef_, coefficients)


def test_memory_is_bounded(toy, forge, tmp_path):
    model = toy().holding(
        dense_=np.ones((4_000_000, 2)),
        apart_=np.ones((1_000_000, 8))[:, :4],
        half_=np.tile([[0.0], [1.0], [0.0]], (1_000_000, 1)),
    )
    tracemalloc.start()
    try:
        save(model, tmp_path / "m")
        saving = tracemalloc.get_traced_memory()[1]
        tracemalloc.reset_peak()
        again = load(tmp_path / "m")
        loading = tracemalloc.get_traced_memory()[1] - sum(
            vars(again)[n].nbytes for n in ("dense_", "apart_", "half_")
        )
    finally:
        tracemalloc.stop()
    assert "width" in forge.header_and_blocks(tmp_path / "m")[0]["blocks"][2]
    assert saving < 8_000_000
    assert loading < 16_000_000


def test_same_model_same_bytes(toy, tmp_path):
    first = toy(loss=Hinge()).holding(
        b_=np.eye(3), a_={"z": 1, "y": np.float64(2)}, rows_=np.zeros(50)
    )
    second = toy().holding(
        rows_=np.zeros(50), a_={"z": 1, "y": np.float64(2)}, b_=np.repeat(np.eye(3), 2, axis=0)[::2]
    )
    second.set_params(loss=Hinge())
    save(first, tmp_path / "first")
    save(second, str(tmp_path / "second"))
    save(load(tmp_path / "first"), tmp_path / "third")
    assert (
        (tmp_path / "first").read_bytes()
        == (tmp_path / "second").read_bytes()
        == (tmp_path / "third").read_bytes()
    )


def test_people_can_read_the_start(toy, forge, tmp_path):
    names = np.array([f"feature {i}" for i in range(200)], object)
    save(toy(loss=Huber(2.0)).holding(n_features_in_=200, feature_names_in_=names), tmp_path / "m")
    start = (tmp_path / "m").read_bytes()[:1500].decode("ascii")
    assert all(character.isprintable() or character == "\n" for character in start)
    assert start.startswith("TAMIS MODEL\nformat 0001\n")
    for words in (
        '"class": "Toy"',
        '"alpha": 0.0001',
        '"tamis": "1.2.3"',
        '"Huber"',
        '"features": 200',
        '"feature 3"',
        f'"numpy": "{np.__version__}"',
    ):
        assert words in start
    assert list(forge.header_and_blocks(tmp_path / "m")[0]["versions"]) == [
        "tamis",
        "numpy",
        "scipy",
        "scikit-learn",
        "python",
    ]


def test_older_parameters_take_their_defaults(toy, forge, tmp_path):
    save(toy(alpha=3.0), tmp_path / "m")
    header, blocks = forge.header_and_blocks(tmp_path / "m")
    del header["parameters"]["loss"]
    forge.sign(tmp_path / "m", header, blocks)
    assert load(tmp_path / "m").get_params() == {"alpha": 3.0, "loss": "hinge", "inner": None}


def test_parts_come_back(toy, wheel, same, tmp_path):
    model = toy(inner=toy()).holding(
        _wheel=wheel(spokes=5, state=np.zeros((1000, 2)).T, loss=Hinge(), inner=wheel(spokes=4))
    )
    save(model, tmp_path / "m")
    assert same(model, load(tmp_path / "m"))
    assert (tmp_path / "m").stat().st_size < 2_000


@pytest.mark.parametrize("n_classes", [2, 3])
def test_models_of_tamis_go_on(n_classes, tmp_path):
    draw = np.random.default_rng(0)
    rows = sparse.csr_array(
        (draw.normal(size=300), draw.integers(0, 1_000_000, 300), np.arange(0, 301, 5)),
        (60, 1_000_000),
    )
    classes_ = np.arange(n_classes)
    targets = draw.permutation(np.resize(classes_, 60))
    model = FOBOSClassifier().partial_fit(rows[:30], targets[:30], classes=classes_)
    save(model, tmp_path / "m")
    assert (tmp_path / "m").stat().st_size < 30_000
    again = load(tmp_path / "m")
    assert again.decision_function(rows).tobytes() == model.decision_function(rows).tobytes()
    for each in (model, again):
        each.partial_fit(rows[30:], targets[30:])
    assert again.coef_.tobytes() == model.coef_.tobytes()
    assert again.coef_.any()


def golden(toy):
    """The model in the golden file."""
    state = np.zeros((40, 2))
    state[[3, 30]] = [[1.5, -0.0], [0.1, np.inf]]
    own = {
        "n": None,
        "t": (True, -(2**70)),
        "f": [0.1, -0.0, NAN],
        2: "é\udcff",
        np.int8(3): b"\0\xff",
        "s": np.float32(0.1),
    }
    return toy(
        loss=Averaged(Hinge(0.5)), inner=toy(alpha=2).holding(text_=np.array(["a", "été"]))
    ).holding(
        coef_=np.arange(6, dtype=">f4").reshape(2, 3),
        state_=state,
        turned_=np.arange(6.0).reshape(2, 3).T,
        names_=np.array(["x", None], object),
        sparse_=matrix(sparse.csr_array),
        draw_=advanced(np.random.default_rng(0)),
        own_=own,
        n_features_in_=3,
    )


@pytest.mark.own_seeds
def test_golden_file_of_format_1(toy, same, forge, tmp_path, monkeypatch):
    """A file written by the first tamis loads for ever; do not write it anew, add a second one."""
    path = tmp_path / "golden"
    path.write_bytes(base64.b64decode(GOLDEN.read_text()))
    expected = golden(toy)
    expected.coef_ = expected.coef_.astype("f4")
    assert same(load(path), expected)
    if container.FORMAT == 1:
        versions = forge.header_and_blocks(path)[0]["versions"]
        monkeypatch.setattr(classes, "versions", lambda: versions)
        save(load(path), tmp_path / "again")
        assert (tmp_path / "again").read_bytes() == path.read_bytes()


def test_what_is_long_lies_in_a_block(toy, same, tmp_path, forge):
    """The columns of wide tables, which no header could hold."""
    names = [f"column {k} \N{SNOWMAN}" for k in range(80_000)]
    save(toy().holding(names_=names, coef_=np.arange(3.0)), tmp_path / "m")
    header, _ = forge.header_and_blocks(tmp_path / "m")
    assert len(json.dumps(header)) < 2000
    again = load(tmp_path / "m")
    assert same(again.names_, names)
    assert same(again.coef_, np.arange(3.0))
    save(again, tmp_path / "n")
    assert (tmp_path / "m").read_bytes() == (tmp_path / "n").read_bytes()
    header["blocks"][0]["dtype"] = "|i1"
    forge.sign(tmp_path / "m", header, forge.header_and_blocks(tmp_path / "n")[1])
    with pytest.raises(ModelFileError):
        load(tmp_path / "m")
