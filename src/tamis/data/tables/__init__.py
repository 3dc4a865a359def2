"""Readers of tables: CSV, Parquet and Arrow, npz archives, frames.

`csv.py` (with the compiled `csv_scan.py`), `arrow.py`, `arrays.py` and `frames.py` read a table
into a `TableChunk` of numbers and strings; a `Layout` (`layout.py`) encodes it as CSR rows, and
`chunks.py` refuses bad rows. `values.py` parses single values; `remote.py` copies URLs and Arrow
streams to files.
"""
