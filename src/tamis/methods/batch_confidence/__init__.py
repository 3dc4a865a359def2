"""Confidence-weighted learning by batches."""
