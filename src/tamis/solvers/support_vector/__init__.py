"""The dual of support vector machines with caps of their own for every entry; used by kernel models
and by few-label models.
"""
