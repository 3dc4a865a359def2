"""Readers of text lines: svmlight and Vowpal Wabbit.

`svmlight.py` and `vowpal.py` read chunks of a `Window` (`window.py`) through compiled scans
(`svmlight_scan.py`, `vowpal_scan.py`), which parse numbers (`numbers.py`, by the algorithm of
Lemire 2021, on the 64-bit words of `bits.py`) and hash words (`words.py`). The CSV reader of
`tables` uses the same window, numbers and words.
"""
