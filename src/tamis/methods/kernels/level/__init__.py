"""The level method: weights of kernels by cutting planes."""
