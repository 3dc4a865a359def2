"""The machine: threads, files, the terminal."""
