"""Figures (`Display` classes), self-contained pages, and the report of a fitted model."""
