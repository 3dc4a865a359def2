"""Sparse online learning by recipes: a loss, a penalty, an optimizer and a learning rate, walked
row by row.

FOBOS: J. Duchi and Y. Singer, JMLR 10, 2009. Truncated gradient: J. Langford, L. Li and T. Zhang,
JMLR 10, 2009. RDA: L. Xiao, JMLR 11, 2010. FTRL: H. B. McMahan et al., KDD 2013.

A row walks through these files, after `tamis.base`:

- `estimator.py`: what the recipes share: parameters, the engine, classifier and regressor;
- `fobos.py`, `truncated.py`, `dual_averaging.py`, `ftrl.py`: a recipe each;
- `composed.py`: any loss, penalty, optimizer and learning rate;
- `tamis/solvers/first_order`: `state.py`, the engine, and `loop.py`, the compiled pass.
"""
