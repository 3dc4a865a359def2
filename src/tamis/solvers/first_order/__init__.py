"""First-order online learning: one lazy loop for every loss, penalty, optimizer and learning rate.

- `state.py`: the state of an online model (terms, cells, lazy penalties);
- `loop.py`: compiled pass over rows that updates the state;
- `loop_weights.py`: compiled functions that compute scores and weights from the state;
- `batch.py`, `loop_batch.py`: steps of dual averaging by many rows at once.
"""
