"""How much memory this process has held, and how much it may still take."""

import os
import sys
from pathlib import Path

STATUS = Path("/proc/self/status")
MEMINFO = Path("/proc/meminfo")
GROUP = Path("/sys/fs/cgroup")  # of a container, where it has a limit of its own
SMALL = 1 << 28  # bytes that are taken without asking what is free


def peak_memory() -> int | None:
    """Most bytes that this process has held at a time; None where the system does not say."""
    if STATUS.exists():
        # Not what `resource` says, which counts what the parent held when it forked.
        for line in STATUS.read_text("utf-8", "replace").splitlines():
            if line.startswith("VmHWM"):
                return 1024 * int(line.split()[1])
    try:
        import resource
    except ImportError:  # Windows
        return None
    held = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return held if sys.platform == "darwin" else 1024 * held


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
