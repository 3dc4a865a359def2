"""Random Fourier features with sparse frequencies, drawn from their posterior: A. Rahimi and
B. Recht, "Random Features for Large-Scale Kernel Machines", NIPS 20, 2007, by the moves of P. J.
Green, "Reversible Jump Markov Chain Monte Carlo Computation and Bayesian Model Determination",
Biometrika 82(4), 1995.

loop.py       moves of a chain
chain.py      one chain: run, thinned, and what it left
posterior.py  rounds of chains and their mean, how far they agree, and the features they make
estimator.py  SparseFourierFeatures
"""
