"""Compiled loops, and the arrays that they read.

- `numba.py`: the only module that imports Numba; `code_digests.py`, `code_cache.py`: names and
  files of compiled code;
- `csr.py`: validated sparse rows; `targets.py`: encoded targets; `random.py`: counter-based random
  numbers;
- `hashing.py`: SplitMix64, hashes of rows, duplicate rows; `moments.py`: weighted moments of
  columns; `roc.py`: area under the ROC curve.
"""
