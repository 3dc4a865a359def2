"""Kernel matrices: what they are made of and how they are kept."""
