"""Feature selection in a stream without end: e-values that are valid at any time."""
