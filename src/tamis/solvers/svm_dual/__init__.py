"""The dual of support vector machines with one cap for each entry, for kernel machines and
semi-supervised models.

dual.py             solves one problem: pair steps, Newton steps and active set steps in turn
loop.py             compiled pair steps (sequential minimal optimisation) and Newton steps
loop_active_set.py  compiled active set steps
"""
