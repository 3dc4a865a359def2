"""Robust low-rank lasso."""
