"""Mutants that lived and were read: why no test can, or need, tell them from the source."""

from benchmarks.trust.mutants.places import Mutant

# Module, the line as it stands (without its margin), the change: the reason.
REASONS: dict[tuple[str, str, str], str] = {
    (
        "selection/error_bounds",
        "if excess(low, k) >= 0.0:",
        ">= -> >",
    ): "a root at the end is found as well",
    ("selection/error_bounds", "low, high = 1e-9, 1e9", "1e-9 -> 2e-09"): "where a search begins",
    ("methods/data_thresholding/bounds", "problem.signs > 0,", "> -> >="): "signs are -1 and 1",
    (
        "methods/metric_learning/steps",
        "gram = used @ used.T if used.shape[0] < used.shape[1] else used.T @ used",
        "< -> >",
    ): "both have the same roots but for zeros; the other one is larger",
    (
        "methods/metric_learning/steps",
        "w, last = (newton if low < newton < high else 0.5 * (low + high)), w",
        "< -> <=",
    ): "a slope of exactly 0: both end at that place",
    ("selection/false_discovery/base_selector", "60,", "60 -> 61"): "a default",
    (
        "selection/anytime/estimator",
        "empty = sp.csr_array((0, rows.shape[1]))",
        "1 -> 0",
    ): "no rows, in whose place the first ones are put",
    (
        "distributed/checkpoint",
        "for name, path in zip(names, paths, strict=True)",
        "True -> False",
    ): "lists of one length",
    (
        "distributed/executors",
        "PARTITION_MEMORY = 1 << 30  # bytes of partitions that a process holds where no limit is "
        "known",
        "30 -> 31",
    ): "a limit of memory",
    (
        "distributed/merging",
        "fraction = right.rows / rows if rows else 0.0",
        "0.0 -> 1.0",
    ): "neither has learnt anything",
    (
        "distributed/schedule",
        "return array_bytes(path.model) * len(sizes) > sum(sizes)",
        "> -> >=",
    ): "a model as large as a partition may stay or travel",
    (
        "exporting/forms/onnx_fields",
        "longest = max(sizes, default=1)",
        "1 -> 0",
    ): "a text without words is no field",
    (
        "exporting/forms/python",
        "return pformat(value, width=96, compact=True, sort_dicts=False)",
        "True -> False",
    ): "where lines break",
}


def reason_for(module: str, source: str, mutant: Mutant) -> str:
    """Why a mutant may live; nothing where it may not."""
    line = source.splitlines()[mutant.line - 1].strip()
    return REASONS.get((module, line, f"{mutant.old} -> {mutant.new}"), "")
