"""Tables 2, 3 and 4 of Ma and Zheng, "Stabilized Sparse Online Learning for Sparse Data": error,
share kept and kappa over orders and subsamples.
"""
