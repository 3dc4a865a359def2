"""Solvers of a working set.

newton.py       proximal Newton: a sequence of quadratic models
models.py       quadratic models from a Gram matrix, dense columns or sparse columns
quadratic.py    minimises such a model by block coordinate descent and Newton steps on the support
fista.py        FISTA, where no quadratic model is worth its Gram matrix
loop.py         compiled sweeps of block coordinate descent
"""
