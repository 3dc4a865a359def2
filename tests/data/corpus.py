"""Files to be read, and bad files to be refused."""

import bz2
import gzip
import io
import lzma
import zipfile

import numpy as np
import scipy.sparse as sp
from numpy.lib import format as npy

SVM = (
    b"+1 1:0.5 3:2 7:1e-3 # first\n-1 2:1 3:-4.25\n# alone\n\n1 qid:3 1:1 2:2\n-1 5:0.1 1:3 5:0.2\n"
)
CSV = b'age,colour,size,y\n1.5,red,2,yes\n-3,"blue, dark",1e3,no\n0.25,red,7,yes\n2,green,0,no\n'
TSV = CSV.replace(b'"blue, dark"', b"blue").replace(b",", b"\t")
VW = b"1 2.0 'tag|a x:1.5 y |b:2 z\n-1 |a x |b w:3\n1 | plain words:2 here\n"


def npz(**more) -> bytes:
    X = sp.csr_array(np.array([[0, 1.5, 0], [2, 0, 0], [0, 0, -1], [1, 1, 1.0]]))
    buffer, arrays = (
        io.BytesIO(),
        {
            "data": X.data,
            "indices": X.indices,
            "indptr": X.indptr,
            "shape": np.array(X.shape),
            "y": np.array([0, 1, 0, 1]),
        },
    )
    np.savez(buffer, **{k: v for k, v in (arrays | more).items() if v is not None})
    return buffer.getvalue()


def _zip(**files) -> bytes:
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as archive:
        for name, content in files.items():
            archive.writestr(f"{name}.npy", content)
    return buffer.getvalue()


def _zstd(content: bytes) -> bytes:
    import pyarrow

    return pyarrow.compress(content, "zstd", asbytes=True)


def _far_row() -> bytes:
    """Return an archive whose row claims many entries; they are refused before they are read."""
    members, n = {}, 20 << 20
    for key, dtype in (("data", "<f8"), ("indices", "<i4")):
        buffer = io.BytesIO()
        npy.write_array_header_1_0(buffer, {"descr": dtype, "fortran_order": False, "shape": (n,)})
        members[key] = buffer.getvalue()
    arrays = {"indptr": np.array([0, n]), "shape": np.array([1, 3]), "y": np.zeros(1)}
    for key, array in arrays.items():
        buffer = io.BytesIO()
        npy.write_array(buffer, array)
        members[key] = buffer.getvalue()
    return _zip(**members)


def arrow(**columns) -> bytes:
    """A table as Arrow IPC."""
    import pyarrow as pa

    table, buffer = pa.table(columns), io.BytesIO()
    with pa.ipc.new_file(buffer, table.schema) as writer:
        writer.write_table(table)
    return buffer.getvalue()


def _offset() -> bytes:
    """A string column whose second offset points far beyond its bytes."""
    import pyarrow as pa

    words = pa.StringArray.from_buffers(
        3, pa.py_buffer(np.array([0, 2**30, 2**30 + 4, 6], np.int32)), pa.py_buffer(b"abcdef")
    )
    return arrow(w=words, y=[0.0, 1.0, 0.0])


def _code() -> bytes:
    """Return a dictionary column with a code that has no word."""
    import pyarrow as pa

    words = pa.DictionaryArray.from_arrays(
        pa.array([0, 1, 1 << 20], pa.int32()), pa.array(["u", "v"]), safe=False
    )
    return arrow(w=words, y=[0.0, 1.0, 0.0])


def _bytes_as_text() -> bytes:
    """A string column that is no UTF-8."""
    import pyarrow as pa

    return arrow(
        w=pa.StringArray.from_buffers(
            2, pa.py_buffer(np.array([0, 2, 4], np.int32)), pa.py_buffer(b"ab\xff\xfe")
        ),
        y=[0.0, 1.0],
    )


LONG = b"9" * 400  # digits in a row
EDGE = str(2**1024 - 2**970).encode()  # the least number that is not finite
WHOLE = {
    "a.svm": SVM,
    "a.csv": CSV,
    "a.tsv": TSV,
    "a.vw": VW,
    "a.npz": npz(),
    "a.svm.gz": gzip.compress(SVM * 20, mtime=0),
}

# Name: (content, words that the refusal must hold). The name's suffix is the file's.
BAD = {
    # svmlight
    "empty.svm": (b"", "no rows"),
    "comments.svm": (b"# one\n#two\n\n", "no rows"),
    "blank.svm": (b"\n\n  \n\t\n", "no rows"),
    "label.svm": (b"1 1:1\nspam 1:1\n", "line 2, column 1: label 'spam'"),
    "label-word.svm": (b"1x 1:1\n", "line 1, column 1: label '1x'"),
    "label-nan.svm": (b"1 1:1\nnan 1:1\n", "line 2, column 1: 'nan' is not finite"),
    "label-inf.svm": (b"-inf 1:1\n", "is not finite"),
    "label-overflow.svm": (b"1e999 1:1\n", "is not finite"),
    "label-comma.svm": (b"1, 1:1\n", "line 1"),
    "no-label.svm": (b"1 1:1\n\n# x\n1:1 2:2\n", "line 4: the line has no label"),
    "value.svm": (b"1 1:1 2:x\n", "line 1, column 9: the value in 'x'"),
    "value-nan.svm": (b"1 1:1\n1 1:nan\n", "line 2, column 5: 'nan' is not finite"),
    "value-inf.svm": (b"1 1:inf\n", "'inf' is not finite"),
    "value-huge.svm": (b"1 1:1e309\n", "is not finite"),
    "value-long-huge.svm": (b"1 1:" + b"9" * 400 + b"\n", "line 1"),
    "label-long.svm": (b"1 1:1\n" + LONG + b" 1:1\n", "line 2, column 1: '99999"),
    "label-edge.svm": (EDGE + b" 1:1\n", "is not finite"),
    "value-long.svm": (b"1 1:1\n1 3:" + LONG + b"\n", "line 2, column 5: '99999"),
    "sum.svm": (b"1 1:1\n1 2:1e308 2:1e308\n", "line 2: column 2 stands there several times"),
    "value-empty.svm": (b"1 1:\n", "line 1"),
    "value-hex.svm": (b"1 1:0x10\n", "the value in '0x10'"),
    "value-exponent.svm": (b"1 1:1e\n", "line 1"),
    "value-dot.svm": (b"1 1:.\n", "line 1"),
    "value-two-dots.svm": (b"1 1:1.2.3\n", "line 1"),
    "value-comma.svm": (b"1 1:1,5\n", "'1,5'"),
    "value-underscore.svm": (b"1 1:1_0\n", "'1_0'"),
    "no-colon.svm": (b"1 1:1 2 3:1\n", "column 7: '2' is no feature"),
    "word.svm": (b"1 a:1\n", "'a:1' is no feature"),
    "negative.svm": (b"1 -1:1\n", "'-1:1' is no feature"),
    "fraction.svm": (b"1 1.5:1\n", "'1.5:1' is no feature"),
    "huge-index.svm": (b"1 9223372036854775808:1\n", "2^63"),
    "huge-index-0.svm": (b"1 0:1 9223372036854775807:1\n", "2^63"),
    "long-index.svm": (b"1 " + b"9" * 60 + b":1\n", "2^63"),
    "query.svm": (b"1 qid:x 1:1\n", "'qid:x' is no query number"),
    "query-short.svm": (b"1 q\n", "is no query number"),
    "query-huge.svm": (b"1 qid:99999999999999999999 1:1\n", "is no query number"),
    "nul.svm": (b"1 1:1\n1 \x00:1\n", "line 2, column 3: a NUL byte"),
    "nuls.svm": (b"\x00" * 100, "NUL byte"),
    "utf16.svm": ("1 1:1\n".encode("utf-16"), "UTF-16"),
    "table.svm": (CSV, "line 1, column 1"),
    "old-mac.svm": (b"1 1:1\r1 2:1\r", "line 1"),
    "binary.svm": (bytes(range(256)) * 4, "line 1"),
    # compression
    "cut.svm.gz": (gzip.compress(SVM * 2000, mtime=0)[:-20], "cut short or damaged"),
    "cut.svm.bz2": (bz2.compress(SVM * 50)[:-10], "cut short or damaged"),
    "cut.svm.xz": (lzma.compress(SVM * 50)[:-10], "cut short or damaged"),
    "flipped.svm.gz": (
        gzip.compress(SVM * 50, mtime=0)[:30]
        + b"\xff\xff\xff\xff"
        + gzip.compress(SVM * 50, mtime=0)[34:],
        "damaged",
    ),
    "plain.svm.gz": (SVM, "does not begin as such a file does"),
    "cut.svm.zst": (_zstd(SVM * 50)[:-10], "cut short or damaged"),
    "flipped.svm.zst": (
        _zstd(SVM * 50)[:8] + b"\xff\xff\xff\xff" + _zstd(SVM * 50)[12:],
        "damaged",
    ),
    "behind.svm.zst": (_zstd(SVM) + b"more", "damaged"),
    # tables
    "empty.csv": (b"", "no header"),
    "header.csv": (b"a,b,y\n", "no rows"),
    "numbers.csv": (b"1,2,3\n4,5,6\n", "holds numbers alone"),
    "twice.csv": (b"a,a,y\n1,2,3\n", "two columns are named 'a'"),
    "one.csv": (b"a\n1\n", "one column only"),
    "few.csv": (b"a,b,y\n1,2,0\n1,2\n", "line 3, column 1: the record has 2 fields, the header 3"),
    "many.csv": (b"a,b,y\n1,2,0\n1,2,3,4\n", "line 3"),
    "open-quote.csv": (b'a,b,y\n1,2,0\n1,"2,0\n', "never closed"),
    "after-quote.csv": (b'a,b,y\n1,"2"x,0\n', "after a closing quote"),
    "late-word.csv": (
        b"a,b,y\n" + b"1,2,0\n" * 1200 + b"x,2,0\n",
        "line 1202, column 1: 'x' in column 'a' is no number",
    ),
    "missing.csv": (b"a,b,y\n1,2,0\n1,,0\n", "gaps in b (1 row, the first in line 3)"),
    "na.csv": (b"a,b,y\n1,NA,0\n1,2,0\n", "gaps in b (1 row, the first in line 2)"),
    "inf.csv": (b"a,b,y\n1,2,0\n1,inf,0\n", "'inf' in column 'b' is not finite"),
    "long.csv": (b"a,b,y\n1,2,0\n1," + LONG + b",0\n", "line 3, column 3: '99999"),
    "target-long.csv": (b"a,b,y\n1,2,0\n1,2," + LONG + b"\n", "line 3, column 5: '99999"),
    "target-edge.csv": (b"a,b,y\n1,2,0\n1,2," + EDGE + b"\n", "in column 'y' is not finite"),
    "nul.csv": (b"a,b,y\n1,2,0\n1,\x00,0\n", "NUL byte"),
    "nul-header.csv": (b"a,\x00,y\n1,2,0\n", "NUL byte"),
    "blank-header.csv": (b"\na,b\n1,2\n", "no header"),
    # Vowpal Wabbit
    "empty.vw": (b"", "no rows"),
    "label.vw": (b"x |a b\n", "label 'x' is no number"),
    "cost.vw": (b"1:2 |a b\n", "line 1, column 1"),
    "no-bar.vw": (b"1 a b\n", "line 1"),
    "no-label.vw": (b"1 |a b\n\n|a b\n", "line 3: the row has no label"),
    "weight.vw": (b"1 -2 |a b\n", "importance"),
    "value.vw": (b"1 |a b:x\n", "the value in 'b:x'"),
    "value-nan.vw": (b"1 |a b:nan\n", "is not finite"),
    "label-long.vw": (b"1 |a b\n" + LONG + b" |a b\n", "line 2, column 1: '99999"),
    "weight-long.vw": (b"1 " + LONG + b" |a b\n", "line 1, column 3: '99999"),
    "weight-long-negative.vw": (b"1 -" + b"0" * 30 + b"1" * 25 + b" |a b\n", "importance"),
    "value-long.vw": (b"1 |a b\n1 |a b:" + LONG + b"\n", "is not finite"),
    "value-scaled.vw": (
        b"1 |a b\n1 |a:1e300 b:1e300\n",
        "line 2, column 12: 'b:1e300' is not finite",
    ),
    "sum.vw": (b"1 |a b\n1 |a b:1e308 b:1e308\n", "line 2: features that fall into one column"),
    "scale.vw": (b"1 |a:x b\n", "the scale in"),
    # arrays
    "empty.npz": (b"", "cannot be read as npz"),
    "no-zip.npz": (b"PK\x03\x04 no", "cannot be read as npz"),
    "encrypted.npz": (
        npz().replace(b"PK\x01\x02-\x03-\x00\x00\x00", b"PK\x01\x02-\x03-\x00\x01\x00"),
        "encrypted",
    ),
    "cut.npz": (npz()[:-40], "cannot be read as npz"),
    "no-data.npz": (npz(data=None), "holds no array 'data'"),
    "no-targets.npz": (npz(y=None), "holds no array 'y'"),
    "nan.npz": (npz(data=np.array([1, 1, np.nan, 1, 1, 1])), "row 3: a value"),
    "sum.npz": (
        npz(data=np.array([1, 1, 1, 1e308, 1e308, 1]), indices=np.array([1, 0, 2, 0, 0, 2])),
        "row 4: a value, or the sum",
    ),
    "target.npz": (npz(y=np.array([0, np.inf, 0, 1])), "row 2: the target is nan or infinite"),
    "targets.npz": (npz(y=np.array([0, 1, 0])), "its targets are of shape (3,) for 4 rows"),
    "many-targets.npz": (npz(y=np.array([[0, 300]] * 4)), "several targets a row must be 0 or 1"),
    "code-point.npz": (
        npz(y=np.frombuffer(b"\xff\xff\xff\x7f" * 4, "<U1")),
        "cannot be read as npz",
    ),
    "dates.npz": (npz(y=np.zeros(4, "M8[s]")), "must hold numbers or words"),
    "first.npz": (npz(indptr=np.array([1, 2, 3, 4, 6])), "indptr begins with 1"),
    "wide.npz": (_far_row(), "row 1: it has 20,971,520 entries"),
    "column.npz": (npz(indices=np.array([5, 0, 2, 0, 1, 2])), "outside 0..2"),
    "falls.npz": (npz(indptr=np.array([0, 3, 2, 4, 6])), "indptr falls"),
    "far.npz": (npz(indptr=np.array([0, 1, 2, 3, 60])), "points beyond"),
    "shape.npz": (npz(shape=np.array([3])), "its shape has"),
    "negative.npz": (npz(shape=np.array([-4, 3])), "its shape is"),
    "rows.npz": (npz(shape=np.array([9, 3])), "for 9 rows"),
    "object.npz": (npz(data=np.array([None] * 6, dtype=object)), "not read"),
    "words.npz": (npz(data=np.array(["a"] * 6)), "must hold numbers"),
    "csc.npz": (npz(format=np.array(b"csc")), "only CSR"),
    "no-npy.npz": (
        _zip(data=b"x", indices=b"", indptr=b"", shape=b"", y=b""),
        "cannot be read as npz",
    ),
    # Arrow
    "empty.parquet": (b"", "cannot be read as parquet"),
    "noise.parquet": (b"PAR1" + bytes(100) + b"PAR1", "cannot be read as parquet"),
    "offset.arrow": (_offset(), "cannot be read as arrow"),
    "code.arrow": (_code(), "cannot be read as arrow"),
    "text.arrow": (_bytes_as_text(), "cannot be read as arrow"),
    "name.arrow": (
        arrow(colour=[1.0, 2.0], y=[0.0, 1.0]).replace(b"colour", b"colo\xff\xfe"),
        "cannot be read as arrow",
    ),
    "inf.arrow": (
        arrow(a=[1.0, np.inf, 2.0], y=[0.0, 1.0, 0.0]),
        "row 2: inf in column 'a' is not finite",
    ),
    "target.arrow": (
        arrow(a=[1.0, 3.0, 2.0], y=[0.0, 1.0, -np.inf]),
        "row 3: -inf in column 'y' is not finite",
    ),
    "empty.arrow": (b"", "cannot be read as arrow"),
    "noise.arrow": (b"ARROW1" + bytes(100), "cannot be read as arrow"),
}
