"""Sparse generalized multiple kernel learning: learns which of many Mercer kernels matter, and the
support vector machine over their weighted sum.

H. Yang, Z. Xu, J. Ye, I. King and M. R. Lyu, "Efficient Sparse Generalized Multiple Kernel
Learning", IEEE Transactions on Neural Networks 22, 2011.

dictionary.py  the parameter `kernels`: dictionaries, callables, matrices
rows.py       training rows with their kernels
matrices/     kernels over the rows: packed in memory, their mixtures and quadratic forms
machines.py   support vector machines over a mixture, and the cutting plane of their value
level/        weights of the kernels from cutting planes: the level method
fit.py        one fit: weights and machines; sigmoids on held-out scores
nystroem.py   machines for more rows than a kernel matrix can hold
estimator.py  parameters, fit and scores of the models
gmkl.py       GMKLClassifier, GMKLRegressor
"""
