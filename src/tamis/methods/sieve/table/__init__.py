"""Rows as the sieve reads them.

- `columns`: columns and targets in standard units, an order by content
- `loop`: the passes over rows as given that this takes
"""
