"""The bits of every estimator on small data, frozen: ``python tests/house/bits.py FILE`` writes
them, or compares with them where FILE exists.

For changes that must not change a result: run it before the first step and after every one. Numbers
are compared by their digests; where they differ, the largest relative difference is told, so that
another order of a sum is not taken for another model.
"""

import json
import sys
import warnings
from pathlib import Path

import numpy as np
import scipy.sparse as sp

sys.path[:0] = [str(Path(__file__).parents[1]), str(Path(__file__).parents[1] / "laws")]

import tiny  # noqa: E402
from registry import ESTIMATORS, small  # noqa: E402
from sklearn.base import is_classifier, is_regressor  # noqa: E402

SHOWN = (
    "coef_",
    "intercept_",
    "selection_probability_",
    "components_",
    "weights_",
    "variance_",
    "alpha_",
)
ASKED = ("decision_function", "predict_proba", "predict", "transform")


def cases(cls):
    """Names, rows and targets to fit on."""
    wide = tiny.matrix(60, 25, seed=5)
    yield (
        "two",
        wide,
        (tiny.signs(wide) > 0).astype(int) if not is_regressor(cls()) else tiny.numbers(wide),
    )
    yield (
        "sparse",
        sp.csr_array(wide),
        (tiny.signs(wide) > 0).astype(int) if not is_regressor(cls()) else tiny.numbers(wide),
    )
    if hasattr(cls(), "partial_fit"):
        yield (
            "stream",
            sp.csr_array(wide),
            (tiny.signs(wide) > 0).astype(int) if not is_regressor(cls()) else tiny.numbers(wide),
        )
        yield (
            "many, stream",
            wide,
            tiny.classes(60) if is_classifier(cls()) else tiny.numbers(wide, 3),
        )
    yield "many", wide, tiny.classes(60) if is_classifier(cls()) else tiny.numbers(wide, 3)


def shown(cls, X, y, stream: bool) -> dict:
    """All numbers that a fit, or a stream of two parts, shows, as lists, or the sentence of its
    refusal.
    """
    model = small(cls)
    if "random_state" in model.get_params():
        model.set_params(random_state=0)
    try:
        if stream:
            for part in (slice(0, 23), slice(23, None)):
                model.partial_fit(
                    X[part], y[part], **({"classes": np.unique(y)} if is_classifier(model) else {})
                )
        else:
            model.fit(X, y)
    except (TypeError, ValueError) as error:
        return {"refused": str(error)[:60]}
    found = {name: getattr(model, name) for name in SHOWN if hasattr(model, name)}
    found |= {name: getattr(model, name)(X) for name in ASKED if hasattr(model, name)}
    dense = {
        name: value.toarray() if sp.issparse(value) else np.asarray(value)
        for name, value in found.items()
    }
    return {
        name: value.astype(float).ravel().tolist()
        for name, value in dense.items()
        if value.dtype.kind in "biuf"
    }


def difference(one, other) -> str:
    """How far two results of one name are apart; nothing where their bits agree."""
    if one == other:
        return ""
    if (
        isinstance(one, str)
        or isinstance(other, str)
        or None in (one, other)
        or len(one) != len(other)
    ):
        return "another shape, or another refusal"
    a, b = np.array(one), np.array(other)
    return f"apart by {np.abs(a - b).max() / max(np.abs(a).max(), 1e-300):.1e} of the largest"


def main() -> None:
    """Fit all; write or compare."""
    warnings.simplefilter("ignore")
    path = Path(sys.argv[1])
    now = {
        f"{cls.__name__}, {name}": shown(cls, X, y, name.endswith("stream"))
        for cls in ESTIMATORS
        for name, X, y in cases(cls)
    }
    if not path.exists():
        path.write_text(json.dumps(now))
        print(f"{len(now)} fits of {len(ESTIMATORS)} estimators frozen.")
        return
    before, apart = json.loads(path.read_text()), 0
    for case in sorted({*before, *now}):
        for name in sorted({*before.get(case, {}), *now.get(case, {})}):
            told = difference(now.get(case, {}).get(name), before.get(case, {}).get(name))
            apart += bool(told)
            if told:
                print(f"{case}: {name} {told}")
    print(f"{len(now)} fits of {len(ESTIMATORS)} estimators; {apart} results differ.")


if __name__ == "__main__":
    main()
