"""A hundred thousand mutated files: ``python -m benchmarks.mutations [COUNT] [SEED]``.

Every file is read, and either gives rows with finite numbers or is refused by a ReadError; anything else is a failure.
"""

import sys
import tempfile
import time
from pathlib import Path

import numpy as np

from benchmarks.clock import ROOT

SLOW = 5.0  # seconds of CPU time after which a small file counts as a hang


def main() -> None:
    """Mutate, read, count."""
    sys.path.insert(0, str(ROOT / "tests"))
    from read.corpus import WHOLE, mutated

    from tamis import open_rows
    from tamis.read.rows import ReadError

    count, seed = (int(given) if given else usual for given, usual in zip((*sys.argv[1:], "", "")[:2], (100_000, 0), strict=True))
    random, names, failures, refused, begin = np.random.default_rng(seed), list(WHOLE), [], 0, time.monotonic()
    with tempfile.TemporaryDirectory() as folder:
        for name, content in {**WHOLE, "wide.svm": b"1 4000000000:1\n"}.items():  # what is compiled now is no hang later
            (Path(folder) / name).write_bytes(content)
            list(open_rows(Path(folder) / name))
        for number in range(count):
            name = names[number % len(names)]
            path, content, since = Path(folder) / name, mutated(name, random), time.process_time()
            path.write_bytes(content)
            try:
                for chunk in open_rows(path, on_bad=("error", "skip")[number // len(names) % 2]):
                    chunk.X.check_format(full_check=True)
                    if not np.isfinite(chunk.X.data).all():
                        failures.append((name, "not finite", content))
            except ReadError:
                refused += 1
            except Exception as error:
                failures.append((name, repr(error), content))
            if time.process_time() - since > SLOW:
                failures.append((name, "slow", content))
    print(f"{count:,} files, {refused:,} refused, {len(failures)} failures; {time.monotonic() - begin:.0f} s")
    for name, what, content in failures[:10]:
        print(name, what, content)
    sys.exit(bool(failures))


if __name__ == "__main__":
    main()
