"""First-order online learning: one lazy loop for every loss, penalty, optimizer and learning rate.

`state.py` is the engine: terms, cells and clocks. `loop.py` is the pass that learns,
`loop_weights.py` what reads scores and weights off the cells.
"""
