"""How much memory this process may still take."""

import os
from pathlib import Path

MEMINFO = Path("/proc/meminfo")
GROUP = Path("/sys/fs/cgroup")  # of a container, where it has a limit of its own
SMALL = 1 << 28  # bytes that are taken without asking what is free


def free_memory() -> int | None:
    """Bytes that this process may still take; None where the system does not say."""
    found = []
    if MEMINFO.exists() and (available := _numbers(MEMINFO).get("MemAvailable:")):
        found.append(1024 * available)
    try:
        if not found:
            found.append(os.sysconf("SC_AVPHYS_PAGES") * os.sysconf("SC_PAGE_SIZE"))
        # "max", which is no number, where there is no limit.
        limit = int((GROUP / "memory.max").read_text("utf-8"))
        held = int((GROUP / "memory.current").read_text("utf-8"))
        statistics = _numbers(GROUP / "memory.stat")
        # What the system holds of files is counted too, and is given up where memory is wanted.
        cached = statistics["inactive_file"] + statistics["active_file"]
        found.append(max(limit - held + cached, 0))
    except (AttributeError, KeyError, ValueError, OSError):
        pass
    return min(found, default=None)


def _numbers(path: Path) -> dict[str, int]:
    """The number of each name in a file of the system that has one on each line."""
    lines = map(str.split, path.read_text("utf-8").splitlines())
    return {name: int(number) for name, number, *_ in lines}


def check_memory(what: str, needed: int, instead: str) -> None:
    """Refuse to take more than half of the memory that is free, before it is taken; `instead` says
    what to do.
    """
    free = free_memory() if needed > SMALL else None
    if free is not None and needed > free // 2:
        raise MemoryError(
            f"{what} would take {needed / 2**30:,.1f} GiB, more than half of the "
            f"{free / 2**30:,.1f} GiB that are free. {instead}"
        )
