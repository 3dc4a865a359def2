"""Support vector machine for few labels, many unlabelled rows, and rows known to be of no class.

H. Yang, S. Zhu, I. King and M. R. Lyu, "Can irrelevant data help semi-supervised learning, why and
how?", CIKM 2011.

labels.py          labels of classes, of unlabelled rows and of rows known as irrelevant
problems.py        problems of two classes: labels and costs of the rows, the objective
solver.py          majorise-minimise: every step is one convex problem of hinge and tube rows
linear.py          that problem for a linear kernel, without a matrix of rows by rows
loop.py            dual coordinate descent on sparse rows, compiled
unlabeled_cost.py  the automatic cost of unlabelled rows, by held-out labelled rows
estimator.py       base: kernel and solver parameters, fitted attributes, scores
triclass.py        TriClassSVC
"""
