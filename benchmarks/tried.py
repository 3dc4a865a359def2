"""What was tried for the goals that are not met: by page, and by how the promise begins."""

TRIED = {
    "speed": {
        "a pass of every rule": "One exponential a row, the loss as a running product, helpers "
        "laid into the loop, what needs no score before the score: 1.3 to 1.4 became 1.05 to "
        "1.2. Two or four partial sums gave nothing. What is left is a fixed price of 10 to "
        "15 ns a row. In trials without automatic steps, weights and sums of the loss the squared "
        "loss at 20 a row went from 1.38 to 1.22 only.",
        "fit(max_iter=1)": "Plain input is not searched for frames, parameters are checked once a "
        "class, and the numbers are read once, in two loops without branches, at the speed of "
        "memory (0.3 to 0.5 ns a nonzero). Only checks inside the first pass would be cheaper.",
        "20 classes": "Half of the time of AROW went into cache misses: cells are fetched eight "
        "numbers ahead (a row ahead was too far), and dear weights settled once. To keep the "
        "quotients of AROW and to move all outputs together was slower, blocks of four were twice "
        "as slow.",
        "n_jobs=2": "Copies of the cells for each thread cost more than 20 outputs gain. Since "
        "this run a thread gets at least 32 outputs.",
    },
    "live": {
        "`tamis.live` learns": "Machine code is called without Numba's dispatcher, numbers are "
        "written by struct, three small arrays of a call lie in one.",
    },
    "selection": {
        "a sieve path": "The helpers of the walk were laid into it, as in other loops: no gain.",
        "a sieve fit": "On graphics/space half of the time are 680 short walks, the rest many "
        "small steps of a tenth or less. Both settings compete on all folds, half of the work "
        "each; to end one early would change what is chosen.",
        "stabilized SGD: two threads": "Votes and displacements are counted by all threads, and "
        "threads help each other. Counting by the thread that walks, with only some votes handed "
        "over, was built and measured: no gain, and taken back.",
        "a pass costs less": "No branch on features that left was tried; no gain.",
        "sieve: X, 24 bytes": "Not looked into.",
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
        "of memory. Two accumulators, integer comparisons, counting first and skipping columns by "
        "their mass were slower or useless; fewer repair steps loosen the certificate.",
    },
    "group_batch": {
        "first fit of a fresh process": "Importing scikit-learn takes two thirds of it, Numba and "
        "NumPy a tenth; a third of a second is tamis.",
        "never slower": "Step lengths are found by trying, no Gram matrix a block.",
    },
    "clusters": {
        "walk, visits": "Two that learn at once take 1.1 to 1.4 times as long for a visit as one "
        "alone, and two plain processes gain no more; rounds take 6 % of the time of two workers. "
        "In segments of 4 rounds, where models come home half as often, the goal is met.",
        "mix": "Rounds take 2 % of the time of two workers. A visit takes 1.4 times as long where "
        "two learn at once, and why it does so more than in plain processes was not found out.",
    },
    "metric": {
        "USPS: 20 times as fast as scikit-learn": "Three runs gave 24, 21 and 19. Since the first "
        "of them the screen looks at all rows and asks whether columns of pairs do harm; what "
        "that takes was not measured by itself.",
    },
    "latency": {
        "first fit": "Stored code is loaded without Numba's compiler and without modules that it "
        "does not need; scikit-learn's folds and scores are loaded when they are asked for.",
        "cold compilation": "Number by number in place of slices (seconds each), one version of a "
        "helper for all its callers, no collection of garbage meanwhile. What is left is Numba's "
        "own typing and lowering of long loops.",
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
        "threads, and a fit whose rows, copies and scores stay within --memory: the peak is "
        "bounded by that. What malloc keeps of freed arrays is left.",
    },
}


def tried_for(part: str, promise: str) -> str:
    """What was tried for a promise of a page, if anybody wrote it down."""
    known = TRIED.get(part, {})
    return next((text for begin, text in known.items() if promise.startswith(begin)), "")
