"""A process that has loaded everything but tamis, and forks for every mutant: its child runs tests
on the source as it lies there, and ends.

``python -m benchmarks.trust.mutants.nursery``, in a copy of the tree; a question a line, as JSON.
"""

import contextlib
import importlib
import json
import os
import resource
import signal
import sys
import threading
import time
from pathlib import Path

LOADED = (
    "numpy", "scipy.sparse", "scipy.optimize", "scipy.stats", "sklearn.linear_model",
    "sklearn.utils.estimator_checks", "numba", "pandas", "pytest", "hypothesis",
)  # fmt: skip
ANSWER, SAID = Path(f"answer_{os.getpid()}.json"), f"said_{os.getpid()}.txt"


class Watch:
    """A pytest plugin: what passed in how many seconds, and which lines of one file it ran."""

    def __init__(self, file: str | None, limit: float):
        self.file, self.limit = file and str(Path(file).resolve()), limit
        self.passed: dict = {}
        self.failed: list = []
        self.lines: set = set()

    def pytest_runtest_protocol(self, item, nextitem):
        """Watch a test, from its fixtures on."""
        self.lines, self.begin = set(), time.process_time()
        # CPU time: what else the machine does must not fail a test.
        signal.signal(signal.SIGPROF, self._late)
        signal.setitimer(signal.ITIMER_PROF, self.limit)
        if self.file:
            threading.settrace(self._called)
            sys.settrace(self._called)

    def pytest_runtest_logfinish(self, nodeid, location):
        """Stop watching."""
        sys.settrace(None)
        threading.settrace(None)  # type: ignore[arg-type]
        signal.setitimer(signal.ITIMER_PROF, 0.0)
        if nodeid in self.passed:
            taken = time.process_time() - self.begin
            self.passed[nodeid] = [taken, sorted(self.lines)]

    def pytest_runtest_logreport(self, report):
        """Remember how a test ended."""
        if report.when == "call" and report.passed:
            self.passed[report.nodeid] = None
        if report.failed:
            self.passed.pop(report.nodeid, None)
            self.failed.append(report.nodeid)

    def _late(self, *_):
        raise TimeoutError(f"a test took more than {self.limit:.0f} s")

    def _called(self, frame, event, argument):
        return self._walked if frame.f_code.co_filename == self.file else None

    def _walked(self, frame, event, argument):
        self.lines.add(frame.f_lineno)
        return self._walked


def child(asked: dict) -> None:
    """Run tests and say what came out."""
    import pytest

    sys.dont_write_bytecode = not asked["file"]
    watch = Watch(asked["file"], asked["limit"])
    more = [] if asked["all"] else ["-x"]
    with open(SAID, "w") as said, contextlib.redirect_stdout(said):
        os.dup2(said.fileno(), 1)
        os.dup2(said.fileno(), 2)
        code = pytest.main(["-p", "no:xdist", "--tb=line", *more, *asked["tests"]], plugins=[watch])
    found = {"code": int(code), "passed": watch.passed, "failed": watch.failed}
    ANSWER.write_text(json.dumps(found))
    os._exit(0)


def answer(asked: dict) -> dict:
    """Fork, wait no longer than asked, and collect."""
    ANSWER.unlink(missing_ok=True)
    before = _spent()
    pid = os.fork()
    if not pid:
        os.setpgid(0, 0)
        try:
            child(asked)
        finally:
            os._exit(1)
    end, found = time.monotonic() + asked["seconds"], {"late": True}
    while os.waitpid(pid, os.WNOHANG) == (0, 0):
        if time.monotonic() > end:
            _kill(pid)
            os.waitpid(pid, 0)
            break
        time.sleep(0.02)
    else:
        found = json.loads(ANSWER.read_text()) if ANSWER.exists() else {"died": True}
    _kill(pid)
    return {**found, "cpu": _spent() - before}


def _kill(group: int) -> None:
    """End what a child started, and the child where it is there."""
    with contextlib.suppress(ProcessLookupError):
        os.killpg(group, signal.SIGKILL)


def _spent() -> float:
    """CPU seconds of the children that have ended."""
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def main() -> None:
    """Load, then answer until there are no more questions."""
    for name in LOADED:
        with contextlib.suppress(ImportError):
            importlib.import_module(name)
    for line in sys.stdin:
        print(json.dumps(answer(json.loads(line))), flush=True)


if __name__ == "__main__":
    main()
