"""Results of every estimator on small data, frozen: ``python tests/house/bits.py FILE`` writes
them, or compares with them where FILE exists.

For changes that must not change a result: run it before the first step and after every one. It
holds all public attributes, what the methods return, models from files, streams, clusters and saved
models, scores of single rows, selected features with their q-values and effects, and the numbers of
exports and reports. Of what differs it prints the largest difference, relative to the largest
number, so that another order of a sum is not taken for another model.
"""

import json
import re
import sys
import tempfile
import warnings
from pathlib import Path

import numpy as np
import scipy.sparse as sp

sys.path[:0] = [str(Path(__file__).parents[1]), str(Path(__file__).parents[1] / "laws")]

import tiny  # noqa: E402
from registry import ESTIMATORS, small  # noqa: E402
from sklearn.base import is_classifier, is_regressor  # noqa: E402
from sklearn.utils.validation import has_fit_parameter  # noqa: E402

import tamis  # noqa: E402

METHODS = ("decision_function", "predict_proba", "predict", "transform", "get_support")
WIDE = tiny.matrix(60, 25, seed=5)


def targets(cls, several=False):
    """Targets that suit a class: two classes or a number a row, or more of both."""
    if several:
        return tiny.classes(60) if is_classifier(cls()) else tiny.numbers(WIDE, 3)
    return tiny.numbers(WIDE) if is_regressor(cls()) else (tiny.signs(WIDE) > 0).astype(int)


def planted():
    """Rows of 40 columns, six of which decide two classes."""
    rng = np.random.default_rng(7)
    X = rng.normal(size=(300, 40))
    return X, (X[:, :6].sum(axis=1) + rng.normal(size=300) > 0).astype(int)


# --------------------------------------------------------------------------- cases
def cases(cls):
    """Names of cases, and functions that give what a case shows."""
    streams = hasattr(cls(), "partial_fit")
    sparse = sp.csr_array(WIDE)
    yield "two", lambda: results(fitted(cls, WIDE, targets(cls)), WIDE)
    yield "sparse", lambda: results(fitted(cls, sparse, targets(cls)), sparse)
    yield "many", lambda: results(fitted(cls, WIDE, targets(cls, True)), WIDE)
    yield "float32", lambda: results(fitted(cls, np.float32(WIDE), targets(cls)), np.float32(WIDE))
    if has_fit_parameter(cls(), "sample_weight"):
        arguments = {"sample_weight": tiny.weights(60)}
        yield "weights", lambda: results(fitted(cls, WIDE, targets(cls), **arguments), WIDE)
    if streams:
        yield "stream", lambda: results(streamed(cls, sparse, targets(cls)), sparse)
        yield "many, stream", lambda: results(streamed(cls, WIDE, targets(cls, True)), WIDE)
        yield "file", lambda: from_file(cls)
        yield "cluster", lambda: from_cluster(cls)
        yield "row", lambda: one_by_one(streamed(cls, sparse, targets(cls)), sparse)
    if "Selector" in cls.__name__ or "FDR" in cls.__name__:
        yield "selected", lambda: results(fitted(cls, *planted()), planted()[0])
    yield "saved", lambda: saved(fitted(cls, sparse, targets(cls)), sparse)
    if hasattr(cls, "predict"):
        yield "export", lambda: exported(fitted(cls, sparse, targets(cls)))
        yield "report", lambda: reported(fitted(cls, sparse, targets(cls)))


def make_model(cls):
    """A small model with a seed."""
    model = small(cls)
    return model.set_params(random_state=0) if "random_state" in model.get_params() else model


def fitted(cls, X, y, **arguments):
    """A fit."""
    return make_model(cls).fit(X, y, **arguments)


def streamed(cls, X, y):
    """A stream of two parts."""
    model = make_model(cls)
    arguments = {"classes": np.unique(y)} if is_classifier(model) else {}
    for row_slice in (slice(0, 23), slice(23, None)):
        model.partial_fit(X[row_slice], y[row_slice], **arguments)
    return model


def from_file(cls):
    """A model of a table with words and gaps, and what it says of the table."""
    model, y = make_model(cls), targets(cls)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "table.csv")
        lines = [
            ",".join([*(f"{v:g}" for v in row[:6]), "ab"[k % 2], "" if k % 9 else "u", str(label)])
            for k, (row, label) in enumerate(zip(WIDE, y.tolist(), strict=True))
        ]
        path.write_text("\n".join(["a,b,c,d,e,f,word,gap,y", *lines]) + "\n")
        rows = tamis.open_rows(path, missing="indicator", target="y")
        passes = 1 if "Sieve" in cls.__name__ else 2
        tamis.train(model, rows, passes=passes, progress=False)
        X = sp.vstack([chunk.X for chunk in tamis.open_rows(path, schema=model.reading_)])
        return results(model, sp.csr_array(X)) | flat("reading_", model.reading_)


def from_cluster(cls):
    """A model of three partitions."""
    y, model = targets(cls), make_model(cls)
    blocks = [(WIDE[k : k + 20], y[k : k + 20]) for k in (0, 20, 40)]
    how = "stages" if "Stabilized" in cls.__name__ or "Sieve" in cls.__name__ else "walk"
    return results(tamis.distributed.fit(model, blocks, how=how, progress=False), WIDE)


def saved(model, X):
    """A model, saved and loaded."""
    with tempfile.TemporaryDirectory() as folder:
        tamis.save(model, Path(folder, "m.tamis"))
        return results(tamis.load(Path(folder, "m.tamis")), X)


def one_by_one(model, X):
    """Scores of single rows."""
    served = tamis.live(model)
    rows = [(X[[k]].indices, X[[k]].data) for k in range(5)]
    return flat("score", [served.score(*row) for row in rows])


def exported(model):
    """Every form of text."""
    values = {}
    for suffix in (".json", ".py", ".sql", ".md"):
        with tempfile.TemporaryDirectory() as folder:
            tamis.export(model, Path(folder, f"m{suffix}"))
            values |= numbers(suffix, Path(folder, f"m{suffix}").read_text())
    return values


def reported(model):
    """Numbers of a report."""
    return numbers("report", str(tamis.report(model)))


# --------------------------------------------------------------------------- what is held
def numbers(name, text):
    """The numbers of a text."""
    values = re.findall(r"(?<![\w.])-?\d+(?:\.\d+)?(?:e[+-]?\d+)?", text)
    return {name: [float(word) for word in values]}


def results(model, X):
    """All public attributes of a model, and what its methods say of X."""
    values = {}
    names = [n for n in vars(model) if n.endswith("_") and not n.startswith("_")]
    names += [n for n in dir(type(model)) if n.endswith("_") and not n.startswith("_")]
    for name in sorted(set(names)):
        try:
            values |= flat(name, getattr(model, name))
        except (AttributeError, NotImplementedError):
            continue
    for name in METHODS:
        if hasattr(model, name):
            values |= flat(name, getattr(model, name)(*([] if name == "get_support" else [X])))
    return values


def flat(name, value):
    """A value as lists of numbers and words, by path."""
    if sp.issparse(value):
        value = value.toarray()
    if isinstance(value, dict):
        return {k: v for key, item in value.items() for k, v in flat(f"{name}/{key}", item).items()}
    if hasattr(value, "_asdict"):
        return flat(name, value._asdict())
    if isinstance(value, list | tuple) and any(not np.isscalar(item) for item in value):
        return {
            k: v for at, item in enumerate(value) for k, v in flat(f"{name}/{at}", item).items()
        }
    if isinstance(value, np.ndarray | list | tuple | int | float | np.generic):
        array = np.asarray(value)
        if array.dtype.kind in "biuf":
            return {name: array.astype(float).ravel().tolist()}
        return {name: [str(item) for item in array.ravel().tolist()]}
    if isinstance(value, str) or value is None:
        return {name: [str(value)]}
    if hasattr(value, "get_params"):
        return results(value, WIDE)
    return flat(name, vars(value)) if hasattr(value, "__dict__") else {}


# --------------------------------------------------------------------------- compare
def difference(one, other) -> str:
    """How far two results of one name are apart; nothing where their bits agree."""
    if one == other:
        return ""
    if one is None or other is None:
        return "is gone" if one is None else "is new"
    if len(one) != len(other) or any(isinstance(v, str) for v in [*one, *other]):
        return f"was {str(other)[:60]}, is {str(one)[:60]}"
    a, b = np.array(one), np.array(other)
    if np.array_equal(a, b, equal_nan=True):
        return ""
    n_different, size = np.nanmax(np.abs(a - b)), max(np.nanmax(np.abs(a)), 1e-300)
    zeros_note = "" if np.array_equal(a != 0, b != 0) else ", other zeros"
    return f"apart by {n_different / size:.1e} of the largest{zeros_note}"


def run_case(act) -> dict:
    """What a case shows, or the error that refuses it."""
    try:
        return act()
    except (TypeError, ValueError, AttributeError, ImportError) as error:
        return {"refused": [type(error).__name__]}


def main() -> None:
    """Fit all; write or compare."""
    warnings.simplefilter("ignore")
    path = Path(sys.argv[1])
    now = {
        f"{cls.__name__}, {name}": run_case(act)
        for cls in ESTIMATORS
        if not sys.argv[2:] or cls.__name__ in sys.argv[2:]
        for name, act in cases(cls)
    }
    now = json.loads(json.dumps(now))
    if not path.exists():
        path.write_text(json.dumps(now))
        print(f"{len(now)} cases of {len(ESTIMATORS)} estimators frozen.")
        return
    before, n_different = json.loads(path.read_text()), 0
    for case in sorted(now):
        for name in sorted({*before.get(case, {}), *now[case]}):
            change = difference(now[case].get(name), before.get(case, {}).get(name))
            n_different += bool(change)
            if change:
                print(f"{case}: {name} {change}")
    print(f"{len(now)} cases of {len(ESTIMATORS)} estimators; {n_different} results differ.")


if __name__ == "__main__":
    main()
