"""Results to look at: figures (`Display` classes) and one self-contained page."""
