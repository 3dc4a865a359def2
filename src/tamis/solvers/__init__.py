"""Solvers that more than one method uses.

- `first_order/`: the online pass of every loss, penalty, optimizer and learning rate;
- `second_order/`: online learning with a confidence for each weight;
- `online_groups/`: lazy online learning of groups of weights;
- `path/`: batch solver of group penalties, with screening and a certified gap;
- `svm_dual/`: the dual of support vector machines;
- `kernels.py`, `neighbors.py`, `standard.py`: kernels, nearest rows, columns in standard units;
  `calibration.py`: probabilities from scores;
- `logistic.py`: logistic regressions on few columns each, by Newton's method;
- `randomized_svd.py`: a matrix of low rank near the rows, with a bound of its error.
"""
