"""Lazy online learning of blocks of weights by dual averaging; used by group lasso and multi-task
streams.

H. Yang, Z. Xu, I. King and M. R. Lyu, "Online Learning for Group Lasso", ICML 2010.

estimator.py    the base of the streams: parameters, terms, groups
state.py        the engine: groups, sums of slopes, clocks
loop_walks.py   compiled walks over rows, rounds of all tasks, scores and weights
loop.py         what a walk does with a row
"""
