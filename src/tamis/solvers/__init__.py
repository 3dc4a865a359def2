"""Strategies in NumPy that call loops."""
