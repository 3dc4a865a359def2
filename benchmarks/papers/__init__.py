"""The tables of the papers, made anew: one package a paper, run by ``python -m
benchmarks.papers.NAME``.
"""
