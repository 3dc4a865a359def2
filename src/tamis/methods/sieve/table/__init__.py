"""Rows as the sieve learns from them.

- `columns`: columns and targets in standard units, an order and folds by content
- `loop`: compiled passes over the rows in the units of X
"""
