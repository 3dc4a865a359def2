"""Rows as the sieve reads them.

- `columns`: columns and targets in standard units, an order and folds by content
- `loop`: the passes over rows as given that this takes
"""
