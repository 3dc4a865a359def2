"""The level method: weights of kernels by projections onto level sets of cutting planes.

loop.py        compiled projections onto the set of weights
weight_set.py  the set of weights: support function, projection, boundary
level_set.py   projection onto the weights at which no cutting plane lies above a level
method.py      the iterations, which end with a certified gap
"""
