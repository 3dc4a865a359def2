"""Compiled passes: arrays and terms in, arrays out."""
