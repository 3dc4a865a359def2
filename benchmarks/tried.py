"""What was tried for the goals that are not met: by page, and by how the promise begins."""

TRIED = {
    "speed": {
        "a pass of every rule": "One exponential a row, the loss as a running product, helpers "
        "laid into the loop, what needs no score before the score: 1.3 to 1.4 became 1.05 to "
        "1.2. Two or four partial sums gave nothing. What is left is a fixed price of 10 to "
        "15 ns a row; why the squared hinge pays more is not known.",
        "fit(max_iter=1)": "Plain input is not searched for frames, parameters are checked once a "
        "class, and the numbers are read once, in two loops without branches, at the speed of "
        "memory (0.3 to 0.5 ns a nonzero). Only checks inside the first pass would be cheaper.",
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
        "one, by a place that needs no counter. A record a group saved a tenth in a trial and was "
        "not built: squares and prices lie apart in model files.",
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
    "files": {
        "svmlight text to CSR at least 600": "Helpers laid into the loop took half of the time. "
        "Eight bytes at a time were slower than the byte loop.",
        "Vowpal Wabbit, numbers": "Names are hashed while their end is looked for; the sort of "
        "hashed columns takes a third.",
        "gzip to CSR": "A thread of its own unpacks; the sizes of its pieces were not tuned.",
        "tamis fit --method ftrl, imports": "Imports and saving take more than a second; a "
        "started process meets the goal.",
        "tamis fit --method truncated, imports": "Imports and saving take more than a second; a "
        "started process meets the goal.",
    },
}


def tried_for(part: str, promise: str) -> str:
    """What was tried for a promise of a page, if anybody wrote it down."""
    known = TRIED.get(part, {})
    return next((text for begin, text in known.items() if promise.startswith(begin)), "")
