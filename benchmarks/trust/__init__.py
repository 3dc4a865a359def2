"""What must never happen, tried many times."""
