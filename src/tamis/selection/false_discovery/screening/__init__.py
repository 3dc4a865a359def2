"""Screening of candidates: by an L1 path on all rows, or by online learners in one pass."""
