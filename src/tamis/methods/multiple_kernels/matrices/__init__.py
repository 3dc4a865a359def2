"""Many kernels over the same rows, packed in memory or made again in blocks.

kinds.py    kernels by name, and which of them share their distances
sources.py  where the entries of kernels come from
loop.py     passes over packed triangles, compiled
store.py    all kernels of a fit: mixtures and quadratic forms
"""
