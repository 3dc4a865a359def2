"""Batch solvers for penalties of groups and of single columns, with a duality gap.

E. Ndiaye, O. Fercoq, A. Gramfort and J. Salmon, "Gap Safe Screening Rules for Sparsity Enforcing
Penalties", Journal of Machine Learning Research 18, 2017.

design.py       design matrices, centred without becoming dense
losses.py       bound losses: the weighted loss of all rows
problem.py      the problem and its solution
screening.py    evaluation of a point: objective, duality gap, screened groups
inner/          solvers of a working set: proximal Newton, block coordinate descent, FISTA
solver.py       working sets until the duality gap is small
path.py         solutions for a decreasing sequence of strengths
loop.py         compiled loops over blocks and rows
columns.py      tables and working sets of single columns
column_solver.py  path solver for penalties of single columns
loop_columns.py compiled coordinate descent on single columns
"""
