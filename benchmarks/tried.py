"""What was tried for the goals that are not met: by page, and by how the promise begins."""

TRIED = {
    "speed": {
        "a pass of every rule": "One exponential a row, the loss as a running product, helpers "
        "laid into the loop, what needs no score before the score: 1.3 to 1.4 became 1.05 to "
        "1.2. Two or four partial sums gave nothing. What is left is a fixed price of 10 to "
        "15 ns a row; why the squared hinge pays more is not known.",
        "at 10^7 columns": "Only columns that occur are counted after a pass; the sort of their "
        "numbers and cache misses are left.",
        "fit(max_iter=1)": "Checks of the input run near the speed of memory and did not get "
        "cheaper when the pass did; they could be made inside the first pass.",
        "20 classes": "Cells are fetched a row ahead and dear weights settled once. Loops over 20 "
        "outputs are too short for the vector units; blocks of four were twice as slow.",
        "n_jobs=2": "Copies of the cells for each thread cost more than 20 outputs gain. Since "
        "this run a thread gets at least 32 outputs.",
    },
    "live": {
        "`tamis.live` learns": "Machine code is called without Numba's dispatcher, numbers are "
        "written by struct. Several outputs need five small arrays a call.",
    },
    "selection": {
        "a sieve fit": "Both settings compete on all folds, half of the work each; to end one "
        "early was not tried.",
        "stabilized SGD: two threads": "Votes and displacements are counted by all threads, and "
        "threads help each other; the barriers between short stages are left.",
    },
    "groups": {
        "A lazy step is flat": "What the next row touches is fetched between the numbers of this "
        "one. A record a group saved a tenth in a trial and was not built.",
    },
    "confidence": {
        "AROW pass at most": "One division a cell, kept for the update. Plain descent got faster "
        "by more than AROW did.",
        "AROW pass faster than scikit-learn's SGDClassifier at its": "Plain descent "
        "does nothing for rows beyond the margin; AROW divides for every number of every row.",
    },
    "thresholding": {
        "Thresholding and certificate take at most 15% of a solve on the whole data (logistic, "
        "the solver in tamis)": "One pass drops, the scores come from few columns, Newton steps "
        "by a small matrix: half the time. Two passes over all columns are left, near the speed "
        "of memory.",
    },
    "memory": {
        "tamis check says": "What a sieve holds hangs on which of its two settings wins: 8 paths "
        "over all rows or 40, 24 bytes a column each. Only the fit knows; the larger is said.",
    },
    "files": {
        "svmlight text to CSR at least 600": "An idle core reads 720 to 780 MB/s, a busy one 500. "
        "Digits after the point are read eight bytes at a time: a tenth of the scan for 17 digits, "
        "nothing for 6, and columns got slower by it (a loop over bytes is guessed ahead, a count "
        "of bytes is not).",
        "Vowpal Wabbit, numbers": "Names are hashed while their end is looked for, and rows are no "
        "longer sorted: repeats alone are summed, row by row.",
        "gzip to CSR": "A thread of its own unpacks, in pieces of 1 MiB since calls of a quarter "
        "of that took a fifth more CPU. What is left is the wait for the first chunk and the "
        "reading of the last.",
        "tamis fit --method ftrl, imports": "Imports and saving take more than a second; a "
        "started process meets the goal.",
        "tamis fit --method truncated, imports": "Imports and saving take more than a second; a "
        "started process meets the goal.",
        "tamis fit --method sieve, imports": "Time goes with rows times paths (2 on every fold, 40 "
        "on all rows), hardly with entries. Rows whose fit needs more than the memory are left "
        "out; fewer still would be faster, and err more.",
        "tamis fit --method sieve: peak": "Python, libraries and compiled code take 280 MB before "
        "the first row. No kept rows beside the table, no file behind them, as many copies as "
        "threads, and a fit whose rows, copies and scores stay within --memory (300 MB): the "
        "peak is bounded by that (5 GB was not run). What malloc keeps of freed arrays is left. "
        "By reckoning, not by trial, 300 MB in all leave room for some 20,000 rows.",
    },
}


def tried_for(part: str, promise: str) -> str:
    """What was tried for a promise of a page, if anybody wrote it down."""
    known = TRIED.get(part, {})
    return next((text for begin, text in known.items() if promise.startswith(begin)), "")
