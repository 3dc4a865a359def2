"""Sparse online learning: estimators that combine a loss, a penalty, an optimizer and a learning
rate, and learn row by row.

FOBOS: J. Duchi and Y. Singer, JMLR 10, 2009. Truncated gradient: J. Langford, L. Li and T. Zhang,
JMLR 10, 2009. RDA: L. Xiao, JMLR 11, 2010. FTRL: H. B. McMahan et al., KDD 2013.

- `estimator.py`: base classes and shared parameters;
- `fobos.py`, `truncated_gradient.py`, `dual_averaging.py`, `ftrl.py`: one method each;
- `composed.py`: any loss, penalty, optimizer and learning rate;
- `tamis/solvers/first_order`: `state.py`, the state of a model, and `loop.py`, the compiled pass.
"""
