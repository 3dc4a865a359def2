"""The slides' tables of kernel methods: generalized multiple kernel learning, and the tri-class
SVM.
"""
