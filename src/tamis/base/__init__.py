"""What every method stands on, and nothing of any method."""
