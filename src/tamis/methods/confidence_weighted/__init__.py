"""Confidence-weighted online learning: a mean and a covariance of the weights.

CW: M. Dredze, K. Crammer and F. Pereira, ICML 2008, and NIPS 2009. AROW: K. Crammer, A. Kulesza and
M. Dredze, NIPS 2009. NAROW: F. Orabona and K. Crammer, NIPS 2010. SCW: J. Wang, P. Zhao and S. C.
H. Hoi, ICML 2012. SOFS: Y. Wu, S. C. H. Hoi, T. Mei and N. Yu, TKDD 11, 2017. Passive-aggressive
models, whose covariance is the identity: K. Crammer et al., JMLR 7, 2006.

- `estimator.py`: base classes and shared parameters;
- `passive_aggressive.py`, `confidence_weighted.py`, `arow.py`, `sofs.py`: the models;
- `tamis/solvers/second_order`: `state.py`, the state of a model, `loop.py`, the compiled pass, and
  `loop_heap.py`, the heap of selected features.

The models differ in their confidence update, in `tamis/terms/confidence_updates.py`.
"""
