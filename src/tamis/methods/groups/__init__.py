"""Group lasso, online and in batch."""
