"""A terminal: lines of shell and of Python, run in a folder of their own, and what they said."""

import os
import re
import subprocess
import sys
from dataclasses import dataclass, field
from pathlib import Path

from benchmarks.clock import ROOT
from benchmarks.pages import flow

PATIENCE = 600  # seconds
# Where there is no terminal, lines with times stand for a bar that goes away.
PROGRESS = re.compile(r"[\w ]+: (\d+ %, )?\d+ s(, .*)?")


@dataclass
class Step:
    """A line or a script, what was said, and how it ended; words alone have no `expected` end."""

    line: str
    said: str = ""
    code: int = 0
    expected: int | None = None
    language: str = "console"


@dataclass
class Session:
    """Steps in one folder; `pages` are the reports to be photographed."""

    folder: Path
    steps: list[Step] = field(default_factory=list)
    pages: list[Path] = field(default_factory=list)
    widths: list[tuple[str, int, int]] = field(default_factory=list)

    def __post_init__(self):
        """A command called tamis, that runs this source with this Python."""
        self.home = self.folder / ".bin"
        self.home.mkdir()
        script = self.home / "tamis"
        script.write_text(f'#!/bin/sh\nexec "{sys.executable}" -m tamis "$@"\n')
        script.chmod(0o755)

    # ------------------------------------------------------------------ doing
    def say(self, words: str) -> None:
        """A sentence between two steps."""
        self.steps.append(Step(flow(words), language="words"))

    def run(self, line: str, *, expected: int = 0, most: int = 0) -> str:
        """Run a line of shell; the page leaves out the middle beyond `most` lines."""
        return self._do(Step(line, expected=expected), ["bash", "-c", line], most)

    def python(self, code: str, *, expected: int = 0) -> str:
        """Run a script of Python; what it prints is shown below it."""
        step = Step(code.strip("\n"), expected=expected, language="python")
        return self._do(step, [sys.executable, "-c", code], 0)

    def report(self, name: str) -> None:
        """Remember a page that was written."""
        self.pages.append(self.folder / name)

    def _do(self, step: Step, command: list[str], most: int) -> str:
        """Run and remember; the terminal of the benchmark sees it too."""
        done = subprocess.run(
            command, cwd=self.folder, env=self._surroundings(), text=True, timeout=PATIENCE,
            stdout=subprocess.PIPE, stderr=subprocess.STDOUT, stdin=subprocess.DEVNULL,
        )  # fmt: skip
        step.said, step.code = self._of_any_machine(done.stdout), done.returncode
        print(f"$ {step.line}\n{step.said}", flush=True)
        if step.code != step.expected:
            print(f"ended with {step.code}, not {step.expected}", flush=True)
        lines = step.said.splitlines()
        if most and len(lines) > most:
            lines[most // 2 : most // 2 - most] = [f"... {len(lines) - most} lines more"]
            step.said = "\n".join(lines)
        self.steps.append(step)
        return done.stdout

    def _surroundings(self) -> dict[str, str]:
        """This source, and the command that runs it."""
        path = f"{self.home}{os.pathsep}{os.environ['PATH']}"
        own = {"PATH": path, "PYTHONPATH": str(ROOT / "src"), "PYTHONUNBUFFERED": "1"}
        return {**os.environ, **own}

    def _of_any_machine(self, said: str) -> str:
        """What was said, without the folders of this machine and the time it took."""
        for place, name in ((self.folder.resolve(), "."), (self.folder, "."), (ROOT, "tamis")):
            said = said.replace(str(place), name)
        lines = [line.rstrip() for line in said.rstrip().splitlines()]
        return "\n".join(line for line in lines if not PROGRESS.fullmatch(line))

    # ------------------------------------------------------------------ showing
    def __str__(self):
        """All steps as Markdown; shell lines that follow each other share a block."""
        blocks: list[tuple[str, list[str]]] = []
        for step in self.steps:
            lines = [f"$ {step.line}"] if step.language == "console" else [step.line]
            if step.language == "console":
                lines += step.said.splitlines()
            if blocks and blocks[-1][0] == step.language == "console":
                blocks[-1][1].extend(lines)
            else:
                blocks.append((step.language, lines))
            if step.language == "python" and step.said:
                blocks.append(("text", step.said.splitlines()))
        # A script is marked py: the docs run what is marked python.
        marks = {"python": "py", "console": "console", "text": "text"}
        return "\n\n".join(
            "\n".join(lines) if kind == "words" else "\n".join([f"```{marks[kind]}", *lines, "```"])
            for kind, lines in blocks
        )
