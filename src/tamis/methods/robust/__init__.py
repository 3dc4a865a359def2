"""Robust models over uncertain rows."""
