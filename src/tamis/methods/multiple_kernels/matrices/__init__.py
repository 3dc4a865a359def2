"""Many kernels over the same rows, packed in memory or recomputed in blocks.

kinds.py    kernels of a dictionary, grouped by their columns
sources.py  computation of the entries of kernels
loop.py     compiled passes over packed triangles
store.py    all kernels of a fit: mixtures and quadratic forms
"""
