"""Group lasso and sparse group lasso: groups of columns are kept or dropped as a whole, in batch,
along a path of strengths, and in streams.

M. Yuan and Y. Lin, "Model selection and estimation in regression with grouped variables", Journal
of the Royal Statistical Society B 68, 2006; H. Yang, Z. Xu, I. King and M. R. Lyu, "Online Learning
for Group Lasso", ICML 2010.

group_detection.py      groups from names, from one-hot columns, from correlations
group_parameters.py     parameters of groups, and their blocks of coefficients
estimator.py            batch models of one strength
cross_validation.py     batch models that choose the strength by cross-validation
online_estimator.py     online models
"""
