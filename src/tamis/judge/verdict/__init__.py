"""How far to trust a fitted model: its error beside that of guessing, in sentences, and checks for
the usual pitfalls.

`evidence` (rows judged once), `columns` (what is looked up in columns), `checks` (one function a
pitfall, with a code), `sentences` (the verdict in words), `compared` (checks of a comparison).
"""
