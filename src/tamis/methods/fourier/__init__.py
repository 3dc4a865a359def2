"""Sparse Fourier features."""
