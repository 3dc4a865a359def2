"""Mutants that lived and were read: why no test can, or need, tell them from the source."""

from benchmarks.trust.mutants.places import Mutant

# Module, the line as it stands (without its margin), the change: the reason.
REASONS: dict[tuple[str, str, str], str] = {
    ("judge/bounds", "if excess(low, k) >= 0.0:", ">= -> >"): "a root at the end is found as well",
    ("judge/bounds", "low, high = 1e-9, 1e9", "1e-9 -> 2e-09"): "where a search begins",
    ("judge/bounds", "return float(min(best, 1.0))", "1.0 -> 2.0"): "`best` is never above 1",
    ("judge/bounds", "at = np.arange(steps + 1.0)", "1.0 -> 2.0"): "the rest is never read",
    (
        "methods/groups/finding",
        "scale = np.where(alive, 1.0 / np.where(alive, spread, 1.0), 0.0)",
        "0.0 -> 1.0",
    ): "covariances of a constant are 0 but for rounding",
    ("methods/thresholding/bounds", "problem.signs > 0,", "> -> >="): "signs are -1 and 1",
}


def reason_for(module: str, source: str, mutant: Mutant) -> str:
    """Why a mutant may live; nothing where it may not."""
    line = source.splitlines()[mutant.line - 1].strip()
    return REASONS.get((module, line, f"{mutant.old} -> {mutant.new}"), "")
