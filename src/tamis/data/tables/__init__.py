"""Readers of tables: CSV, Arrow, arrays."""
