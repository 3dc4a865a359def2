"""A sparse metric on columns and their products, grown step by step: Y. Ma and T. Zheng, "Boosted
Sparse Non-linear Distance Metric Learning", arXiv:1512.03396, 2015.

candidates.py     distinct rows, scaled columns, and the terms that a step may draw from
screening.py      the columns whose moments differ between classes
edges.py          margins over neighbours, and the quadratic form that a direction maximises
sparse_eigen.py   its sparse leading eigenvector
steps.py          the weight of a step, its test outside the bag, the complexity of a metric
boosting.py       all steps of a fit
rules.py          classes by neighbours, and early stopping by their errors
learnt_metric.py  what a learnt metric shows: points, names, importances
estimator.py      parameters, and the walk from rows to a metric
sdist.py          SDist, SDistClassifier
"""
