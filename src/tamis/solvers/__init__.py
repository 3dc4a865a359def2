"""Solvers. They take arrays and terms, and know no estimator.

- `first_order/`: the online pass of every loss, penalty, optimizer and learning rate;
- `second_order/`: online learning with a confidence for each weight;
- `online_groups/`: lazy online learning under group penalties;
- `path/`: batch solver for group penalties, with screening and a duality gap;
- `svm_dual/`: the dual of support vector machines;
- `kernels.py`: kernel matrices; `neighbors.py`: nearest rows by class; `standard.py`: standardized
  rows; `calibration.py`: probabilities from scores (Platt scaling);
- `logistic.py`: logistic regressions on few columns each, by Newton's method;
- `randomized_svd.py`: a low-rank approximation of the rows, with bounds of its error.
"""
