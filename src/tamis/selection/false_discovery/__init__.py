"""Selection with a stated false discovery rate: screen once, test each candidate given a few
controls, and correct over all columns.
"""
