"""Spectral projected gradients for many small problems at once: E. G. Birgin, J. M. Martinez and
M. Raydan, "Nonmonotone Spectral Projected Gradient Methods on Convex Sets", SIAM Journal on
Optimization 10, 2000.

loop.py    passes over rows, one a target
polish.py  the last digits of a sparse solution
batch.py   targets that walk together
solver.py  all targets, in batches and threads
"""
