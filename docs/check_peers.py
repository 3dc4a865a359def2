"""Try the claims of the README's table on what is installed: ``python docs/check_peers.py``.

scikit-learn is always there; Vowpal Wabbit and river come with the extra ``bench``. Each line is
the outcome of a small experiment on made-up documents, not an opinion.
"""

import importlib.util
import pickle
import tempfile
import warnings
from pathlib import Path

import numpy as np
from rich.console import Console
from rich.table import Table
from sklearn.linear_model import SGDClassifier

import tamis
from tamis.datasets import make_text

X, y, _ = make_text(2000, 5000, n_informative=40, random_state=0)
ALPHA = 1e-4


def outcome(experiment) -> str:
    """What an experiment says, or that it was refused."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return experiment()
    except (ValueError, TypeError, KeyError) as error:
        return f"refused ({type(error).__name__})"


# -------------------------------------------------------------------------- scikit-learn's protocol
def sgd(**rest):
    """scikit-learn's SGD with L1 and rows in their order."""
    return SGDClassifier(loss="log_loss", penalty="l1", alpha=ALPHA, shuffle=False, **rest)


def ours(**rest):
    """The same of tamis."""
    return tamis.FOBOSClassifier(alpha=ALPHA, **rest)


def in_calls(model, calls):
    """The model after these many calls of partial_fit."""
    for part in np.array_split(np.arange(len(y)), calls):
        model.partial_fit(X[part], y[part], classes=[0, 1])
    return model


def same_bits(make):
    """One call against forty."""
    one, forty = in_calls(make(), 1).coef_, in_calls(make(), 40).coef_
    return (
        "same bits"
        if (one == forty).all()
        else f"{np.count_nonzero(one):,} -> {np.count_nonzero(forty):,} nonzeros"
    )


def resumed(make):
    """Half of the rows, through a file, the other half, against both halves in one go."""
    whole, half = in_calls(make(), 1), make().partial_fit(X[:1000], y[:1000], classes=[0, 1])
    if isinstance(half, SGDClassifier):
        half = pickle.loads(pickle.dumps(half))
    else:
        with tempfile.TemporaryDirectory() as folder:
            tamis.save(half, Path(folder) / "half.tamis")
            half = tamis.load(Path(folder) / "half.tamis")
    half.partial_fit(X[1000:], y[1000:])
    return "same bits" if (half.coef_ == whole.coef_).all() else "differs"


def weightless(make):
    """Rows of weight 0 in between, against the rest alone."""
    weight = np.tile([1.0, 0.0], len(y) // 2)
    some = make().partial_fit(X, y, classes=[0, 1], sample_weight=weight)
    rest = make().partial_fit(X[::2], y[::2], classes=[0, 1])
    return "nothing" if (some.coef_ == rest.coef_).all() else "changes the model"


def wide(make):
    """64-bit column indices."""
    big = X.copy()
    big.indices, big.indptr = big.indices.astype(np.int64), big.indptr.astype(np.int64)
    make().fit(big, y)
    return "yes"


def balanced(make):
    """Balanced classes in a stream."""
    make(class_weight="balanced").partial_fit(X, y, classes=[0, 1])
    return "yes"


def grown(make):
    """A new column and a new class in mid-stream."""
    model = make().partial_fit(
        X[:1000, :4000], y[:1000], classes=None if hasattr(make(), "grow") else [0, 1]
    )
    model.partial_fit(X[1000:], y[1000:] + 1)
    return "yes"


def averaged(make):
    """Nonzeros without and with averaging."""
    plain, mean = in_calls(make(), 1), in_calls(make(average=True), 1)
    return f"{np.count_nonzero(plain.coef_):,} -> {np.count_nonzero(mean.coef_):,} nonzeros"


EXPERIMENTS = {
    "same rows in 1 and in 40 calls, L1": same_bits,
    "half, save, load, the other half, L1": resumed,
    "a row of weight 0": weightless,
    "64-bit column indices": wide,
    'class_weight="balanced" in a stream': balanced,
    "new columns and classes in a stream": grown,
    "averaging": averaged,
}


# --------------------------------------------------------------------------- others
def wabbit_damage():
    """Forty truncations of a Vowpal Wabbit model: how many load."""
    from vowpalwabbit import Workspace

    lines = [
        f"{2 * label - 1} | "
        f"{' '.join(f'{j}:{v:.4f}' for j, v in zip(row.indices, row.data, strict=True))}"
        for row, label in zip(X[:300], y, strict=False)
    ]
    with tempfile.TemporaryDirectory() as folder:
        path, cut = str(Path(folder) / "model"), str(Path(folder) / "cut")
        model = Workspace(f"--quiet --loss_function logistic --l1 1e-6 -b 14 -f {path}")
        for line in lines:
            model.learn(line)
        model.finish()
        whole, loaded = Path(path).read_bytes(), 0
        for k in range(1, 41):
            Path(cut).write_bytes(whole[: len(whole) * k // 41])
            try:
                Workspace(f"--quiet -i {cut}").finish()
                loaded += 1
            except RuntimeError:
                pass
    return f"{loaded} of 40 cut files load"


def river_many():
    """river: rows one by one against the same rows in one learn_many."""
    import pandas
    from river import linear_model, optim

    small = pandas.DataFrame(X[:200, :200].toarray()).rename(columns=str)
    labels = pandas.Series(y[:200] == 1)
    one, many = (linear_model.LogisticRegression(optim.SGD(0.5), l2=1e-3) for _ in range(2))
    for row, label in zip(small.to_dict("records"), labels, strict=True):
        one.learn_one(row, label)
    many.learn_many(small, labels)
    gap = max(abs(one.weights.get(c, 0.0) - many.weights.get(c, 0.0)) for c in small.columns)
    return "same weights" if gap < 1e-12 else f"weights differ by up to {gap:.2g}"


def tamis_damage():
    """Forty truncations of a model file of tamis: how many load."""
    loaded = 0
    with tempfile.TemporaryDirectory() as folder:
        path, cut = Path(folder) / "model", Path(folder) / "cut"
        tamis.save(in_calls(ours(), 1), path)
        whole = path.read_bytes()
        for k in range(1, 41):
            cut.write_bytes(whole[: len(whole) * k // 41])
            try:
                tamis.load(cut)
                loaded += 1
            except ValueError:
                pass
    return f"{loaded} of 40 cut files load"


if __name__ == "__main__":
    table = Table(title="what happens")
    for heading in ("experiment", "tamis", "scikit-learn SGD"):
        table.add_column(heading)
    for name, experiment in EXPERIMENTS.items():
        own = {"grow": True} if experiment is grown else {}
        table.add_row(
            name,
            outcome(lambda e=experiment, o=own: e(lambda **r: ours(**o, **r))),
            outcome(lambda e=experiment: e(sgd)),
        )
    Console().print(table)
    print("tamis, model file:", tamis_damage())
    if importlib.util.find_spec("vowpalwabbit"):
        print("Vowpal Wabbit, model file:", outcome(wabbit_damage))
    if importlib.util.find_spec("river"):
        print("river, learn_one against learn_many:", outcome(river_many))
