"""Group lasso and sparse group lasso: groups of columns stay or leave as a whole, in batch, along a
path of strengths, and in streams.

M. Yuan and Y. Lin, "Model selection and estimation in regression with grouped variables", Journal
of the Royal Statistical Society B 68, 2006; H. Yang, Z. Xu, I. King and M. R. Lyu, "Online Learning
for Group Lasso", ICML 2010.

finding.py              groups from names, from one-hot columns, from correlations
blocks.py               what users say about groups, and the blocks made of it
estimator.py            the batch models of one strength
search.py               the batch models that choose it by cross-validation
online_estimator.py     the models of streams
"""
