"""The table and the figure of Tan et al. (AAAI 2016), "Learning Sparse Confidence-Weighted
Classifier on Very High Dimensional Data", with tamis.
"""
