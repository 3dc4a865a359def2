"""What the docstrings of the stabilized models share: parameters and attributes, described once."""

import inspect
import textwrap

PARAMETERS = {
    "n_paths": """\
n_paths : int, default=16
    Paths of descent that vote together. In `fit` each has its own order of the rows; in a stream
    the rows keep theirs, and each path counts each row a Poisson(1) number of times (a bootstrap of
    the stream), drawn from (seed, path, row number).""",
    "burst": """\
burst : int, default=5
    Rows between two truncations of a path.""",
    "bursts_per_stage": """\
bursts_per_stage : int, default=5
    Bursts between two votes of all paths.""",
    "rejection": """\
rejection : float, default=0.7
    Gravity is set so that it exceeds this share of the last stage's displacements a row.""",
    "annealing": """\
annealing : float, default=0.0
    How the rejection falls as features leave: 0 in a straight line, below 0 later, above 0
    earlier.""",
    "purge": """\
purge : float, default=0.7
    A feature leaves for good if, of the bursts of a stage that met it, over all paths, less than
    this share left its weight nonzero.""",
    "burn_in": """\
burn_in : float, default=1.0
    Passes of plain descent before the first truncation; in a stream, whose length nobody knows,
    thousands of rows.""",
    "eta": """\
eta : float or "auto", default="auto"
    Size of the steps, the same all along. "auto" is, over the squared mean norm of the path's rows
    so far (or the row's own, if that is longer), 16 for losses of bounded slope (hinge, logistic),
    and for others and in regression 0.5 over the loss's curvature. The intercept's is a 16th of
    that, without the norm.""",
    "carry": """\
carry : int, default=1
    A feature is judged once this many bursts have met it; until then its votes are carried from
    stage to stage.""",
    "adaptive_burst": """\
adaptive_burst : float or None, default=None
    Alpha in (0, 1]: bursts become ``ceil(burst * log(1 / (alpha * share of features that
    remain)))`` rows long, at most 20 times `burst`. None keeps them as they are; from 1/e (0.37)
    downwards they never become shorter.""",
    "gravity": """\
gravity : "adaptive" or float, default="adaptive"
    Pull towards zero for each row of the burst that has the feature, in units of the weights. A
    number is used as it is.""",
    "fit_intercept": """\
fit_intercept : bool, default=True
    Whether to learn an intercept; it is never truncated.""",
    "max_iter": """\
max_iter : int, default=20
    Most passes of a path over the data in `fit`.""",
    "tol": """\
tol : float or None, default=1e-3
    `fit` ends when a pass after the burn-in purged nothing and moved the mean weights by at most
    `tol` times their norm. Steps of constant size seldom get so quiet: to use all passes is the
    rule, and no warning is given. None runs all passes.""",
    "shuffle": """\
shuffle : bool, default=True
    Whether each path of `fit` walks the rows in an order of its own, a new one each pass. If not,
    `fit` walks them like a stream.""",
    "warm_start": """\
warm_start : bool, default=False
    Whether `fit` goes on from the present state; what was purged stays out.""",
    "n_jobs": """\
n_jobs : int or None, default=None
    Threads over the paths; the result does not depend on it.""",
    "random_state": """\
random_state : int, RandomState instance or None, default=None
    Seed of the orders and of the row weights.""",
    "verbose": """\
verbose : bool or "auto", default="auto"
    Progress bar of `fit`: "auto" shows it on a terminal after three seconds.""",
    "class_weight": """\
class_weight : dict, "balanced" or None, default=None
    Weights of the classes, multiplied into the row weights. "balanced" counts the whole of y in
    `fit`, and in `partial_fit` the rows so far, the present one included.""",
}
ATTRIBUTES = """\
coef_ : ndarray of shape (n_outputs, n_features)
    Weights, the mean of all paths, an open burst truncated; zeros are exact. A regressor with one
    target has shape (n_features,).
intercept_ : ndarray of shape (n_outputs,)
    Intercepts.
support_ : ndarray of int
    Indices of the kept features; for several outputs the union.
selection_probability_ : ndarray, shaped like `coef_`
    Share of the bursts since the burn-in, over all paths, that met a feature and left its weight
    nonzero. 0 for purged and for unseen features, 1 for those that no such burst has met yet.
paths_ : ndarray of shape (n_paths, n_outputs, n_features)
    Weights of each path, made on demand.
history_ : list of dict
    Per output and stage: rows walked by a path, features kept, gravity and rejection in force, mean
    loss of each row before it was learnt, burst. A long run keeps every second, fourth, ... stage,
    1024 at most an output.
n_stages_ : int
    Stages ended.
n_iter_ : int
    Passes made.
t_ : int
    Rows of weight above 0 that a path has walked.
resolved_params_ : dict
    The step size and each output's gravity as they stand.
n_features_in_ : int
    Number of columns.
feature_names_in_ : ndarray of str
    Names of the columns, where X had them."""
CLASSES = """\
classes_ : ndarray
    Class labels; for a matrix of labels, their numbers.
multilabel_ : bool
    Whether the targets were a 0/1 matrix of labels."""


GRIDS = """\
eta_factors : array-like, default=%s
    Step sizes to try, as multiples of the automatic one.
burn_ins : array-like, default=(1.0, 2.0)
    Burn-ins to try.
rejections : array-like, default=(0.7, 0.95)
    Rejections to try.
purges : array-like, default=(0.5, 0.7, 0.9)
    Purges to try.
cv : int, splitter or iterable, default=5
    Folds, as in scikit-learn; stratified for classes.
se : float, default=1.0
    Standard errors above the lowest held-out loss that a sparser setting may cost. 0 takes the
    best."""
CHOSEN = """\
best_params_ : dict
    The chosen ``eta_factor``, ``burn_in``, ``rejection`` and ``purge``.
best_index_ : int
    Its place in `cv_results_`.
cv_results_ : dict
    ``params`` (list of dict), ``split_test_loss`` (settings, folds), ``mean_test_loss``,
    ``mean_kept`` and ``limit``, the highest loss allowed. The loss is the share of wrong
    predictions, or the squared error."""


def documented(text: str, classifier: bool, names) -> str:
    """The docstring with the shared parts in their places."""
    text = inspect.cleandoc(text)
    shared = "\n".join(PARAMETERS[name] for name in names if name in PARAMETERS)
    attributes = ATTRIBUTES + ("\n" + CLASSES if classifier else "")
    text = (
        text.replace("{grids}", GRIDS % repr(names.get("eta_factors", ("",))[0]))
        .replace("{chosen}", CHOSEN)
        .replace("{shared}", shared)
        .replace("{attributes}", attributes)
    )
    return textwrap.indent(text, "    ").strip() + "\n    "
