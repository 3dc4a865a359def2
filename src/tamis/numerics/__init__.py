"""Compiled loops and the arrays that they work on.

- `numba.py`: the only import of Numba; `code_digests.py`, `code_cache.py`: names and files of
  compiled code;
- `csr.py`: validated sparse rows; `random.py`: counter-based random numbers;
- `hashing.py`: the finaliser of SplitMix64, hashes of rows, duplicate rows; `moments.py`: weighted
  moments of columns; `roc.py`: the area under the ROC curve.
"""
