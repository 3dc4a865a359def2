"""What the docstrings of the two sDist models share: parameters and attributes, described once."""

import inspect
import textwrap

PARAMETERS = """\
n_neighbors : int, default=3
    Neighbours of each side, k.
rho : float, default=0.1
    Share of the drawn columns that a direction may use; at least one.
kappa : int or None, default=None
    Columns that a direction may use; None leaves it to `rho`. 1 makes a weighted sum of squared
    differences; more find oblique directions.
n_steps : int, default=500
    Directions tried.
learning_rate : float, default=0.1
    What the weight of a step is multiplied by.
subsample : float or "auto", default="auto"
    Share of the rows in the bag of a step, drawn without replacement. "auto" is 0.5, and 0.3 above
    10,000 rows.
max_features : "sqrt", int, float or None, default="sqrt"
    Candidate columns drawn for a step: the root of their number, a number, a share, or all (None).
refresh_every : int, default=25
    Steps after which neighbours are found anew in the metric so far, once 10 steps were accepted. 0
    keeps the first ones.
complexity : float, default=0.01
    Price of the trace of the root of W. The steps kept are those of least total loss plus this
    price. Values that matter grow with the number of rows: try 1 to 100 a 500 rows.
max_order : int, default=1
    Most columns in a product: 1 is the linear metric, 2 adds squares and products of selected
    columns.
max_terms : int, default=3000
    Most products among the candidates.
oob_z : float, "auto" or None, default="auto"
    Out-of-bag screening: a step counts only if its mean gain on the rows outside the bag is so many
    standard errors above 0, and these rows set its weight. None accepts every step that lowers the
    loss, as published. "auto" is 1, or None where the bag holds all rows.
screen : {"moments", "auto"} or None, default="auto"
    Which columns may be drawn at all. "moments": those whose mean, square or product with another
    column differs between classes beyond chance (5 % for all together; all columns where none
    does). Effects of three columns alone escape it. "auto" screens where there are fewer than 10
    rows a column, None never, as published.
engine : {"power", "stabilized"}, default="power"
    How a direction is found: the truncated power method, or stochastic steps over single edges,
    which is slower and no better in memory.
opp_per_class : bool, default=False
    With several classes, whether a row has k neighbours in every other class instead of k in all of
    them together.
standardize : bool, default=True
    Whether columns (and products) are brought to deviation 1. Sparse columns are never made dense
    for it.
n_components : int or None, default=None
    Most components of the transform, the leading ones; None keeps all.
early_stopping : bool, default=False
    Whether to hold out rows and keep the steps of least error on them, in place of `complexity`.
validation_fraction : float, default=0.1
    Share of each class that is held out with `early_stopping`.
n_iter_no_change : int, default=10
    With `early_stopping`, looks (every 10 accepted steps) without improvement after which the fit
    ends.
n_jobs : int or None, default=None
    Threads of the neighbour search and of BLAS; None is 1, and -1 all cores.
random_state : int, RandomState instance or None, default=None
    Seed of the bags and of the drawn columns.
verbose : bool or "auto", default="auto"
    Progress bar: "auto" shows it on a terminal after three seconds.
"""
RULE = """\
rule : {"knn", "margin"}, default="knn"
    How rows are classified: by a vote of the k nearest training rows, or by the class whose k
    nearest rows have the least mean squared distance.
"""
ATTRIBUTES = """\
components_ : ndarray of shape (n_components, n_terms)
    Components L' of the metric W = L L', the largest first.
terms_ : list of tuple of int
    The terms of the metric, each the ascending indices of the columns in its product: (3,) is a
    column, (1, 7) a product, (2, 2) a square.
metric_ : csr_array of shape (n_terms, n_terms)
    W itself. Made on demand.
steps_ : list of dict
    The steps kept: terms, loadings (a unit vector), weight, loss after the step, status, and every
    10 steps the complexity.
n_steps_ : int
    Their number.
history_ : list of dict
    Every step tried: its status (accepted, capped, screened, rejected, no gain), the mean loss so
    far, its out-of-bag z, the steps accepted.
feature_importances_ : ndarray of shape (n_features,)
    Share of each column in the trace of W; a product's share is divided among its columns. Made on
    demand.
interaction_importances_ : list of (tuple of int, float)
    Products and their share in the trace of W, the largest first. Made on demand.
candidates_ : ndarray of int
    Columns that passed the screening.
support_ : ndarray of int
    Columns that the metric looks at.
classes_ : ndarray
    Class labels.
n_features_in_ : int
    Number of columns.
feature_names_in_ : ndarray of str
    Names of the columns, where X had them.
"""


def described(cls):
    """Write the shared parameters and attributes into the docstring."""
    parameters = PARAMETERS
    if "rule" in cls._parameter_constraints:
        parameters = parameters.replace("standardize : ", RULE + "standardize : ")
    text = (
        inspect.cleandoc(cls.__doc__)
        .replace("{parameters}\n", parameters)
        .replace("{attributes}\n", ATTRIBUTES)
    )
    cls.__doc__ = textwrap.indent(text, "    ").strip() + "\n    "
    return cls
