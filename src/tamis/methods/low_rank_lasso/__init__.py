"""Robust lasso on a low-rank approximation of X, for thousands of targets: G. V. A. Pham, "Robust
Optimization and Data Approximation in Machine Learning", UCB/EECS-2015-216, chapter 4.

factorization.py    LowRankFactorization
compression.py      targets as k numbers each; solutions that are 0 or need no L1 bound
spg/                spectral projected gradients for many targets with an L1 bound
estimator.py        base class: shared parameters and the fit
lasso.py            LowRankLasso
classifier.py       LowRankClassifier
rank_one_solver.py  exact solution for rank one
rank_one.py         RankOneLasso
partitions.py       the models on rows that lie in partitions
associations.py     associations: the words that predict a word
"""
