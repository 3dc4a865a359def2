"""Judging: how stable a selection is, which features to trust, and fair comparisons of models."""
