"""Confidence-weighted online learning."""
