"""Sparse multiple kernel learning."""
