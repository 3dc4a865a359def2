"""Forged model files: any field of any model file is replaced and the checksum written again. They
are loaded in processes that may die.

A forged file raises a ModelFileError, or gives a model whose methods run to the end or raise a
ValueError.
"""

import copy
import hashlib
import json
import os
import subprocess
import sys
import time
import warnings
from collections import Counter
from pathlib import Path

import numpy as np
from model_files.specimens import WAYS, estimators, rows_for, specimens, targets, task_arguments

import tamis
from tamis.model_files import ModelFileError, container
from tamis.model_files.blocks import Block, Blocks

EXPECTED_ERRORS = (ValueError, FloatingPointError)  # their messages say what is wrong
CHILD_TIMEOUT = 120  # seconds without output after which a child process counts as hung
UNUSUAL_NUMBERS = [
    0,
    1,
    -1,
    -5,
    2,
    3,
    7,
    10**6,
    2**31,
    2**32,
    2**63,
    -(2**63),
    10**30,
    0.0,
    -0.0,
    0.5,
    -1.5,
    1e-320,
    1e300,
    -1e300,
]
UNUSUAL_VALUES = [
    None,
    True,
    False,
    "",
    "x",
    "auto",
    [],
    [1.0],
    {"type": "tuple", "items": []},
    {"type": "dict", "items": []},
]
DTYPES = ["f8", "f4", "f2", "i8", "i4", "i2", "u8", "u4", "u1", "?", "c16", "U3", "S2"]


# --------------------------------------------------------------------------- files
def open_file(path: Path) -> tuple[dict, list[np.ndarray]]:
    """Header and arrays of a file."""
    with open(path, "rb") as file:
        header, start, end = container.read_header(file)
        blocks = Blocks(file, header["blocks"], start, end)
        return header, [
            blocks.lazy_array(k).read(lambda piece: None).copy()
            for k in range(len(header["blocks"]))
        ]


def sign_file(header: dict, arrays: list) -> bytes:
    """A file of right lengths and checksum; an array may be a line of the table and its bytes."""
    table, contents, offset = [], [], 0
    for array in arrays:
        block = None if isinstance(array, tuple) else Block(array)
        entry, content = (
            (dict(array[0], offset=offset), array[1])
            if block is None
            else (block.table_entry(offset), b"".join(block.chunks()))
        )
        table.append(entry)
        contents.append(content)
        offset += entry["length"]
    text = json.dumps({**header, "blocks": table}).encode()
    size = len(container.PREAMBLE.format(0, 0, 0)) + len(text) + offset + 32
    whole = b"".join([container.PREAMBLE.format(1, len(text), size).encode(), text, *contents])
    return whole + hashlib.sha256(whole).digest()


def fields(node, path="") -> list[tuple]:
    """Return every value of a header: its container, its key, and its path as text."""
    items = (
        node.items()
        if isinstance(node, dict)
        else enumerate(node)
        if isinstance(node, list)
        else ()
    )
    results = []
    for key, inside in items:
        if (
            key not in ("type", "class", "shows", "name", "digest")
            or not isinstance(node, dict)
            or "type" not in node
        ):
            results += [(node, key, f"{path}.{key}"), *fields(inside, f"{path}.{key}")]
    return results


# --------------------------------------------------------------------------- forgeries
def other_dtype(array, random):
    """The same numbers in another dtype."""
    wanted = str(random.choice([d for d in DTYPES if np.dtype(d) != array.dtype]))
    with np.errstate(all="ignore"):
        return (
            np.zeros(array.shape, wanted)
            if array.dtype.kind in "US" and wanted[0] not in "US"
            else array.astype(wanted)
        )


def other_shape(array, random):
    """More or fewer entries along an axis, an axis more or less, or the axes in another order."""
    way = random.integers(6)
    if array.ndim and way < 3:
        axis = int(random.integers(array.ndim))
        return (
            np.take(array, range(array.shape[axis] - 1), axis)
            if way == 0 and array.shape[axis]
            else np.concatenate([array] * (way + 1), axis)
        )
    return [array.ravel(), array[None], np.ascontiguousarray(array.T)][way % 3]


def put(value):
    """A forgery: one entry of a number array becomes `value`."""

    def forgery(array, random):
        if not array.size or array.dtype.kind not in "iuf":
            return array[:0]
        array = array.copy()
        wanted = value(array.dtype) if callable(value) else value
        if array.dtype.kind in "iu":
            bounds = np.iinfo(array.dtype)
            wanted = min(
                max(int(wanted) if np.isfinite(wanted) else bounds.max, bounds.min), bounds.max
            )
        with np.errstate(all="ignore"):
            array.flat[int(random.integers(array.size))] = wanted
        return array

    return forgery


def shuffled(array, random):
    """The same numbers elsewhere."""
    return random.permutation(array.ravel()).reshape(array.shape)


def vast(array, random):
    """An array of two thousand million rows, all zero, in a few bytes."""
    kind = array.dtype if array.dtype.kind in "biuf" else np.dtype("f8")
    shape = list(array.shape) or [1]
    shape[int(random.integers(len(shape)))] = 2_000_000_000
    return {
        "length": 0,
        "dtype": kind.newbyteorder("<").str,
        "shape": shape,
        "width": 1,
        "rows": 0,
    }, b""


def bits(array, random):
    """A few bits flipped."""
    raw = bytearray(array.tobytes())
    for _ in range(min(len(raw), 4)):
        raw[int(random.integers(len(raw)))] ^= 1 << int(random.integers(8))
    return (
        np.frombuffer(bytes(raw), array.dtype).reshape(array.shape).copy()
        if array.dtype.kind in "iuf"
        else array
    )


ARRAY_FORGERIES = {
    "dtype": other_dtype,
    "shape": other_shape,
    "nan": put(np.nan),
    "infinite": put(np.inf),
    "negative": put(-3.0),
    "huge": put(lambda kind: 1e300 if kind.kind == "f" else 2**62),
    "out of range": put(lambda kind: 1000.0),
    "empty": lambda array, random: array[:0] if array.ndim else array,
    "shuffled": shuffled,
    "vast": vast,
    "bits": bits,
}


def unusual_value(random, candidates):
    """A value that does not belong: a number, a value of another type, another field's, or one that
    is not finite.
    """
    holder, key, _ = candidates[int(random.integers(len(candidates)))]
    infinite = {
        "type": "float",
        "bits": np.float64(random.choice([np.nan, np.inf, -np.inf])).tobytes()[::-1].hex(),
        "shows": "?",
    }
    number, value = (
        UNUSUAL_NUMBERS[int(random.integers(len(UNUSUAL_NUMBERS)))],
        UNUSUAL_VALUES[int(random.integers(len(UNUSUAL_VALUES)))],
    )
    return copy.deepcopy([infinite, number, value, holder[key]][int(random.integers(4))])


def forged(header: dict, arrays: list, random) -> str:
    """Forge one field, at random; what was done, in words."""
    roots = [header["attributes"], header["parameters"]]
    candidates = [spot for root in roots for spot in fields(root)]
    if not candidates:
        header["attributes"]["coef_"] = 1.0
        return "extra"
    if arrays and random.random() < 0.5:
        kind, at = random.choice(list(ARRAY_FORGERIES)), int(random.integers(len(arrays)))
        if not isinstance(arrays[at], tuple):
            arrays[at] = ARRAY_FORGERIES[kind](arrays[at], random)
        return str(kind)
    holder, key, _ = candidates[int(random.integers(len(candidates)))]
    way = random.choice(["value", "value", "value", "drop", "extra", "swap", "order", "parameter"])
    if way == "value":
        holder[key] = unusual_value(random, candidates)
    elif way == "drop" and isinstance(holder, dict) and "type" not in holder:
        del holder[key]
    elif way == "extra" and isinstance(holder, dict):
        holder[
            str(random.choice(["new_", "coef_", "_solver_state", "_sigmoid_params", "classes_"]))
        ] = unusual_value(random, candidates)
    elif way == "swap":
        alike = [(h, k) for h, k, _ in candidates if h is holder and k != key]
        if alike:
            other, other_key = alike[int(random.integers(len(alike)))]
            holder[key], other[other_key] = other[other_key], holder[key]
    elif way == "order" and isinstance(holder[key], dict) and holder[key].get("type") == "array":
        holder[key]["order"] = "C" if holder[key].get("order") == "F" else "F"
    else:
        names = list(header["parameters"])
        header["parameters"][names[int(random.integers(len(names)))]] = unusual_value(
            random, candidates
        )
        way = "parameter"
    return str(way)


def forge(source: Path, target: Path, seed: list[int]) -> str:
    """Write a forged copy of a file: one field is forged, sometimes up to three; what was done
    first, in words.
    """
    original = sign_file(*open_file(source))
    for attempt_number in range(100):
        random = np.random.default_rng([*seed, attempt_number])
        header, arrays = open_file(source)
        kinds = [forged(header, arrays, random) for _ in range(int(random.choice([1, 1, 1, 2, 3])))]
        if (content := sign_file(header, arrays)) != original:
            target.write_bytes(content)
            return kinds[0]
    raise RuntimeError(f"nothing in {source} can be forged")


# --------------------------------------------------------------------------- what becomes of them
def exercise(model) -> None:
    """Everything that a user may ask of a loaded model."""
    X = rows_for(model)
    for name in (
        "predict",
        "decision_function",
        "predict_proba",
        "predict_margin",
        "predict_confidence",
        "predict_tri",
        "transform",
    ):
        ask(model, name, X)
    for name in (
        "coef_",
        "intercept_",
        "support_",
        "resolved_params_",
        "history_",
        "selection_probability_",
        "variance_",
        "paths_",
        "t_",
    ):
        attempt(lambda name=name: getattr(model, name, None))
    if hasattr(model, "partial_fit"):
        for several in (False, True):
            y = targets(model, several)
            attempt(lambda y=y: model.partial_fit(X, y, **task_arguments(model.partial_fit)))
        ask(model, "refine")
        ask(model, "predict", X)
    attempt(lambda: repr(model))


def ask(model, name, *args) -> None:
    """Call a method that the model has."""
    method = attempt(lambda: getattr(model, name, None))
    if callable(method):
        attempt(lambda: method(*args, **(task_arguments(method) if args else {})))


def attempt(call):
    """The call's result, or None where a sentence says what is wrong."""
    try:
        return call()
    except EXPECTED_ERRORS:
        return None
    except TypeError as error:
        # A sentence about a parameter, as scikit-learn begins them.
        if not str(error).startswith("The '"):
            raise


def outcome(path: Path) -> str:
    """`refused`, `works`, or what went wrong."""
    try:
        model = tamis.load(path)
    except ModelFileError:
        return "refused"
    except Exception as error:
        return f"load: {error!r}"
    try:
        with warnings.catch_warnings(), np.errstate(all="ignore"):
            warnings.simplefilter("ignore")
            exercise(model)
    except Exception as error:
        import traceback

        last = traceback.extract_tb(error.__traceback__)[-1]
        return f"{error!r:.200} in {os.path.basename(last.filename)}, line {last.lineno}"
    return "works"


# --------------------------------------------------------------------------- children
def keep(folder: Path, ways=tuple(WAYS), further=True) -> list[str]:
    """Save a model of every class in every way; the names of the files."""
    names = []
    for cls in estimators():
        for number, model in enumerate(specimens(cls, ways, further).values()):
            names.append(f"{cls.__name__}-{number}.tamis")
            tamis.save(model, folder / names[-1])
    return names


def child(folder: Path, names: list[str], seed: int, first: int, last: int) -> None:
    """Forge and load, with a line before and after each: the one before says what killed the
    process, if something does.
    """
    target = folder / f"forged-{os.getpid()}"
    for number in range(first, last):
        source = names[number % len(names)]
        kind = forge(folder / source, target, [seed, number])
        print(json.dumps([number, source, kind]), flush=True)
        print(json.dumps(outcome(target)), flush=True)
    target.unlink(missing_ok=True)


def survey(folder: Path, names: list[str], count: int, seed: int = 0) -> list[tuple[str, str, str]]:
    """Class, kind of forgery and outcome of so many forged files; a child that dies or hangs is
    followed by another.
    """
    (folder / "names.json").write_text(json.dumps(names))
    results: list[tuple[str, str, str]] = []
    while len(results) < count:
        process = _run(folder, seed, len(results), count)
        lines = [json.loads(line) for line in process.output]
        results += [
            (about[1].partition("-")[0], about[2], how)
            for about, how in zip(lines[::2], lines[1::2], strict=False)
        ]
        if len(lines) % 2:
            results.append(
                (
                    lines[-1][1].partition("-")[0],
                    lines[-1][2],
                    f"the process {process.end} at number {lines[-1][0]}",
                )
            )
        elif (
            len(results) < count and process.end != "hung"
        ):  # a busy machine may be slow to start a child
            raise RuntimeError(f"a child ended {process.end} and said: {process.stderr}")
    return results


class _run:
    """A child process, its lines, and how it ended."""

    def __init__(self, folder: Path, seed: int, first: int, last: int):
        command = [
            sys.executable,
            "-m",
            "model_files.forging",
            str(folder),
            str(seed),
            str(first),
            str(last),
        ]
        tests = str(Path(__file__).resolve().parents[1])
        environment = os.environ | {
            "PYTHONPATH": os.pathsep.join([tests, os.environ.get("PYTHONPATH", "")])
        }
        stdout_path, stderr_path = folder / f"out-{os.getpid()}", folder / f"err-{os.getpid()}"
        with open(stdout_path, "w") as out, open(stderr_path, "w") as err:
            process = subprocess.Popen(command, stdout=out, stderr=err, env=environment)
            size, last_output = 0, time.monotonic()
            while process.poll() is None:
                time.sleep(0.2)
                if os.path.getsize(stdout_path) != size:
                    size, last_output = os.path.getsize(stdout_path), time.monotonic()
                if time.monotonic() - last_output > CHILD_TIMEOUT:
                    process.kill()
                    process.wait()
                    break
        self.output = stdout_path.read_text().splitlines()
        self.end = (
            "hung"
            if time.monotonic() - last_output > CHILD_TIMEOUT
            else f"died ({process.returncode})"
        )
        self.stderr = stderr_path.read_text()[-2000:]


def tally(results) -> tuple[Counter, list]:
    """Counts of (class, kind, refused/works/failed), and the failures."""
    counts = Counter(
        (cls, kind, how if how in ("refused", "works") else "failed") for cls, kind, how in results
    )
    return counts, [line for line in results if line[2] not in ("refused", "works")]


if __name__ == "__main__":
    folder, *numbers = sys.argv[1:]
    child(Path(folder), json.loads((Path(folder) / "names.json").read_text()), *map(int, numbers))
