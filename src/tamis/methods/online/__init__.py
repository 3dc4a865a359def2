"""Sparse online learning by recipes."""
