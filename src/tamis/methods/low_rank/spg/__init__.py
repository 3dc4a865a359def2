"""Spectral projected gradient for many small problems at once."""
