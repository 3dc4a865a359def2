"""Selection with a stated false discovery rate: is the promise kept, what is found, what does it
cost, beside rivals; y permuted on real sets; speed and memory.
"""
