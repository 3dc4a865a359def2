"""The sieve on streams and files: sums over all rows, and a bounded sample of rows.

- `state`: the state of `partial_fit`: models of all features, and a sample of rows
- `contrasts`: sums by column over all rows that measure how each column alone relates to y
- `sample`: the rows with the smallest keys, a sample that does not depend on the order of the rows
- `targets`: coding of targets whose classes are not known in advance
- `first`: the first reading of a file: contrasts and a sample
- `second`: the second reading of a file: some columns of all rows
- `readings`: the fit of a sieve by two readings
- `loop`: compiled passes over the rows of a stream
"""
