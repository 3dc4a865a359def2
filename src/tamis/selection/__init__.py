"""Feature selection: stability selection, agreement of selections, false discovery rate."""
