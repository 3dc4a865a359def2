"""Whole files of every format, and mutations of them.

Some mutations change any bytes. The others know the structure: they change numbers in metadata and
offsets, shapes and types in headers of arrays, and the content of compressed files.
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
ODD_NUMBERS = (
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
DTYPES = (
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
COMPRESSORS = {
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
    """Return one small table in the Arrow formats."""
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
    files = {}
    for name, new_writer in (("stream.arrow", pa.ipc.new_stream), ("file.arrow", pa.ipc.new_file)):
        buffer = io.BytesIO()
        with new_writer(buffer, table.schema) as writer:
            writer.write_table(table, max_chunksize=60)
        files[name] = buffer.getvalue()
    table_without_views = table.drop_columns(["v"])
    for codec in ("lz4", "zstd"):
        buffer = io.BytesIO()
        pa.feather.write_feather(table_without_views, buffer, compression=codec)
        files[f"{codec}.feather"] = buffer.getvalue()
    for codec, is_dictionary in (("none", False), ("snappy", True), ("zstd", True)):
        buffer = io.BytesIO()
        pa.parquet.write_table(
            table_without_views,
            buffer,
            compression=codec,
            use_dictionary=is_dictionary,
            row_group_size=60,
        )
        files[f"{codec}.parquet"] = buffer.getvalue()
    return files


@functools.cache
def whole() -> dict[str, bytes]:
    """Return a whole file of each kind, by a name with its suffix."""
    plain = {
        "a.svm": SVM,
        "a.csv": CSV,
        "a.tsv": TSV,
        "a.vw": VW,
        "a.npz": npz(),
        "deflated.npz": _zipped(_members(npz())),
    }
    compressed = {
        f"{name}{suffix}": COMPRESSORS[suffix](plain[name] * 20)
        for name, suffix in (("a.svm", ".gz"), ("a.vw", ".bz2"), ("a.svm", ".xz"))
    }
    bags = {
        "docword.txt": DOCWORD,
        "bag.txt": TEXT,
        "bag.npz": npz(terms=np.array(["cat", "dog", "mat"]), data=np.arange(6.0)),
    }
    return (
        plain
        | compressed
        | {"a.csv.gz": gzip.compress(CSV, mtime=0), "a.svm.zst": _zstd(SVM * 20)}
        | bags
        | _tables()
    )


# --------------------------------------------------------------------------- mutations
def mutated(name: str, random) -> bytes:
    """Return a whole file with a few errors."""
    content, suffix, mutation = whole()[name], "." + name.rsplit(".", 1)[1], random.random()
    if suffix in (*COMPRESSORS, ".zst") or suffix == ".npz":
        if mutation < 0.002:
            return bomb(suffix)
        if mutation < 0.6:
            return _inside(name, suffix, content, random)
    elif suffix in (".arrow", ".feather", ".parquet") and mutation < 0.7:
        return forged(content, suffix == ".parquet", random)
    return bitten(content, random)


def bitten(content: bytes, random) -> bytes:
    """Return a file with errors anywhere: flipped bits, and inserted, deleted, doubled or truncated
    bytes.
    """
    content = bytearray(content)
    for _ in range(int(random.integers(1, 5))):
        pos, mutation = int(random.integers(0, len(content) + 1)), int(random.integers(0, 6))
        if mutation == 0 and pos < len(content):
            content[pos] ^= 1 << int(random.integers(0, 8))
        elif mutation == 1:
            content[pos:pos] = WORDS[int(random.integers(0, len(WORDS)))]
        elif mutation == 2:
            del content[pos : pos + int(random.integers(1, 9))]
        elif mutation == 3:
            content[pos:pos] = content[pos : pos + int(random.integers(1, 60))]
        elif mutation == 4:
            del content[pos:]
        else:
            content[pos : pos + 1] = bytes([int(random.integers(0, 256))])
    return bytes(content)


def forged(content: bytes, thrift: bool, random) -> bytes:
    """Return a file with numbers overwritten in place: aligned ones of 4 or 8 bytes as in Arrow, or
    of any length as in Parquet's Thrift.
    """
    content = bytearray(content)
    for _ in range(int(random.integers(1, 4))):
        number = (
            int(random.choice(ODD_NUMBERS))
            if random.random() < 0.7
            else int(random.integers(0, 2 * len(content)))
        )
        number = -number if random.random() < 0.3 else number
        if thrift:
            encoded = _varint(2 * number if number >= 0 else -2 * number - 1)
            # The footer, with all that is said of the pages, is the last third.
            first = 4 if random.random() < 0.5 else len(content) * 2 // 3
            pos = int(random.integers(first, len(content) - len(encoded) - 8))
        else:
            width = int(random.choice((4, 8)))
            encoded = (number % 2 ** (8 * width)).to_bytes(width, "little")
            pos = width * int(random.integers(1, len(content) // width - 2))
        content[pos : pos + len(encoded)] = encoded
    return bytes(content)


def _varint(number: int) -> bytes:
    """Return a number in Thrift's encoding, seven bits a byte."""
    encoded = bytearray()
    while number > 127:
        encoded.append(number & 127 | 128)
        number >>= 7
    return bytes(encoded + bytes([number]))


def _inside(name: str, suffix: str, content: bytes, random) -> bytes:
    """Return a file with errors in its content, and valid compression."""
    if suffix != ".npz":
        text = whole()[name.removesuffix(suffix)] * 3
        return (COMPRESSORS.get(suffix) or _zstd)(bitten(text, random))
    members = _members(content)
    key = str(random.choice(sorted(members)))
    members[key] = _wrong_array(members[key], random)
    return _zipped(members, zipfile.ZIP_DEFLATED if random.random() < 0.5 else zipfile.ZIP_STORED)


def _wrong_array(raw: bytes, random) -> bytes:
    """Return an npy with another shape or type in its header, or odd numbers in its body."""
    stream = io.BytesIO(raw)
    npy.read_magic(stream)
    shape, fortran, dtype = npy.read_array_header_1_0(stream)
    body, descr, mutation = (
        bytearray(stream.read()),
        npy.dtype_to_descr(dtype),
        int(random.integers(0, 5)),
    )
    if mutation == 0:
        shape = tuple(int(random.choice(ODD_NUMBERS)) for _ in range(int(random.integers(0, 4))))
    elif mutation == 1:
        descr = str(random.choice(DTYPES))
    elif mutation == 2:
        return bitten(raw, random)
    elif body:
        pos = dtype.itemsize * int(random.integers(0, len(body) // dtype.itemsize))
        number = int(random.choice(ODD_NUMBERS)) * int(random.choice((-1, 1)))
        value = (
            np.array([random.choice((np.nan, np.inf, 1e308, -1e308))])
            if dtype.kind == "f"
            else np.array([number % 2**64], np.uint64)
        )
        body[pos : pos + dtype.itemsize] = value.tobytes()[: dtype.itemsize].ljust(
            dtype.itemsize, b"\xff"
        )
    buffer = io.BytesIO()
    npy.write_array_header_1_0(buffer, {"descr": descr, "fortran_order": fortran, "shape": shape})
    return buffer.getvalue() + bytes(body)


def _members(content: bytes) -> dict[str, bytes]:
    with zipfile.ZipFile(io.BytesIO(content)) as archive:
        return {key: archive.read(key) for key in archive.namelist()}


def _zipped(members: dict[str, bytes], compression: int = zipfile.ZIP_DEFLATED) -> bytes:
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", compression) as archive:
        for key, content in members.items():
            archive.writestr(key, content)
    return buffer.getvalue()


@functools.cache
def bomb(suffix: str) -> bytes:
    """Return a small compressed file with a line, or a row, that would fill the memory."""
    if suffix != ".npz":
        return (COMPRESSORS.get(suffix) or _zstd)(b"1" * BOMB)
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
