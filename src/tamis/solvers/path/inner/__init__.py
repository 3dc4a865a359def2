"""Solvers of a working set.

newton.py       proximal Newton steps, each a quadratic model
models.py       quadratic models from a Gram matrix, dense columns or sparse ones
quadratic.py    such a model solved by extrapolated sweeps and Newton steps on the support
fista.py        accelerated proximal gradient steps, where no model is worth its Gram matrix
loop.py         compiled sweeps
"""
