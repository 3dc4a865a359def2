"""Lazy online learning of blocks of weights; used by group lasso and by multi-task streams."""
