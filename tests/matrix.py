"""Tests under settings that imitate other machines: kinds of BLAS kernels and threads, plain
machine code, other Pythons and versions.

``python tests/matrix.py`` runs all of it, ``--short`` two kinds of BLAS kernels, but not the kind
that this machine takes by itself, under which ``make tests`` runs; ``--only WORD`` the settings
whose name holds the word. Each
setting is a pytest process of its own; a table of them is printed at the end, and a failure in any
of them fails the whole. Only the standard library is used: the interpreters under test have
environments of their own, in ``build/matrix``.
"""

import argparse
import functools
import hashlib
import os
import re
import subprocess
import sys
import time
import tomllib
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import NamedTuple

HOME = Path(__file__).parent.parent
BUILD = HOME / "build" / "matrix"
# What each kind of kernels needs of the processor, and the names under which OpenBLAS may report
# it: wheels that hold no code of their own for a kind name the kind whose code they take for it.
KERNELS = {
    "Prescott": ({"pni"}, {"Prescott", "Katmai"}),
    "Haswell": ({"avx2", "fma"}, {"Haswell"}),
    "SkylakeX": ({"avx512f", "avx512bw", "avx512cd", "avx512dq", "avx512vl"}, {"SkylakeX"}),
    "Zen": ({"avx2", "fma"}, {"Zen", "Haswell"}),
}
PYTHONS = ("3.11", "3.12", "3.13")
PROBE = (
    "import numpy, scipy.linalg, threadpoolctl as t; print(*{i['architecture'] for i in "
    "t.threadpool_info() if i['internal_api'] == 'openblas'})"
)


class Setting(NamedTuple):
    """One row of the table: a name, what is added to the environment, which tests, and who runs
    them.
    """

    name: str
    variables: dict
    marks: str = "delicate"
    python: str = ""  # a folder of build/matrix; empty for the interpreter of this script


class Row(NamedTuple):
    """What came of a setting; `word` says why it was skipped, or what went wrong before the tests
    began.
    """

    setting: Setting
    counts: dict
    seconds: float
    word: str = ""
    good: bool = True


# --------------------------------------------------------------------------- settings
def machines(short: bool):
    """Kinds of BLAS kernels with one thread and with two, and machine code for any processor of the
    architecture.
    """
    if short:
        own = architectures(sys.executable, os.environ)
        for core in ("Prescott", "Haswell"):
            if own and own <= KERNELS[core][1]:
                continue
            yield Setting(
                f"{core}, 1 BLAS thread",
                {"OPENBLAS_CORETYPE": core, "OPENBLAS_NUM_THREADS": "1"},
                "delicate and not long",
            )
        return
    for threads, words in ("1", "1 BLAS thread"), ("2", "2 BLAS threads"):
        yield Setting(f"own kernels, {words}", {"OPENBLAS_NUM_THREADS": threads})
        for core in KERNELS:
            yield Setting(
                f"{core}, {words}", {"OPENBLAS_CORETYPE": core, "OPENBLAS_NUM_THREADS": threads}
            )
    yield Setting(
        "generic machine code",
        {"NUMBA_CPU_NAME": "generic", "NUMBA_CACHE_DIR": str(BUILD / "generic")},
    )


def pythons():
    """Each Python with the newest versions, and the lowest Python with the lowest versions."""
    for version in PYTHONS:
        yield Setting(f"Python {version}", {}, "quick or delicate", version)
    yield Setting("lowest versions", {}, "quick or delicate", "lowest")


def lowest(project: dict) -> str:
    """Constraints that pin every dependency with a lower bound to that bound."""
    named = [
        *project["dependencies"],
        *(
            need
            for extra in ("plot", "arrow", "zstd", "conic", "test")
            for need in project["optional-dependencies"][extra]
        ),
    ]
    found = [re.match(r"([\w-]+)>=([\w.]+)", need) for need in named]
    return "".join(f"{pin[1]}=={pin[2]}\n" for pin in found if pin)


def missing(core: str) -> str:
    """What this machine's processor lacks for a kind of kernels."""
    try:
        flags = set(
            re.search(r"^flags\s*:(.*)$", Path("/proc/cpuinfo").read_text(), re.MULTILINE)[
                1
            ].split()
        )
    except (OSError, TypeError):
        return "the processor does not say which instructions it has"
    absent = KERNELS[core][0] - flags
    return f"the processor has no {', '.join(sorted(absent))}" if absent else ""


# -------------------------------------------------------------------- environments of other Pythons
def interpreter(version: str) -> str | None:
    """The interpreter of a version on the PATH; the variable is for the stand-ins that pyenv puts
    there.
    """
    call = [f"python{version}", "-c", "import sys; print(sys.executable)"]
    try:
        done = subprocess.run(
            call, capture_output=True, text=True, env={**os.environ, "PYENV_VERSION": version}
        )
    except OSError:
        return None
    return done.stdout.strip() if done.returncode == 0 else None


def environment(kind: str) -> tuple[str, str]:
    """The interpreter of an environment under ``build/matrix``, made if need be, and a word where
    there is none.
    """
    version = PYTHONS[0] if kind == "lowest" else kind
    base = interpreter(version)
    if base is None:
        return "", f"skipped: no python{version} on the PATH"
    text = (HOME / "pyproject.toml").read_text()
    folder, digest = BUILD / kind, hashlib.sha256(text.encode()).hexdigest()
    python, stamp = str(folder / "bin" / "python"), folder / "stamp"
    if not stamp.exists() or stamp.read_text() != digest:
        subprocess.run([base, "-m", "venv", "--clear", folder], check=True)
        constraints = folder / "constraints.txt"
        constraints.write_text(lowest(tomllib.loads(text)["project"]) if kind == "lowest" else "")
        options = [
            "--quiet",
            "--disable-pip-version-check",
            "--only-binary",
            ":all:",
            "--constraint",
            str(constraints),
        ]
        done = subprocess.run(
            [python, "-m", "pip", "install", *options, "--editable", ".[test]"],
            cwd=HOME,
            capture_output=True,
            text=True,
        )
        if done.returncode:
            return "", f"pip: {done.stderr.strip().splitlines()[-1]}"
        stamp.write_text(digest)
    return python, ""


# --------------------------------------------------------------------------- runs
def files(marks: str) -> list[str]:
    """Files that hold a test with one of the marks: to collect the others would take longer than to
    run these.
    """
    wanted = [f"mark.{mark}" for mark in ("quick", "delicate") if mark in marks]
    return sorted(
        str(path)
        for path in (HOME / "tests").rglob("test_*.py")
        if any(mark in path.read_text() for mark in wanted)
    )


def architectures(python: str, variables) -> set[str]:
    """The kinds of kernels that NumPy and SciPy take; none where they do not use OpenBLAS."""
    told = subprocess.run([python, "-c", PROBE], capture_output=True, text=True, env=variables)
    return set(told.stdout.split())


def kernels(python: str, core: str, variables: dict) -> tuple[str, bool]:
    """A word where the tests cannot run with a kind of kernels, and whether that is no fault."""
    if missing(core):
        return f"skipped: {missing(core)}", True
    told = architectures(python, variables)
    if not told:
        return "skipped: NumPy and SciPy do not use OpenBLAS here", True
    return (
        ("", True)
        if told <= KERNELS[core][1]
        else (f"OpenBLAS took the kernels of {', '.join(sorted(told))}", False)
    )


def run(setting: Setting, workers: int = 1) -> Row:
    """The row of a setting, its tests run by so many processes."""
    start, variables, python, word, good = (
        time.perf_counter(),
        {**os.environ, **setting.variables},
        sys.executable,
        "",
        True,
    )
    if setting.python:
        python, word = environment(setting.python)
        good = not word or word.startswith("skipped")
        variables["NUMBA_CACHE_DIR"] = str(BUILD / setting.python / "numba")
    elif "OPENBLAS_CORETYPE" in setting.variables:
        word, good = kernels(python, setting.variables["OPENBLAS_CORETYPE"], variables)
    if word:
        return Row(setting, {}, time.perf_counter() - start, word, good)
    call = [
        python,
        "-m",
        "pytest",
        *(("-n", str(workers)) if workers > 1 else ("-p", "no:xdist")),
        "-m",
        setting.marks,
        "-rfE",
        "--tb=short",
        *files(setting.marks),
    ]
    done = subprocess.run(call, cwd=HOME, capture_output=True, text=True, env=variables)
    counts = {
        kind: int(n)
        for n, kind in re.findall(
            r"(\d+) (passed|failed|skipped|error)", "".join(done.stdout.splitlines()[-1:])
        )
    }
    if done.returncode:
        print(f"\n=== {setting.name}\n{done.stdout}{done.stderr}", flush=True)
    return Row(
        setting,
        counts,
        time.perf_counter() - start,
        "" if counts else f"pytest ended with {done.returncode}",
        done.returncode == 0,
    )


def table(rows: list[Row]) -> str:
    """The rows, as Markdown."""
    lines = ["| setting | passed | failed | skipped | seconds |", "| --- | --- | --- | --- | --- |"]
    for row in rows:
        count = row.counts.get
        cells = (
            [count("passed", 0), count("failed", 0) + count("error", 0), count("skipped", 0)]
            if row.counts
            else [row.word, "", ""]
        )
        lines.append(
            f"| {row.setting.name} | {' | '.join(str(cell) for cell in cells)} | {row.seconds:.0f} "
            "|"
        )
    return "\n".join(lines)


def main() -> int:
    """Run what the command line asks for; 1 if anything failed."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--short", action="store_true", help="two kinds of BLAS kernels alone")
    parser.add_argument(
        "--only", default="", metavar="WORD", help="settings whose name holds this word"
    )
    parser.add_argument("--jobs", type=int, default=2, help="processes at a time")
    given = parser.parse_args()
    chosen = [
        s
        for s in (*machines(given.short), *(() if given.short else pythons()))
        if given.only.lower() in s.name.lower()
    ]
    side = max(1, min(given.jobs, len(chosen)))  # settings that run side by side
    with ThreadPoolExecutor(side) as pool:
        rows = []
        for row in pool.map(functools.partial(run, workers=given.jobs // side), chosen):
            print(table([row]).splitlines()[-1], flush=True)
            rows.append(row)
    print(f"\n{table(rows)}")
    return 0 if rows and all(row.good for row in rows) else 1


if __name__ == "__main__":
    sys.exit(main())
