"""Boosted sparse nonlinear metric learning."""
