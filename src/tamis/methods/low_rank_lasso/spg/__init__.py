"""Spectral projected gradient (SPG) method for many small problems at once: E. G. Birgin, J. M.
Martinez and M. Raydan, "Nonmonotone Spectral Projected Gradient Methods on Convex Sets", SIAM
Journal on Optimization 10, 2000.

loop.py    compiled passes over arrays with one row for each target
polish.py  exact solution on the support of a sparse solution
batch.py   iterations of the targets of one batch
solver.py  all targets, in batches and threads
"""
