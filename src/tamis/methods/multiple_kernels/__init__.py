"""Sparse generalized multiple kernel learning: which of many Mercer kernels matter, and how much,
learnt together with the support vector machine over their sum.

H. Yang, Z. Xu, J. Ye, I. King and M. R. Lyu, "Efficient Sparse Generalized Multiple Kernel
Learning", IEEE Transactions on Neural Networks 22, 2011.

choice.py     what users say about kernels: dictionaries, callables, matrices
rows.py       training rows with their kernels
matrices/     kernels over the rows: packed in memory, their mixtures and quadratic forms
machines.py   support vector machines over a mixture, as one value with a cutting plane
level/        weights of the kernels from cutting planes: the level method
fit.py        one fit: weights and machines; sigmoids on held-out scores
nystroem.py   machines for more rows than a matrix can hold
estimator.py  what the models share: parameters, fit, scores
gmkl.py       classifier and regressor
"""
