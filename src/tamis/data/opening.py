"""`open_rows`: open files as a source of rows."""

from collections.abc import Iterable, Mapping
from typing import Any, Literal

from tamis.data.formats import common_format
from tamis.data.options import CHUNK_BYTES, DEFAULTS, Options, check_encoding, check_options
from tamis.data.rows import ReadError
from tamis.data.source import RowSource
from tamis.data.streams import STDIN, display_name, expand_names
from tamis.data.tables.remote import ArrowStream, resolve_source
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
    """Open files as rows, chunk by chunk, in constant memory.

    Reads svmlight (LIBSVM) text, CSV and TSV with a header, Parquet and Arrow IPC (extra
    ``arrow``), SciPy's npz, and Vowpal Wabbit's text; all but npz and the Arrow formats also
    compressed (gz, bz2, xz, zst). Text is read by compiled code, and numbers are bit-equal to
    Python's ``float``.

    Parameters
    ----------
    source : path, URL, glob, "-" or list of these, or object with Arrow's stream protocol
        Files, read one after the other as if they were one; "-" is standard input. URLs
        (``s3://...``) are read by fsspec where it is installed. Polars frames, DuckDB relations,
        pyarrow tables and readers and any other object with ``__arrow_c_stream__`` are written to
        a temporary file, batch by batch, which is then read.
    format : {"svmlight", "csv", "tsv", "parquet", "arrow", "npz", "vw"} or None, default=None
        None detects it from the name's suffix, or else from the first line.
    target : str, int, False or None, default=None
        Column of the target, by name or number (tables; default the last one), or name of the array
        (npz; default "y"). False reads rows that may have none.
    weight : str, int or None, default=None
        Column of the row weights, in tables.
    chunk_rows : int, default=16384
        Maximum number of rows of a chunk. A chunk of text also ends after 4 MiB.
    max_line_bytes : int, default=2**26
        Longest line of text (to within a chunk) and longest record of CSV; at least 2^20. A longer
        one is refused before it fills the memory, also with ``on_bad="skip"``. A row of npz may
        have a quarter as many entries.
    on_bad : {"error", "skip"}, default="error"
        What to do with lines that cannot be read. With "skip", the attribute `bad` of the source
        counts them and lists the first ten.
    zero_based : bool or "auto", default="auto"
        Whether the columns of svmlight text count from 0. "auto" means that they do in all files if
        the first chunk of any file (in a survey, any line) has a column 0.
    hash_bits : int or None, default=None
        Hash columns into 2^hash_bits: the words of categorical columns, the features of Vowpal
        Wabbit's text (default 18), the numbers of svmlight.
    n_features : int or None, default=None
        Number of columns of svmlight text; None detects it.
    multilabel : bool or "auto", default="auto"
        Whether rows of svmlight text may have several labels. "auto" decides by the
        first chunk.
    delimiter : str or None, default=None
        Delimiter of fields. None is a tab for TSV, and for CSV the one of comma, semicolon, tab and
        bar that occurs most often in the header.
    categorical : list of str or int, or "all", default=()
        Columns to read as categories, in addition to those that do not look like numbers.
    ignore : list of str or int, default=()
        Columns to leave out.
    missing : {"error", "zero", "indicator"}, default="error"
        Meaning of an empty field, NA, NaN, null or None: a bad line, a zero, or a zero and a one in
        a column ``name=missing``.
    kinds : dict or None, default=None
        Kinds of columns of a table that replace the detected ones: "number", "category", "date",
        "text" or "skip", by name or number of the column.
    units : {"none", "spread"}, default="none"
        "spread" divides columns of numbers by their standard deviation, and centres those that are
        less than half zeros, so that sparse ones stay sparse.
    rare : int or None, default=None
        Levels of a category in fewer rows share one level called "rare", with levels unknown to the
        model. None: 5 in tables of 100 rows or more, else 1.
    ngrams : {1, 2, 3}, default=1
        Longest sequence of words of a text that has a column.
    decimal : {".", ","}, default="."
        Decimal separator of numbers in text; with a comma, points separate thousands.
    encoding : str or None, default=None
        Encoding of words in text, an extension of ASCII; None is that of the schema, or UTF-8.
    schema : dict or None, default=None
        `schema` of another source, or `reading_` of a trained model, to read the same columns.
        Columns that it does not have are left out.

    Returns
    -------
    rows : RowSource
        Iterable any number of times: each chunk is a `Rows` with `X` (CSR), `targets` and
        `first_line`. `survey()` counts rows, columns and classes of all files.

    Raises
    ------
    tamis.data.rows.ReadError
        The message has file, line, column, the text and what to do. It is a ValueError.

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
    keywords = {name: value for name, value in locals().items() if name != "source"}
    names, temporary_folder = resolve_source(source)
    files = expand_names(names)
    options = resolve_options(files, keywords)
    rows = RowSource(files, options)
    rows.temporary_folder = temporary_folder
    if schema is not None:
        rows.labels, rows.several = schema.get("labels"), schema.get("several")
    if options.format in ("csv", "tsv", "parquet", "arrow"):
        from tamis.data.columns.layout_builder import LocalFiles, build_layout
        from tamis.data.tables.layout import Layout

        if schema is not None:
            rows.layout = Layout.from_dict(schema["layout"])
        else:
            rows.keep()
            with LocalFiles(files, options) as tables:
                rows.layout, rows.layout_notes, rows.profile = build_layout(files, options, tables)
    return rows


def resolve_options(files: list[str], keywords: Mapping[str, Any]) -> Options:
    """Return the options of `open_rows`, from all its keywords, for the given files."""
    check_options(keywords)
    values = dict(keywords)
    schema, delimiter, ignore = (values.pop(name) for name in ("schema", "delimiter", "ignore"))
    kinds, categorical = values.pop("kinds"), values.pop("categorical")
    values["encoding"] = (
        values["encoding"] or (schema or {}).get("encoding") or DEFAULTS["encoding"]
    )
    check_encoding(values["encoding"])
    file_format = values["format"] = values["format"] or common_format(files)
    if STDIN in files and file_format in ("parquet", "arrow", "npz"):
        raise ReadError(
            f"standard input: {file_format} is not read as it comes, since its index is at the "
            "end. Write it to a file, and pass the name."
        )
    values |= {
        "kinds": tuple((kinds or {}).items()),
        "hash_bits": values["hash_bits"] or (18 if file_format == "vw" else 0),
        "delimiter": delimiter or ("\t" if file_format == "tsv" else ""),
        "categorical": categorical if isinstance(categorical, str) else tuple(categorical),
        "ignore": tuple(ignore),
    }
    if schema is not None:
        values |= _options_from_schema(file_format, schema, values, files)
    # A chunk longer than the longest allowed line could contain a longer line.
    return Options(**values, chunk_bytes=min(CHUNK_BYTES, values["max_line_bytes"]))


def _options_from_schema(file_format: str, schema: dict, values: dict, files) -> dict:
    """Return the options that a schema determines."""
    tables = ("csv", "tsv", "parquet", "arrow")
    if (file_format in tables) != ("layout" in schema) or (
        file_format not in tables
        and file_format != "npz"
        and schema["format"] not in (file_format, "npz")
    ):
        raise ReadError(
            f"{display_name(files[0])}: it is read as {file_format}, but the model was trained "
            f"from {schema['format']}. Pass a file of that format."
        )
    overrides = {
        "hash_bits": schema["hash_bits"] or 0,
        "n_features": schema["n_features"],
        "gaps": gap_words(schema["format"]),
        "drop": True,
    }
    if schema.get("zero_based") is not None and values["zero_based"] == "auto":
        overrides["zero_based"] = schema["zero_based"]
    return overrides
