"""Benchmarks of tamis: speed, latency, memory, races and curves, written to docs/performance by
``make bench``.
"""

PARTS = {
    "speed": "nanoseconds per nonzero, against peers and a streaming read",
    "latency": "import, first fit and compilation, in fresh processes",
    "live": "one row at a time: in service, by partial_fit, and against peers",
    "memory": "peak memory of learning, in fresh processes",
    "selection": "the sieve and stabilized descent: passes, whole fits, threads, memory",
    "groups": "the online group lasso: lazy steps against eager ones, and a long stream",
    "wide": "more than 2^31 nonzeros, and 10^8 columns",
    "confidence": "passes of the confidence-weighted learners, and their memory",
    "bcw": "batch confidence-weighted learning: BCW against X.T @ X, SBCW against an L1-SVM",
    "gmkl": "multiple kernel learning: a fit, growth, memory, and SimpleMKL over SVC",
    "lowrank": "a thousand targets on a low-rank matrix, and words that predict a word",
    "metric": "sparse metric learning against NCA and LMNN, its growth, memory and first fit",
    "thresholding": "thresholding and its certificate beside a solve, its bounds, robust models",
    "triclass": "support vector machines with unlabelled rows: against SVC, whole fits, large text",
    "races": "time, error and kept features against peers",
    "files": "text to rows, file to model, and its memory",
    "forgeries": "forged model files of every class: refused, or a model that works",
    "mutations": "a hundred thousand damaged files of every format: rows or a refusal",
    "kills": "kill -9 at two hundred moments of tamis fit: the same bytes, and no file lost",
    "clusters": "two workers against one on a cluster of this machine, and the cost of a visit",
    "partitions": "error by partitions: models that learn apart, and several paths",
    "group_batch": "batch group lasso against skglm, celer and adelie",
    "curves": "error against kept features, over paths of penalties",
}
# Where parts lie that are about one method, or about what must never happen.
HOMES = {
    "bcw": "methods.batch_confidence",
    "confidence": "methods.confidence",
    "gmkl": "methods.kernels",
    "triclass": "methods.few_labels",
    "lowrank": "methods.low_rank",
    "metric": "methods.metric",
    "thresholding": "methods.thresholding",
    "groups": "methods.online_groups",
    "group_batch": "methods.groups",
    "selection": "methods.sieve",
    "forgeries": "trust.forgeries",
    "mutations": "trust.mutations",
    "kills": "trust.kills",
}
