"""Lazy dual averaging under group penalties, for the online group lasso and multi-task models.

H. Yang, Z. Xu, I. King and M. R. Lyu, "Online Learning for Group Lasso", ICML 2010.

state.py        state of a model: groups, gradient sums, statistics
loop_passes.py  compiled passes: rows, rounds of all tasks, scores and weights
loop.py         score and update of a single row
"""
