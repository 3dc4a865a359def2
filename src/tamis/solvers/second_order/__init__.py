"""Second-order online learning: a normal distribution over the weights (SOP, CW, AROW, NAROW, SCW).

- `state.py`: the state of a model (means and covariances of the weights);
- `loop.py`: compiled pass over rows that updates the state;
- `loop_heap.py`: diagonal states, and the heap of the selected features.
"""
