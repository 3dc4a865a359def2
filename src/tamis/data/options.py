"""How a source is to be read."""

from dataclasses import dataclass

CHUNK_BYTES = 1 << 22  # text of a chunk; several of them are in memory at a time
LINE_BYTES = 1 << 26  # of one line: more than three million features of 20 bytes
ENTRY_BYTES = 4  # of the shortest feature in text: bounds the entries of rows that are no text


@dataclass(frozen=True)
class Options:
    """The settled wishes of `open_rows`."""

    format: str
    target: str | int | None = None  # name or number of the target; False where rows may lack it
    weight: str | int | None = None
    chunk_rows: int = 16384
    chunk_bytes: int = CHUNK_BYTES
    max_line_bytes: int = LINE_BYTES
    on_bad: str = "error"
    zero_based: bool | str = "auto"
    hash_bits: int = 0  # 0: not hashed
    n_features: int | None = None
    multilabel: bool | str = "auto"
    delimiter: str = ""  # nothing: as the header of a file has it
    categorical: str | tuple[str | int, ...] = ()
    ignore: tuple[str | int, ...] = ()
    missing: str = "error"
    kinds: tuple[tuple[str | int, str], ...] = ()  # of columns, as the user says
    units: str = "none"
    rare: int | None = None  # rows of a level below which it is rare; None goes by the table
    ngrams: int = 1
    decimal: str = "."
    encoding: str = "utf-8"
    gaps: tuple[str, ...] = ()  # words that are gaps to the model that a schema is of
    drop: bool = False  # whether columns beyond n_features are left out and counted

    @property
    def columns(self) -> int | None:
        """Number of columns where it is known."""
        return 1 << self.hash_bits if self.hash_bits else self.n_features
