"""Tables of the thesis on robust optimisation and data approximation, done again."""
