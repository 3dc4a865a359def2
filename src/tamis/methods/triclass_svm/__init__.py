"""Support vector machines for few labels, many unlabelled rows, and rows known to be of no class.

H. Yang, S. Zhu, I. King and M. R. Lyu, "Can irrelevant data help semi-supervised learning, why and
how?", CIKM 2011.

labels.py     y as classes, unlabelled rows and rows known as irrelevant
tasks.py      problems of two classes: what each row is, what its loss costs, the objective
solver.py     majorise-minimise: every step is one convex problem of hinge and tube rows
linear.py     that problem for a linear kernel, without a matrix of rows by rows
loop.py       dual coordinate descent on sparse rows, compiled
choice.py     the price of unlabelled rows where nobody said: by labelled rows held out, or 0
estimator.py  machines over one kernel: rows, calibration, what a fit keeps, scores
triclass.py   the classifier
"""
