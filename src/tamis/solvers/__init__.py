"""Strategies that more than one method uses.

- `first_order/`: the online pass of every loss, penalty, rule and step;
- `online_blocks/`: lazy online learning of blocks of weights;
- `block_descent/`: batch solver of block penalties, with screening and a certified gap;
- `support_vector/`: the dual of support vector machines;
- `pairing.py`: parameters into terms, and which terms go together; `selection.py`: the
  one-standard-error rule; `mercer.py`, `neighbours.py`, `standard.py`: kernels, nearest rows,
  columns in standard units; `sigmoid.py`, `calibrated.py`: probabilities from scores.
"""
