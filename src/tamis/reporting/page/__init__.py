"""The page about a fit, and what is drawn on it."""
