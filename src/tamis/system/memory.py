"""Free memory of this process."""

import os
from pathlib import Path

MEMINFO = Path("/proc/meminfo")
CGROUP = Path("/sys/fs/cgroup")  # limits of a container
UNCHECKED_BYTES = 1 << 28  # requests up to this size need no check


def free_memory() -> int | None:
    """Return the bytes that this process may still allocate, None if the system does not tell."""
    candidates = []
    if MEMINFO.exists() and (available := _read_numbers(MEMINFO).get("MemAvailable:")):
        candidates.append(1024 * available)
    try:
        if not candidates:
            candidates.append(os.sysconf("SC_AVPHYS_PAGES") * os.sysconf("SC_PAGE_SIZE"))
        # Without a limit the file contains "max", a ValueError here.
        limit = int((CGROUP / "memory.max").read_text("utf-8"))
        used = int((CGROUP / "memory.current").read_text("utf-8"))
        statistics = _read_numbers(CGROUP / "memory.stat")
        # The count includes cached files, which the system frees when memory is needed.
        cached = statistics["inactive_file"] + statistics["active_file"]
        candidates.append(max(limit - used + cached, 0))
    except (AttributeError, KeyError, ValueError, OSError):
        pass
    return min(candidates, default=None)


def _read_numbers(path: Path) -> dict[str, int]:
    """Return name and number of each line of a system file."""
    lines = map(str.split, path.read_text("utf-8").splitlines())
    return {name: int(number) for name, number, *_ in lines}


def check_memory(what: str, needed: int, advice: str) -> None:
    """Raise MemoryError if `needed` bytes are more than half of the free memory.

    `advice` tells the user what to do.
    """
    free = free_memory() if needed > UNCHECKED_BYTES else None
    if free is not None and needed > free // 2:
        raise MemoryError(
            f"{what} would take {needed / 2**30:,.1f} GiB, more than half of the "
            f"{free / 2**30:,.1f} GiB that are free. {advice}"
        )
