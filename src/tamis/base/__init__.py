"""What every method stands on, and nothing of any method.

- `jit.py`: the one door to Numba; `digests.py`: names of loops that an edit changes; `verbs.py`:
  what terms answer to;
- `border.py`: user arrays in, trusted rows and weights out; every sentence about bad input;
- `looks.py`: cheap looks at input, where scikit-learn has nothing to find;
- `rows.py`: trusted rows, and the passes over rows that many methods need;
- `targets.py`: y as the columns that loops read, scores as predictions;
- `parameters.py`: declared parameters;
- `random.py`: random numbers by counter;
- `estimators/`: what fits, streams and answers;
- `contents/`: what a model file may hold;
- `machine/`: threads, files, the terminal.
"""
