"""Formats of exported models, one file each."""
