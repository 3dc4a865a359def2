"""Sparse nonlinear metric learning: the tables and figures of chapter 2 of the thesis, with rivals
and label-free controls.
"""
