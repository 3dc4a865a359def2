"""Whole files of every format that is read, and mutations of them.

Some mutations bite anywhere in the file. The others know its structure: numbers are forged where
metadata and offsets keep them, headers of arrays say other shapes and kinds, and what is packed is
wrong inside while the packing is whole.
"""

import bz2
import functools
import gzip
import io
import lzma
import zipfile

import numpy as np
from data.corpus import CSV, SVM, TSV, VW, npz
from numpy.lib import format as npy

WORDS = [
    b"nan",
    b"inf",
    b"1e999",
    b"-",
    b":",
    b"::",
    b",",
    b"#",
    b"|",
    b'"',
    b'""',
    b"\n",
    b"\r",
    b"\r\n",
    b"\x00",
    b"\xff\xfe",
    b" ",
    b"\t",
]
WORDS += [
    b"qid:",
    b"9223372036854775808",
    b"18446744073709551616",
    b"0",
    b"1e-400",
    b".5",
    b"5.",
    b"'",
    b"NA",
    b"e",
    b"\xef\xbb\xbf",
    b"1e308",
]
WORDS += [
    b"0" * 40,
    b"1" * 25,
    b"9" * 400,
    b"-" + b"9" * 400,
    b"0." + b"9" * 400,
    b"\xed\xa0\x80",
    b"4294967297",
]
ODD = (
    0,
    1,
    2,
    7,
    255,
    256,
    65535,
    2**20,
    2**31 - 1,
    2**31,
    2**32 - 1,
    2**32,
    2**40,
    2**62,
    2**63 - 1,
)
KINDS = (
    "<f8",
    "<f4",
    ">f8",
    "<f2",
    "<f16",
    "<i8",
    "<i4",
    "|i1",
    "<u8",
    ">i4",
    "|b1",
    "<c16",
    "|O",
    "<U4",
    "|S4",
    "<U1000000000",
    "|V8",
    "<M8[s]",
    "<m8[s]",
)
PACKS = {
    ".gz": functools.partial(gzip.compress, mtime=0),
    ".bz2": bz2.compress,
    ".xz": lzma.compress,
}
DOCWORD = b"4\n3\n6\n1 1 2\n1 3 1\n2 2 5\n3 1 1\n4 1 1\n4 2 7\n"
TEXT = b"the cat sat on the mat\na dog, a cat and a hen\n\nmats don't sit\n"
BOMB = 80 << 20  # bytes that a small file stands for: more than a line may have


def _zstd(content: bytes) -> bytes:
    import pyarrow

    return pyarrow.compress(content, "zstd", asbytes=True)


def _tables() -> dict[str, bytes]:
    """The same small table in the Arrow formats."""
    import pyarrow as pa
    import pyarrow.feather
    import pyarrow.parquet

    words, n = ["red", "blue", "green, dark", "übel"], 160
    columns = {
        "a": np.linspace(-3, 3, n),
        "b": np.arange(n, dtype=np.int32),
        "w": np.resize(words, n),
        "h": np.linspace(0, 2, n),
    }
    table = pa.table(
        columns
        | {
            "d": pa.array(columns["w"]).dictionary_encode(),
            "l": pa.array(columns["w"].tolist(), pa.large_string()),
            "t": np.arange(n) % 2 == 0,
        }
        | {"v": pa.array(columns["w"].tolist(), pa.string_view()), "y": np.resize(["yes", "no"], n)}
    )
    found = {}
    for name, new in (("stream.arrow", pa.ipc.new_stream), ("file.arrow", pa.ipc.new_file)):
        store = io.BytesIO()
        with new(store, table.schema) as writer:
            writer.write_table(table, max_chunksize=60)
        found[name] = store.getvalue()
    plain = table.drop_columns(["v"])
    for codec in ("lz4", "zstd"):
        store = io.BytesIO()
        pa.feather.write_feather(plain, store, compression=codec)
        found[f"{codec}.feather"] = store.getvalue()
    for codec, listed in (("none", False), ("snappy", True), ("zstd", True)):
        store = io.BytesIO()
        pa.parquet.write_table(
            plain, store, compression=codec, use_dictionary=listed, row_group_size=60
        )
        found[f"{codec}.parquet"] = store.getvalue()
    return found


@functools.cache
def whole() -> dict[str, bytes]:
    """A whole file of each kind, by a name whose suffix says what it is."""
    plain = {
        "a.svm": SVM,
        "a.csv": CSV,
        "a.tsv": TSV,
        "a.vw": VW,
        "a.npz": npz(),
        "deflated.npz": _zipped(_members(npz())),
    }
    packed = {
        f"{name}{suffix}": PACKS[suffix](plain[name] * 20)
        for name, suffix in (("a.svm", ".gz"), ("a.vw", ".bz2"), ("a.svm", ".xz"))
    }
    bags = {
        "docword.txt": DOCWORD,
        "bag.txt": TEXT,
        "bag.npz": npz(terms=np.array(["cat", "dog", "mat"]), data=np.arange(6.0)),
    }
    return (
        plain
        | packed
        | {"a.csv.gz": gzip.compress(CSV, mtime=0), "a.svm.zst": _zstd(SVM * 20)}
        | bags
        | _tables()
    )


# --------------------------------------------------------------------------- mutations
def mutated(name: str, random) -> bytes:
    """A whole file with a few things wrong."""
    content, suffix, turn = whole()[name], "." + name.rsplit(".", 1)[1], random.random()
    if suffix in (*PACKS, ".zst") or suffix == ".npz":
        if turn < 0.002:
            return bomb(suffix)
        if turn < 0.6:
            return _inside(name, suffix, content, random)
    elif suffix in (".arrow", ".feather", ".parquet") and turn < 0.7:
        return forged(content, suffix == ".parquet", random)
    return bitten(content, random)


def bitten(content: bytes, random) -> bytes:
    """Wrong anywhere: bits turned, words put in, bytes taken out, doubled or cut off."""
    content = bytearray(content)
    for _ in range(int(random.integers(1, 5))):
        at, turn = int(random.integers(0, len(content) + 1)), int(random.integers(0, 6))
        if turn == 0 and at < len(content):
            content[at] ^= 1 << int(random.integers(0, 8))
        elif turn == 1:
            content[at:at] = WORDS[int(random.integers(0, len(WORDS)))]
        elif turn == 2:
            del content[at : at + int(random.integers(1, 9))]
        elif turn == 3:
            content[at:at] = content[at : at + int(random.integers(1, 60))]
        elif turn == 4:
            del content[at:]
        else:
            content[at : at + 1] = bytes([int(random.integers(0, 256))])
    return bytes(content)


def forged(content: bytes, thrift: bool, random) -> bytes:
    """Numbers overwritten in place, nothing moved: aligned ones of 4 or 8 bytes as Arrow has them,
    or of any length as Parquet's Thrift has them.
    """
    content = bytearray(content)
    for _ in range(int(random.integers(1, 4))):
        number = (
            int(random.choice(ODD))
            if random.random() < 0.7
            else int(random.integers(0, 2 * len(content)))
        )
        number = -number if random.random() < 0.3 else number
        if thrift:
            piece = _varint(2 * number if number >= 0 else -2 * number - 1)
            # The footer, with all that is said of the pages, is the last third.
            first = 4 if random.random() < 0.5 else len(content) * 2 // 3
            at = int(random.integers(first, len(content) - len(piece) - 8))
        else:
            width = int(random.choice((4, 8)))
            piece = (number % 2 ** (8 * width)).to_bytes(width, "little")
            at = width * int(random.integers(1, len(content) // width - 2))
        content[at : at + len(piece)] = piece
    return bytes(content)


def _varint(number: int) -> bytes:
    """Seven bits a byte, as Thrift writes numbers."""
    found = bytearray()
    while number > 127:
        found.append(number & 127 | 128)
        number >>= 7
    return bytes(found + bytes([number]))


def _inside(name: str, suffix: str, content: bytes, random) -> bytes:
    """Wrong inside, the packing whole."""
    if suffix != ".npz":
        text = whole()[name.removesuffix(suffix)] * 3
        return (PACKS.get(suffix) or _zstd)(bitten(text, random))
    members = _members(content)
    key = str(random.choice(sorted(members)))
    members[key] = _wrong_array(members[key], random)
    return _zipped(members, zipfile.ZIP_DEFLATED if random.random() < 0.5 else zipfile.ZIP_STORED)


def _wrong_array(raw: bytes, random) -> bytes:
    """An npy with another shape or kind in its head, or with odd numbers in its body."""
    stream = io.BytesIO(raw)
    npy.read_magic(stream)
    shape, fortran, kind = npy.read_array_header_1_0(stream)
    body, head, turn = (
        bytearray(stream.read()),
        npy.dtype_to_descr(kind),
        int(random.integers(0, 5)),
    )
    if turn == 0:
        shape = tuple(int(random.choice(ODD)) for _ in range(int(random.integers(0, 4))))
    elif turn == 1:
        head = str(random.choice(KINDS))
    elif turn == 2:
        return bitten(raw, random)
    elif body:
        at = kind.itemsize * int(random.integers(0, len(body) // kind.itemsize))
        number = int(random.choice(ODD)) * int(random.choice((-1, 1)))
        wrong = (
            np.array([random.choice((np.nan, np.inf, 1e308, -1e308))])
            if kind.kind == "f"
            else np.array([number % 2**64], np.uint64)
        )
        body[at : at + kind.itemsize] = wrong.tobytes()[: kind.itemsize].ljust(
            kind.itemsize, b"\xff"
        )
    store = io.BytesIO()
    npy.write_array_header_1_0(store, {"descr": head, "fortran_order": fortran, "shape": shape})
    return store.getvalue() + bytes(body)


def _members(content: bytes) -> dict[str, bytes]:
    with zipfile.ZipFile(io.BytesIO(content)) as archive:
        return {key: archive.read(key) for key in archive.namelist()}


def _zipped(members: dict[str, bytes], how: int = zipfile.ZIP_DEFLATED) -> bytes:
    store = io.BytesIO()
    with zipfile.ZipFile(store, "w", how) as archive:
        for key, content in members.items():
            archive.writestr(key, content)
    return store.getvalue()


@functools.cache
def bomb(suffix: str) -> bytes:
    """A small file that stands for a line, or a row, which would fill the memory."""
    if suffix != ".npz":
        return (PACKS.get(suffix) or _zstd)(b"1" * BOMB)
    n = BOMB // 4
    return _zipped(
        _members(
            npz(
                data=np.zeros(n, np.int8),
                indices=np.zeros(n, np.int32),
                indptr=np.array([0, n]),
                shape=np.array([1, 3]),
                y=np.zeros(1),
            )
        )
    )
