"""How much memory this process has held."""

import sys
from pathlib import Path

STATUS = Path("/proc/self/status")


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
