"""kill -9 at any moment: the same command again ends in the same bytes.

(`python -m benchmarks kills` does two hundred.)
"""

import os
import signal
import subprocess
import sys
import time

import numpy as np

COMMAND = (
    "fit a.svm --stream --passes 3 --chunk-rows 300 --every 600 --checkpoint ck --out m --json "
    "--set n_paths=2 --set n_folds=2 --set n_sample=400"
)


def start(folder):
    command = [sys.executable, "-m", "tamis", *COMMAND.split()]
    return subprocess.Popen(
        command, cwd=folder, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True
    )


def changed(path):
    return path.stat().st_mtime_ns if path.exists() else 0


def test_killed_and_begun_again(tmp_path):
    (tmp_path / "a.svm").write_text(
        "".join(
            f"{k % 3 % 2} {1 + k % 70}:{k % 3} {80 + k % 13}:0.5 {99 + k % 5}:1\n"
            for k in range(6000)
        )
    )
    assert start(tmp_path).wait(timeout=300) == 0
    wanted = (tmp_path / "m").read_bytes()
    (tmp_path / "m").unlink()
    assert not (tmp_path / "ck").exists()
    others = {tmp_path / name: name.encode() for name in ("model-0-600.tamis", ".tamis-mine.tmp")}
    for path, content in others.items():
        path.write_bytes(content)
    random, place, kills = np.random.default_rng(0), tmp_path / "ck" / "checkpoint.json", 0
    for _ in range(3):
        child, before = start(tmp_path), changed(place)
        while child.poll() is None and changed(place) == before:
            time.sleep(0.01)
        time.sleep(random.uniform(0.0, 0.1))
        os.kill(child.pid, signal.SIGKILL)
        kills += child.wait() == -signal.SIGKILL
    assert kills == 3
    assert start(tmp_path).wait(timeout=300) == 0
    assert (tmp_path / "m").read_bytes() == wanted
    assert not (tmp_path / "ck").exists()
    assert all(path.read_bytes() == content for path, content in others.items())
    assert sorted(path.name for path in tmp_path.iterdir()) == [
        ".tamis-mine.tmp",
        "a.svm",
        "m",
        "model-0-600.tamis",
    ]
