"""What the machine offers: files, terminal, threads, memory, progress; and what a saved object may
hold (`schema`).
"""
