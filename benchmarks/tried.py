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
        "a sieve path": "The helpers of the walk could be laid into it, as in the other loops; a "
        "trial was not compared.",
        "a sieve fit": "On graphics/space half of the time are 680 short walks, the rest many "
        "small steps of a tenth or less. Both settings compete on all folds, half of the work "
        "each; to end one early would change what is chosen.",
        "stabilized SGD: two threads": "Votes and displacements are counted by the thread that "
        "walks; only votes that another judges change cores. Stages of a quiet machine gain 1.8; "
        "another program on one of the cores takes that away.",
        "a pass costs less": "No branch on features that left. Leaving them out of X oftener than "
        "at a fifth costs what it saves.",
        "sieve: X, 24 bytes": "Not looked at since the page was made.",
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
