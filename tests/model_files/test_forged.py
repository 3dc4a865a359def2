"""Files with a right checksum and a wrong content: refused, and nothing else."""

import copy
import random

import numpy as np
import pytest

from tamis.model_files import ModelFileError, container, load


def deep(levels, wrap):
    """A value inside many others."""
    value = 1
    for _ in range(levels):
        value = wrap(value)
    return value


def change(*keys, to):
    """A forgery: header[key][key]... = to."""

    def forgery(header):
        node = header
        for key in keys[:-1]:
            node = node[key]
        node[keys[-1]] = to(node[keys[-1]]) if callable(to) else to

    return forgery


def block(name, **entries):
    """A forgery of a block's line in the table."""

    def forgery(header):
        header["blocks"][header["attributes"][name]["block"]].update(entries)

    return forgery


def tagged(kind, **entries):
    """A forgery: a new attribute of that type."""

    def forgery(header):
        header["attributes"]["new_"] = {"type": kind, **entries}

    return forgery


def sparse_part(name, dtype):
    """A forgery: other dtype for a part of the sparse matrix."""

    def forgery(header):
        header["blocks"][header["attributes"]["sparse_"][name]["block"]]["dtype"] = dtype

    return forgery


STATE = ["attributes", "draw_", "state", "items"]
FORGERIES = {
    "negative shape": block("coef_", shape=[-50]),
    "negative shapes": block("coef_", shape=[-5, -10]),
    "shape too large": block("coef_", shape=[51]),
    "shape overflow": block("coef_", shape=[2**61, 8]),
    "shape overflow to zero": block("coef_", shape=[2**61, 8, 2**3]),
    "zero times huge": block("coef_", shape=[0, 2**61]),
    "fractional shape": block("coef_", shape=[50.0]),
    "boolean shape": block("mask_", shape=[3, True]),
    "many axes": block("coef_", shape=[1] * 100 + [50]),
    "shape of text": block("coef_", shape="50"),
    "negative offset": block("coef_", offset=-1),
    "offset beyond": block("coef_", offset=10**12),
    "overlap": block("state_", offset=0),
    "negative length": block("coef_", length=-400),
    "length beyond": block("coef_", length=10**15),
    "fractional length": block("coef_", length=400.0),
    "code as dtype": block("coef_", dtype="|O8"),
    "record dtype": block("coef_", dtype=[["a", "<f8"]]),
    "void dtype": block("coef_", dtype="|V8"),
    "empty text": block("text_", dtype="<U0", shape=[10**15]),
    "not a bool": block("coef_", dtype="|b1", shape=[400]),
    "not characters": block("coef_", dtype="<U2", shape=[50]),
    "rows of nothing": block("state_", width=0),
    "negative width": block("state_", width=-2),
    "odd width": block("state_", width=5, rows=1, shape=[1001, 2]),
    "boolean width": block("state_", width=True),
    "rows beyond": block("state_", rows=3),
    "negative rows": block("state_", rows=-2),
    "row out of range": block("state_", shape=[700, 2]),
    "rows of a petabyte": block("state_", shape=[2**47, 2]),
    "rows of text": block("state_", dtype="|S8"),
    "block twice": change("attributes", "mask_", "block", to=0),
    "no such block": change("attributes", "coef_", "block", to=99),
    "block from the end": change("attributes", "coef_", "block", to=-1),
    "boolean block": change("attributes", "coef_", "block", to=True),
    "unused block": change("attributes", "coef_", to=None),
    "no table": change("blocks", to=None),
    "table of text": change("blocks", to=["x"]),
    "empty table": change("blocks", to=[]),
    "deep list": change("attributes", "own_", to=deep(500, lambda v: [v])),
    "deep tuple": change(
        "attributes", "own_", to=deep(200, lambda v: {"type": "tuple", "items": [v]})
    ),
    "deep models": change(
        "parameters",
        "inner",
        to=deep(
            70,
            lambda v: {
                "type": "model",
                "class": "Toy",
                "parameters": {"inner": v},
                "attributes": {},
            },
        ),
    ),
    "no type": tagged(None),
    "unknown type": tagged("pickle"),
    "unhashable type": tagged([]),
    "list as key": tagged("dict", items=[[[1], 2]]),
    "tuple as key": tagged("dict", items=[[{"type": "tuple", "items": []}, 2]]),
    "dict without values": tagged("dict", items=[["a"]]),
    "bad int": tagged("int", hex="zz"),
    "int from a number": tagged("int", hex=3),
    "short float": tagged("float", bits="00"),
    "bad text": tagged("str", hex="ff"),
    "long scalar": tagged("scalar", dtype="<f8", hex="00" * 16),
    "bool of 2": tagged("scalar", dtype="|b1", hex="02"),
    "scalar object": tagged("scalar", dtype="|O8", hex="00" * 8),
    "objects too few": tagged("objects", shape=[10**9], items=[1]),
    "objects nested": tagged("objects", shape=[1], items=[[1]]),
    "objects of models": tagged(
        "objects",
        shape=[1],
        items=[{"type": "model", "class": "Toy", "parameters": {}, "attributes": {}}],
    ),
    "numpy text of a number": tagged("numpy.str_", value=3),
    "unknown term": tagged("term", name="Nobody", fields={}),
    "field of no term": tagged("term", name="Hinge", fields={"x": 1}),
    "lacking field": tagged("term", name="Averaged", fields={}),
    "module as term": tagged("term", name="tamis.terms.losses.Hinge", fields={}),
    "odd term": tagged("term", name=["Hinge"], fields={}),
    "other sparse": change("attributes", "sparse_", "class", to="spmatrix"),
    "sparse shape": change("attributes", "sparse_", "shape", to=[2, 2]),
    "sparse narrow": change("attributes", "sparse_", "shape", to=[3, 2]),
    "sparse of numbers": change("attributes", "sparse_", "indices", to=[0, 1, 2]),
    "sparse float indices": sparse_part("indices", "<f4"),
    "sparse unsigned indices": sparse_part("indptr", "<u4"),
    "other generator": change(*STATE, 0, 1, to="Philox"),
    "generator beyond its key": change(*STATE, 1, 1, "items", 1, 1, to=10**6),
    "generator of text": change(*STATE, 1, 1, "items", 0, 1, to="key"),
    "generator without state": change(*STATE, to=[]),
    "generator, odd gauss": change(*STATE, 3, 1, to="one"),
    "generator, huge state": change(
        "attributes", "modern_", "state", "items", 1, 1, "items", 0, 1, "hex", to="f" * 99
    ),
    "unknown part": tagged("part", **{"class": "Nobody", "attributes": {}}),
    "model as part": tagged("part", **{"class": "Toy", "attributes": {}}),
    "part that does not fit": tagged("part", **{"class": "Wheel", "attributes": {"spokes": 2}}),
    "part without its attributes": tagged("part", **{"class": "Wheel", "attributes": {}}),
    "no versions": change("versions", to=None),
    "no attributes": change("attributes", to=None),
    "parameters in a list": change("parameters", to=[]),
}


# NumPy would refuse many of these too, but later and in words that say nothing about the file.
MESSAGES = {
    **dict.fromkeys(
        (
            "negative shape",
            "negative shapes",
            "boolean shape",
            "fractional shape",
            "many axes",
            "shape of text",
        ),
        "an impossible shape",
    ),
    **dict.fromkeys(
        ("shape too large", "shape overflow", "shape overflow to zero"), "does not fill"
    ),
    **dict.fromkeys(
        ("code as dtype", "record dtype", "void dtype", "empty text", "scalar object"),
        "names the dtype",
    ),
    **dict.fromkeys(
        ("negative offset", "offset beyond", "overlap", "negative length"), "gaps or overlaps"
    ),
    **dict.fromkeys(
        ("rows of nothing", "negative width", "odd width", "boolean width"),
        "does not fit its shape",
    ),
    **dict.fromkeys(("rows beyond", "negative rows", "rows of text"), "does not fit its shape"),
    "rows of a petabyte": "would take 2251799813685248 bytes",
    "empty table": "the table of blocks holds 0 bytes",
    "block twice": "used twice",
    "unused block": "belongs to no attribute",
    "deep list": "nested deeper",
    "deep models": "nested deeper",
    "objects too few": "has 1 items",
    "field of no term": "has no field 'x'",
    "generator beyond its key": "impossible state",
    "part that does not fit": "a wheel of 2 spokes",
    "unknown part": "part 'Nobody' is unknown",
}


@pytest.mark.parametrize("kind", FORGERIES)
def test_forged_headers(kind, path, forge):
    header, blocks = forge.header_and_blocks(path)
    forge.sign(path, header, blocks)
    load(path)
    FORGERIES[kind](header)
    forge.sign(path, header, blocks)
    with pytest.raises(ModelFileError, match=f"model.tamis: .*{MESSAGES.get(kind, '')}"):
        load(path)


@pytest.mark.parametrize(
    "text",
    [
        b"",
        b"[]",
        b"null",
        b"{",
        b"\xff",
        b"[" * 10**6,
        b'{"a":' * 10**5,
        b'{"class": NaN}',
        b'{"class": ' + b"9" * 10**5 + b"}",
    ],
)
def test_forged_texts(text, tmp_path, forge):
    forge.sign(tmp_path / "m", text)
    with pytest.raises(ModelFileError, match="m: "):
        load(tmp_path / "m")


def test_forged_constant(tmp_path, forge):
    forge.sign(
        tmp_path / "m",
        b'{"class": "Toy", "versions": {}, "blocks": [], "parameters": {"alpha": NaN}, '
        b'"attributes": {}}',
    )
    with pytest.raises(ModelFileError, match="holds NaN, which is no JSON"):
        load(tmp_path / "m")


def test_hidden_bytes(path, forge):
    header, blocks = forge.header_and_blocks(path)
    forge.sign(path, header, blocks + b"hidden")
    with pytest.raises(ModelFileError, match=r"table of blocks .* bytes"):
        load(path)


def test_forged_lengths(path):
    for length in (10**19, 10**9):
        content = container.PREAMBLE.format(1, length, 200).encode().ljust(200 - 32, b"{")
        path.write_bytes(content + container.hashlib.sha256(content).digest())
        with pytest.raises(ModelFileError, match="first lines are inconsistent"):
            load(path)


def nodes(node):
    """All (holder, key) of a JSON tree."""
    for key, inside in (
        node.items()
        if isinstance(node, dict)
        else enumerate(node)
        if isinstance(node, list)
        else ()
    ):
        yield node, key
        yield from nodes(inside)


def test_random_forgeries(path, forge):
    """Any other value anywhere: the file loads or is refused, nothing else."""
    draw = random.Random(0)
    original, blocks = forge.header_and_blocks(path)
    wrong = [
        None,
        True,
        -1,
        0,
        1,
        3,
        2**31,
        2**63,
        10**30,
        0.5,
        "",
        "x",
        "<f8",
        "ff",
        [],
        [1],
        [[]],
        {},
        {"type": "tuple"},
    ]
    refused = 0
    for _ in range(300):
        header = copy.deepcopy(original)
        spots = list(nodes(header))
        for holder, key in draw.sample(spots, draw.choice([1, 1, 2, 5])):
            holder[key] = copy.deepcopy(draw.choice([*wrong, draw.choice(spots)[0]]))
        forge.sign(path, header, blocks)
        try:
            load(path)
        except ModelFileError:
            refused += 1
    assert refused > 150


@pytest.mark.parametrize("rows", [[700, 3], [3, 3], [-1, 3], [3, 1000], [-(2**63), 2**63 - 1]])
def test_forged_rows(rows, path, forge):
    header, blocks = forge.header_and_blocks(path)
    node = header["blocks"][header["attributes"]["state_"]["block"]]["offset"]
    blocks = blocks[:node] + np.array(rows, "<i8").tobytes() + blocks[node + 16 :]
    forge.sign(path, header, blocks)
    with pytest.raises(ModelFileError, match="row numbers out of order or range"):
        load(path)


def test_forged_indices(path, forge):
    header, blocks = forge.header_and_blocks(path)
    node = header["blocks"][header["attributes"]["sparse_"]["indices"]["block"]]["offset"]
    forge.sign(
        path, header, blocks[:node] + np.array([10**6], "<i4").tobytes() + blocks[node + 4 :]
    )
    with pytest.raises(ModelFileError, match=r"model.tamis: "):
        load(path)
