"""Benchmarks of one method each, named after its folder."""
