"""sDist: a sparse metric on columns and their products, learnt by boosting. Y. Ma and T. Zheng,
"Boosted Sparse Non-linear Distance Metric Learning", arXiv:1512.03396, 2015.

candidates.py     distinct rows, scaled columns, and the terms that a step may use
screening.py      selection of the columns whose moments differ between classes
edges.py          margins over neighbours, and the quadratic form that a direction maximises
sparse_eigen.py   its sparse leading eigenvector
steps.py          line search, out-of-bag test and complexity
boosting.py       the steps of a fit
rules.py          classification by nearest neighbours, and early stopping by its error
learnt_metric.py  the fitted metric: transform, names, importances
estimator.py      parameters and fit
sdist.py          SDist, SDistClassifier
"""
