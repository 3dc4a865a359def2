"""The sieve beside cross-validated L1, tuned FTRL, abess and its own first edition: error, size,
kappa over 80 % subsamples and time; noise; units.
"""
