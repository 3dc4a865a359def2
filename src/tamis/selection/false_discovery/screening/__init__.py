"""Which columns are worth a test: by a path of all rows, or by learners in one pass."""
