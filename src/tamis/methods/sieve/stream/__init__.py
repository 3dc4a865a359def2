"""The sieve on streams and files: what all rows say, however many there are, and a part of them.

state.py      what `partial_fit` keeps of a stream: models of all features, sampled rows
contrasts.py  what all rows say of each column alone
sample.py     rows with the smallest keys, whatever the order in which they come
targets.py    targets of rows whose classes are not known yet
first.py      the first reading of a file: contrasts and a sample
second.py     the second reading: some columns of all rows
readings.py   what a sieve does with both
loop.py       the passes over the rows of a stream
"""
