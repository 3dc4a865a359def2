"""Training from files: the one walk over rows, and checkpoints on the way."""
