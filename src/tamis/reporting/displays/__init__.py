"""Figures in matplotlib: `base` holds the class `Display`, the other files one method each."""
