"""The dual of support vector machines with caps of their own for every entry, for kernel models and
models of few labels.

dual.py             one problem: pair steps, Newton steps and active set steps in turn
loop.py             pairs of entries (sequential minimal optimisation) and Newton steps, compiled
loop_active_set.py  one entry moves, the free ones follow, compiled
"""
