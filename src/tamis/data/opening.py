"""`open_rows`: the way in."""

from collections.abc import Iterable, Mapping
from typing import Any, Literal

from tamis.data.formats import format_of
from tamis.data.options import CHUNK_BYTES, DEFAULTS, Options, check_encoding, check_options
from tamis.data.rows import ReadError
from tamis.data.source import RowSource
from tamis.data.streams import STDIN, expand, shown
from tamis.data.tables.outside import ArrowStream, brought
from tamis.data.tables.values import gap_words
from tamis.system.files import StrPath


def open_rows(
    source: StrPath | Iterable[StrPath] | ArrowStream,
    *,
    format: str | None = None,
    target: str | int | Literal[False] | None = None,
    weight: str | int | None = None,
    chunk_rows: int = 16384,
    max_line_bytes: int = 2**26,
    on_bad: Literal["error", "skip"] = "error",
    zero_based: bool | Literal["auto"] = "auto",
    hash_bits: int | None = None,
    n_features: int | None = None,
    multilabel: bool | Literal["auto"] = "auto",
    delimiter: str | None = None,
    categorical: Iterable[str | int] | Literal["all"] = (),
    ignore: Iterable[str | int] = (),
    missing: Literal["error", "zero", "indicator"] = "error",
    kinds: Mapping[str | int, str] | None = None,
    units: Literal["none", "spread"] = "none",
    rare: int | None = None,
    ngrams: Literal[1, 2, 3] = 1,
    decimal: Literal[".", ","] = ".",
    encoding: str | None = None,
    schema: dict[str, Any] | None = None,
) -> RowSource:
    """Rows of files, chunk by chunk, in constant memory.

    Reads svmlight (LIBSVM) text, CSV and TSV with a header, Parquet and Arrow IPC (extra
    ``arrow``), SciPy's npz, and Vowpal Wabbit's text; all but npz and the Arrow formats also
    compressed (gz, bz2, xz, zst). Text is read by compiled code, and numbers are bit-equal to
    Python's ``float``.

    Parameters
    ----------
    source : path, URL, glob, "-" or list of these, or what speaks Arrow's stream protocol
        Files, read one after the other as if they were one; "-" is standard input. URLs
        (``s3://...``) are read by fsspec where it is installed. Polars frames, DuckDB relations,
        pyarrow tables and readers and all else that has ``__arrow_c_stream__`` are kept in a
        temporary file, batch by batch, and read as it is.
    format : {"svmlight", "csv", "tsv", "parquet", "arrow", "npz", "vw"} or None, default=None
        None goes by the name's suffix, else by the first line.
    target : str, int, False or None, default=None
        Column of the target, by name or number (tables; default the last one), or name of the array
        (npz; default "y"). False reads rows that may lack it.
    weight : str, int or None, default=None
        Column of the row weights, in tables.
    chunk_rows : int, default=16384
        Most rows of a chunk. A chunk of text ends after 4 MiB too.
    max_line_bytes : int, default=2**26
        Longest line of text (to within a chunk) and longest record of CSV; at least 2^20. A longer
        one is refused before it fills the memory, whatever `on_bad` says. A row of npz may have a
        quarter as many entries.
    on_bad : {"error", "skip"}, default="error"
        What to do about lines that cannot be read. With "skip", `bad` of the source counts them and
        lists the first ten.
    zero_based : bool or "auto", default="auto"
        Whether the columns of svmlight text count from 0. "auto" says so if the first chunk of any
        of the files (in a survey, any line) has a column 0, and means all of them.
    hash_bits : int or None, default=None
        Hash columns into 2^hash_bits: the words of categorical columns, the features of Vowpal
        Wabbit's text (default 18), the numbers of svmlight.
    n_features : int or None, default=None
        Number of columns of svmlight text; None finds it.
    multilabel : bool or "auto", default="auto"
        Whether rows of svmlight text may have several labels. "auto" looks at the first chunk.
    delimiter : str or None, default=None
        Of fields; None is a tab for TSV, and for CSV the sign that the header has most of: comma,
        semicolon, tab or bar.
    categorical : list of str or int, or "all", default=()
        Columns to take as words, beside those that do not look like numbers.
    ignore : list of str or int, default=()
        Columns to leave out.
    missing : {"error", "zero", "indicator"}, default="error"
        What an empty field, NA, NaN, null or None means: a bad line, a zero, or a zero and a one in
        a column ``name=missing``.
    kinds : dict or None, default=None
        What columns of a table are, where it is not as found: "number", "category", "date", "text"
        or "skip", by name or number of the column.
    units : {"none", "spread"}, default="none"
        "spread" divides columns of numbers by their standard deviation, and centres those that are
        less than half zeros, so that sparse ones stay sparse.
    rare : int or None, default=None
        Levels of a category that are met in fewer rows share one called "rare", with those that
        were never met. None: 5 in tables of 100 rows or more, else 1.
    ngrams : {1, 2, 3}, default=1
        Longest run of words of a text that has a column.
    decimal : {".", ","}, default="."
        What parts the decimals of numbers in text; with a comma, points part thousands.
    encoding : str or None, default=None
        Of words in text, one that has ASCII's bytes for its signs; None is that of the schema, or
        UTF-8.
    schema : dict or None, default=None
        `schema` of another source, or `reading_` of a trained model: read by the same columns.
        Columns it does not know are left out.

    Returns
    -------
    rows : RowSource
        Iterate over it, as often as you like: each chunk is a `Rows` with `X` (CSR), `targets` and
        `first_line`. `survey()` says what all of it holds.

    Raises
    ------
    tamis.data.rows.ReadError
        With file, line, column, the text and the way out. It is a ValueError.

    See Also
    --------
    train : Train a model from it.

    Examples
    --------
    >>> import tamis
    >>> from pathlib import Path
    >>> from tempfile import TemporaryDirectory
    >>> with TemporaryDirectory() as folder:
    ...     path = Path(folder, "few.svm")
    ...     _ = path.write_text("1 1:0.5 3:2 # a comment\\n-1 2:1\\n")
    ...     rows = tamis.open_rows(path)
    ...     for chunk in rows:
    ...         print(chunk.X.toarray().tolist(), chunk.targets.tolist(), chunk.first_line)
    [[0.5, 0.0, 2.0], [0.0, 1.0, 0.0]] [1.0, -1.0] 1
    """
    wishes = {name: value for name, value in locals().items() if name != "source"}
    names, kept = brought(source)
    files = expand(names)
    options = options_of(files, wishes)
    rows = RowSource(files, options)
    rows.kept = kept
    if schema is not None:
        rows.labels, rows.several = schema.get("labels"), schema.get("several")
    if options.format in ("csv", "tsv", "parquet", "arrow"):
        from tamis.data.columns.making import Local, lay_out
        from tamis.data.tables.layout import Layout

        if schema is not None:
            rows.layout = Layout.from_dict(schema["layout"])
        else:
            rows.keep()
            with Local(files, options) as tables:
                rows.layout, rows.told, rows.profile = lay_out(files, options, tables)
    return rows


def options_of(files: list[str], wishes: Mapping[str, Any]) -> Options:
    """The wishes of `open_rows`, all of its keywords, settled for some files."""
    check_options(wishes)
    given = dict(wishes)
    schema, delimiter, ignore = (given.pop(name) for name in ("schema", "delimiter", "ignore"))
    kinds, categorical = given.pop("kinds"), given.pop("categorical")
    given["encoding"] = given["encoding"] or (schema or {}).get("encoding") or DEFAULTS["encoding"]
    check_encoding(given["encoding"])
    kind = given["format"] = given["format"] or format_of(files)
    if STDIN in files and kind in ("parquet", "arrow", "npz"):
        raise ReadError(
            f"standard input: {kind} is not read as it comes, since its parts are found from its "
            "end. Write it to a file, and name that."
        )
    given |= {
        "kinds": tuple((kinds or {}).items()),
        "hash_bits": given["hash_bits"] or (18 if kind == "vw" else 0),
        "delimiter": delimiter or ("\t" if kind == "tsv" else ""),
        "categorical": categorical if isinstance(categorical, str) else tuple(categorical),
        "ignore": tuple(ignore),
    }
    if schema is not None:
        given |= _by_schema(kind, schema, given, files)
    # No chunk may be longer than the longest line, or it would hide one that is.
    return Options(**given, chunk_bytes=min(CHUNK_BYTES, given["max_line_bytes"]))


def _by_schema(kind: str, schema: dict, given: dict, files) -> dict:
    """What a schema settles."""
    tables = ("csv", "tsv", "parquet", "arrow")
    if (kind in tables) != ("layout" in schema) or (
        kind not in tables and kind != "npz" and schema["format"] not in (kind, "npz")
    ):
        raise ReadError(
            f"{shown(files[0])}: it is read as {kind}, but the model was trained from "
            f"{schema['format']}. Pass a file of that format."
        )
    settled = {
        "hash_bits": schema["hash_bits"] or 0,
        "n_features": schema["n_features"],
        "gaps": gap_words(schema["format"]),
        "drop": True,
    }
    if schema.get("zero_based") is not None and given["zero_based"] == "auto":
        settled["zero_based"] = schema["zero_based"]
    return settled
