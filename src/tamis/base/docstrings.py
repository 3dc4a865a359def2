"""What the methods of estimators take and return, said once: docstrings without these sections are
completed from their signatures.
"""

import inspect

from sklearn.base import ClassifierMixin, RegressorMixin

ARGUMENTS = {
    "X": "X : {array-like, sparse matrix} of shape (n_samples, n_features)\n    Rows.",
    "task": "task : array-like of shape (n_samples,), default=None\n"
    "    Task of each row, a number or a word; None where there is one task.",
    "classes": "classes : array-like, default=None\n"
    "    All classes; needed in the first call, unless ``grow=True`` or y is a matrix of labels.",
    "sample_weight": "sample_weight : array-like of shape (n_samples,), default=None\n"
    "    Weights of the rows; a row of weight 0 changes nothing.",
    "offset": "offset : array-like of shape (n_samples,), default=None\n"
    "    A number a row that is added to its score, such as the logarithm of an exposure. A model\n"
    "    that was fitted with one needs it to predict, too.",
}
CLASSES = (
    "y : array-like of shape (n_samples,), or 0/1 matrix of shape (n_samples, n_labels)\n"
    "    Classes, or one column a label."
)
NUMBERS = "y : array-like of shape (n_samples,) or (n_samples, n_targets)\n    Targets."
RETURNS = {
    "fit": "self : object",
    "partial_fit": "self : object",
    "score": "score : float",
    "decision_function": "scores : ndarray of shape (n_samples,) or (n_samples, n_classes)\n"
    "    One column for two classes; positive speaks for ``classes_[1]``.",
    "predict_proba": "P : ndarray of shape (n_samples, n_classes)",
    "predict_log_proba": "P : ndarray of shape (n_samples, n_classes)",
    "explain": "explanations : Explanations\n"
    "    ``contributions`` by `names`, a sparse matrix an output, `intercept` and `score`;\n"
    "    ``explanations[i]``, ``top(i, n)`` and ``table(i)`` tell of row i.",
    "transform": "T : array of shape (n_samples, n_features_out)",
}
PREDICTED = (  # by the class that predicts; a method may serve classifiers and regressors
    (ClassifierMixin, "y : ndarray of shape (n_samples,), or (n_samples, n_labels) of 0 and 1"),
    (RegressorMixin, "y : ndarray of shape (n_samples,) or (n_samples, n_targets)"),
    (object, "y : ndarray of shape (n_samples,) or (n_samples, n_outputs)"),
)


def complete(cls: type) -> None:
    """Complete the docstrings of a class's methods, those of its bases in tamis included."""
    said = ARGUMENTS | {"y": CLASSES if issubclass(cls, ClassifierMixin) else NUMBERS}
    for base in cls.__mro__:
        predicted = next(text for kind, text in PREDICTED if issubclass(base, kind))
        returned = RETURNS | {"predict": predicted}
        for name in returned.keys() & vars(base).keys() if base.__module__[:5] == "tamis" else ():
            thing = vars(base)[name]
            method = getattr(thing, "fn", thing)  # behind scikit-learn's `available_if`
            taken = list(inspect.signature(method).parameters)[1:]
            text = inspect.cleandoc(method.__doc__ or "")
            if text and "Returns\n---" not in text and set(taken) <= set(said):
                entries = "\n".join(said[argument] for argument in taken)
                sections = f"Parameters\n----------\n{entries}\n\nReturns\n-------\n"
                method.__doc__ = thing.__doc__ = f"{text}\n\n{sections}{returned[name]}"
