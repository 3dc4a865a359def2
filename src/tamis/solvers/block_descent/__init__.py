"""Block coordinate descent with working sets, screening and a certified gap; used by group lasso
and multi-task models.
"""
