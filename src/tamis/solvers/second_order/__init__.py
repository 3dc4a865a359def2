"""Second-order online learning: each weight has a confidence (SOP, CW, AROW, NAROW, SCW)."""
