"""Stabilized sparse online learning."""
