"""A recipe is a docstring, its own parameters, and a choice of terms; the rest is written here
once.
"""

import inspect
import re
import textwrap

from sklearn.utils._param_validation import StrOptions

from tamis.base.stream_old import SHARED

_SHARED_DOC = """\
fit_intercept : bool, default=True
    Whether to learn an intercept; it is never penalised.
max_iter : int, default=100
    Most passes over the data in `fit`.
tol : float or None, default=1e-3
    `fit` ends when the mean loss of a pass (with `early_stopping`, the held-out score) has not
    improved by `tol` times the first pass's loss (by `tol`) for `n_iter_no_change` passes. None
    runs all passes.
n_iter_no_change : int, default=3
    Passes without improvement before `fit` ends.
shuffle : bool, default=True
    Whether `fit` walks the rows in a new order each pass. `partial_fit` never shuffles.
early_stopping : bool, default=False
    Whether to hold out rows and end by their score.
validation_fraction : float, default=0.1
    Share of rows held out with `early_stopping`.
average : bool, default=False
    Whether to show weights averaged over the steps of each feature's present stay in the support;
    zeros stay zeros. Costs 8 bytes a column and output.
positive : bool, default=False
    Whether weights must not be negative.
grow : bool, default=False
    Whether `partial_fit` accepts new columns (at the right) and new classes in mid-stream.
warm_start : bool, default=False
    Whether `fit` goes on from the present state.
n_jobs : int or None, default=None
    Threads over the classes or targets; the result does not depend on it.
random_state : int, RandomState instance or None, default=None
    Seed of the shuffles and of the held-out part.
verbose : bool or "auto", default="auto"
    Progress bar of `fit`: "auto" shows it on a terminal after three seconds.
"""
_CLASS_WEIGHT_DOC = """\
class_weight : dict, "balanced" or None, default=None
    Weights of the classes, multiplied into the row weights. "balanced" counts the whole of y in
    `fit`, and in `partial_fit` the rows so far, the present one included.
"""
_ATTRIBUTES_DOC = """\
coef_ : ndarray of shape (n_outputs, n_features)
    Weights, every debt paid; zeros are exact. Made on demand; a regressor with one target has shape
    (n_features,).
intercept_ : ndarray of shape (n_outputs,)
    Intercepts.
support_ : ndarray of int
    Indices of the kept features.
n_iter_ : int
    Passes made.
t_ : int
    Steps made.
history_ : list of dict
    Per pass: rows seen, mean loss of each row before it was learnt, nonzero weights. In a stream,
    whenever its length doubles.
resolved_params_ : dict
    The automatic constants as they stand.
n_features_in_ : int
    Number of columns.
feature_names_in_ : ndarray of str
    Names of the columns, where X had them.
"""
_CLASSES_DOC = """\
classes_ : ndarray
    Class labels; for a matrix of labels, their numbers.
multilabel_ : bool
    Whether the targets were a 0/1 matrix of labels.
"""


def recipe(constraints, without=(), **own):
    """Give a model its constructor: its own parameters first, then those that all models of its
    family share, but for `without`.
    """

    def build(cls):
        classifier = hasattr(cls, "predict_proba")
        weighed = classifier and cls._class_weighted
        shared = inspect.signature(cls.__init__).parameters
        parameters = [inspect.Parameter("self", inspect.Parameter.POSITIONAL_OR_KEYWORD)]
        parameters += [
            inspect.Parameter(name, inspect.Parameter.POSITIONAL_OR_KEYWORD, default=value)
            for name, value in own.items()
        ]
        if weighed:
            parameters.append(
                inspect.Parameter("class_weight", inspect.Parameter.KEYWORD_ONLY, default=None)
            )
        parameters += [p for name, p in shared.items() if name not in ("self", *without)]
        signature = inspect.Signature(parameters)

        def __init__(self, *positional, **named):
            bound = signature.bind(self, *positional, **named)
            bound.apply_defaults()
            for name, value in list(bound.arguments.items())[1:]:
                setattr(self, name, value)

        __init__.__signature__ = signature
        cls.__init__ = __init__
        common = {name: SHARED[name] for name in shared if name not in ("self", *without)}
        cls._parameter_constraints = {
            **common,
            **constraints,
            **({"class_weight": [dict, StrOptions({"balanced"}), None]} if weighed else {}),
        }
        _document(cls, classifier, weighed, without)
        return cls

    return build


def _document(cls, classifier, weighed, without):
    """Write the shared parameters and attributes into the docstring."""
    text = inspect.cleandoc(cls.__doc__)
    shared, shown = cls._family_doc or (_SHARED_DOC, _ATTRIBUTES_DOC)
    for name in without:
        shared = re.sub(rf"^{name} : .*\n(    .*\n)+", "", shared, flags=re.MULTILINE)
    parameters = (_CLASS_WEIGHT_DOC if weighed else "") + shared
    attributes = shown + (_CLASSES_DOC if classifier else "")
    text = text.replace("{shared}\n", parameters).replace("{attributes}\n", attributes)
    cls.__doc__ = textwrap.indent(text, "    ").strip() + "\n    "
