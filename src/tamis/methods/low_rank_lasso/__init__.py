"""Robust lasso on a low-rank matrix near the rows, for thousands of targets: G. V. A. Pham, "Robust
Optimization and Data Approximation in Machine Learning", UCB/EECS-2015-216, chapter 4.

factorization.py    LowRankFactorization
compression.py      targets as k numbers each; those that are 0, or meet no bound
spg/                the others: projected gradients for many targets at once
estimator.py        what the models share: parameters, the fit, what it shows
lasso.py            LowRankLasso
classifier.py       LowRankClassifier
rank_one_solver.py  rank one, solved exactly
rank_one.py         RankOneLasso
partitions.py       all of these on rows that lie in partitions
words.py            words that predict a word: associations
"""
