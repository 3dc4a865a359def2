"""Random Fourier features with sparse frequencies, drawn from their posterior: A. Rahimi and
B. Recht, "Random Features for Large-Scale Kernel Machines", NIPS 20, 2007; P. J. Green, "Reversible
Jump Markov Chain Monte Carlo Computation and Bayesian Model Determination", Biometrika 82(4), 1995.

loop.py       compiled moves of a chain
chain.py      one chain, and the frequencies that it records
posterior.py  rounds of chains, their mean and diagnostics, and the features
estimator.py  SparseFourierFeatures
"""
