"""Evidence for features in a stream that does not end: e-values that may be looked at whenever one
likes.
"""
