"""Confidence-weighted online learning: a mean and a covariance of the weights.

CW: M. Dredze, K. Crammer and F. Pereira, ICML 2008, and NIPS 2009. AROW: K. Crammer, A. Kulesza and
M. Dredze, NIPS 2009. NAROW: F. Orabona and K. Crammer, NIPS 2010. SCW: J. Wang, P. Zhao and S. C.
H. Hoi, ICML 2012. SOFS: Y. Wu, S. C. H. Hoi, T. Mei and N. Yu, TKDD 11, 2017. Passive-aggressive
learners, whose covariance stays the identity: K. Crammer et al., JMLR 7, 2006.

A row walks through these files, after `tamis.base`:

- `estimator.py`: what the models share;
- `passive_aggressive.py`, `confidence_weighted.py`, `arow.py`, `sofs.py`: the models;
- `state.py`: the engine, which holds mean and covariance;
- `loop.py`: the compiled pass; `loop_heap.py`: the heap of the kept features.

What tells the models apart is a gain, in `tamis/terms/confidence_updates.py`.
"""
