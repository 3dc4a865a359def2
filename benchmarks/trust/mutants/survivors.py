"""Mutants that lived and were read: why no test can, or need, tell them from the source."""

from benchmarks.trust.mutants.places import Mutant

# Module, the line as it stands (without its margin), the change: the reason.
REASONS: dict[tuple[str, str, str], str] = {}


def reason_for(module: str, source: str, mutant: Mutant) -> str:
    """Why a mutant may live; nothing where it may not."""
    line = source.splitlines()[mutant.line - 1].strip()
    return REASONS.get((module, line, f"{mutant.old} -> {mutant.new}"), "")
