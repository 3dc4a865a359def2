"""The base of all estimators: the check of their parameters, and what a batch fit takes from users.

A public method that trains is `locked`: a second thread that trains the same model is refused.
"""

import sys
from types import NoneType
from typing import Any, NamedTuple
from weakref import WeakKeyDictionary

import numpy as np
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.utils._param_validation import validate_parameter_constraints
from sklearn.utils.validation import check_is_fitted

from tamis.base.validation import take_blocks, take_columns, take_matrix, take_weights
from tamis.numerics.csr import Csr
from tamis.system.threads import locked

_FIXED = (bool, int, float, str, NoneType)  # types of values that never change
# Parameters that were found good, by model, and values that never change by class: nothing of it
# lies on the model, in copies or files.
_checked: WeakKeyDictionary[Any, dict] = WeakKeyDictionary()
_good: WeakKeyDictionary[type, set] = WeakKeyDictionary()
MOST = 4096  # values of a class that are kept
LAYOUTS = {"rows": take_matrix, "columns": take_columns, "dense": take_blocks}


class Estimator(BaseEstimator):
    """Base of all estimators."""

    def _validate_params(self) -> None:
        """Check the parameters that are not those of the last check; what may change in place is
        looked at again.
        """
        known, held = _checked.get(self, {}), vars(self)
        new = {
            name: held[name]
            for name in self._parameter_constraints
            if name in held
            and (held[name] is not known.get(name, known) or type(held[name]) not in _FIXED)
        }
        if new:
            good = _good.setdefault(type(self), set())
            fixed = {n: (n, type(v), v) for n, v in new.items() if type(v) in _FIXED}
            asked = {n: v for n, v in new.items() if fixed.get(n) not in good}
            for name, value in asked.items():
                if type(value) is int and abs(value) > sys.float_info.max:
                    raise ValueError(
                        f"The {name!r} parameter of {type(self).__name__} is a whole number of "
                        f"{value.bit_length():,} bits, which no float holds. Choose a smaller one."
                    )
            validate_parameter_constraints(self._parameter_constraints, asked, type(self).__name__)
            if len(good) > MOST:
                good.clear()
            good.update(fixed.values())
            _checked[self] = {**known, **new}

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        return tags


class Transformer(TransformerMixin, Estimator):
    """Base of all transformers."""

    @locked
    def fit_transform(self, X, y=None, **fit_params):
        """Fit to the rows, then transform them.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Rows.
        y : array-like, default=None
            Targets, where `fit` takes some.
        **fit_params : dict
            What else `fit` takes.

        Returns
        -------
        T : array of shape (n_samples, n_features_out)
        """
        return super().fit_transform(X, y, **fit_params)


class Taken(NamedTuple):
    """What a fit learns from: rows of weight above 0 as SciPy or NumPy have them (or as `Csr`),
    their targets, and weights of which none is 0.
    """

    rows: Any
    targets: Any  # ClassTargets or NumberTargets
    columns: np.ndarray
    weights: np.ndarray
    kept: np.ndarray  # numbers of those rows among the user's
    given: int  # number of the user's rows
    row_weights: np.ndarray  # as given, without the weights of classes


def take(
    model, X, y, sample_weight, *, layout: str = "dense", whole: bool = True, known=None, **beside
) -> Taken:
    """All that a batch method needs from what the user gave; `layout` is "rows" (`Csr`), "columns"
    (a NumPy array or CSC) or "dense" (a NumPy array or CSR).

    A batch of a stream is not the `whole` of it, and goes on from the targets `known`, if any.
    """
    chunk = {} if whole else {"chunk": True}
    given = LAYOUTS[layout](model, X, reset=known is None, **chunk)
    count = given.n_rows if isinstance(given, Csr) else given.shape[0]
    own = take_weights(sample_weight, count, some=whole)
    targets, coded = model._code(y, count, whole=whole, known=known, **beside)
    targets, weights = model._weigh(targets, coded.columns, own, whole=whole)
    rows = given.scipy() if isinstance(given, Csr) and layout != "rows" else given
    columns, kept = coded.columns, np.arange(count)
    if len(weights) and not weights.all():
        kept = np.flatnonzero(weights)
        rows = rows.picked(kept) if isinstance(rows, Csr) else rows[kept]
        columns, weights = columns[kept], weights[kept]
    weights = np.array(weights, dtype=float) if len(weights) else np.ones(len(kept))
    own = np.array(own[kept]) if len(own) else np.ones(len(kept))
    return Taken(rows, targets, np.asarray(columns), weights, kept, count, own)


def plain_rows(model, X, *, reset: bool = False) -> Any:
    """Checked rows as NumPy or SciPy have them."""
    rows = take_blocks(model, X, reset=reset)
    return rows.scipy() if isinstance(rows, Csr) else rows


def take_asked(model, X) -> Any:
    """Rows to predict, as NumPy or SciPy have them."""
    check_is_fitted(model)
    return plain_rows(model, X)
