"""Block coordinate descent with working sets, gap-safe screening and a certified gap: the batch
solver of group lasso and multi-task models.

E. Ndiaye, O. Fercoq, A. Gramfort and J. Salmon, "Gap Safe Screening Rules for Sparsity Enforcing
Penalties", Journal of Machine Learning Research 18, 2017.

groups.py       what users say about groups of columns, as blocks
design.py       tables as the solver sees them, centred without becoming dense
losses.py       the smooth part: the weighted loss of all rows
problem.py      what is minimised, and what comes out
screening.py    a point seen from all columns: gap, prices, blocks that are safely 0
inner/          solvers of a working set: Newton steps, sweeps over blocks, FISTA
solver.py       working sets until the gap is small
path.py         solutions along falling strengths
loop.py         compiled passes over blocks and rows
estimator.py    the base of the batch models: take, problem, solve, attributes
"""
