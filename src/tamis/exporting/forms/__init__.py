"""The forms of a model outside of Python, one file a form."""
