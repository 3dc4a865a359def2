"""Support vector machines for few labels: labelled, unlabelled and known-irrelevant rows in one
fit.
"""

from numbers import Real
from typing import ClassVar

import numpy as np
from sklearn.utils._param_validation import Interval, StrOptions

from tamis.base.border import take_weights
from tamis.base.parameters import ABOVE, COUNT, NUMBER
from tamis.methods.few_labels.labels import UNLABELLED, irrelevant_mark, read_labels
from tamis.methods.few_labels.model import TriMachines
from tamis.solvers.mercer import KERNELS, kernel_width

STARTS = frozenset({"best", "usvm", "svm", "anneal"})


class TriClassSVC(TriMachines):
    r"""Support vector machine for few labels, many unlabelled rows, and rows known to be of no class
    (3C-SVM).

    A score :math:`f(x) = w \cdot \phi(x) + b` takes three kinds of rows: labelled ones (y = 1, -1),
    which it pushes beyond 1 and -1; rows known as irrelevant (y = 0), which it pulls into a tube
    around 0; and unlabelled rows, which may go either way:

    .. math:: \tfrac12 \|w\|^2 + \sum_{y_i = \pm 1} C s_i [1 - y_i f_i]_+ + \sum_{y_i = 0} C_0 s_i
    [|f_i| - \epsilon]_+
        + \sum_{i \; \text{unlabelled}} C_U s_i \min([1 - |f_i|]_+, [|f_i| - \epsilon]_+)

    with weights s of the rows. Each step replaces the loss of an unlabelled row by the hinge or the
    tube that it is at, and solves that convex problem; the objective never rises. The other modes
    change the last sum: "usvm" has tubes alone (every unlabelled row is irrelevant; convex), "s3vm"
    hinges alone (every unlabelled row is of a class), "svm" nothing.

    Choose ``mode="usvm"`` if you have rows that look like those of the classes but are of neither,
    and few labels for many noisy columns: they say which directions do not tell. Choose "3c" if the
    unlabelled rows are a mixture that you cannot sort. "s3vm" is there for comparison: with
    irrelevant rows among the unlabelled ones it does harm. Where the plain SVM (``mode="svm"``) is
    already good, as on digits, unlabelled rows seldom help, and with a high `C_unlabeled` they
    hurt: choose that by validation. The guide to few labels has figures.

    Parameters
    ----------
    mode : {"3c", "usvm", "s3vm", "svm"}, default="3c"
        What unlabelled rows mean, as above. "svm" ignores them.
    C : float, default=1.0
        Cost of the loss of a labelled row.
    C_unlabeled : float, default=0.1
        Cost of the loss of an unlabelled row. With 0 the machine is that of "svm".
    C_irrelevant : float or None, default=None
        Cost of the loss of a row known as irrelevant; None is `C_unlabeled`.
    eps : float, default=0.1
        Half the width of the tube, from 0 to below 1.
    kernel : str or callable, default="linear"
        "linear", "rbf", "poly", "sigmoid", "cosine", "precomputed" (X is the matrix of rows by
        rows), or a function of two arrays of rows that returns such a matrix.
    balance : "labels", float, False or None, default=None
        Mean score to hold the unlabelled rows at, exactly; "labels" is the mean label (1 and -1) of
        the labelled rows. None holds none, but for "s3vm", where it is "labels", with a warning;
        False holds none.
    init : {"best", "usvm", "svm", "anneal"} or array-like of shape (n_samples,), default="best"
        Where "3c" and "s3vm" start, which decides where they end: the solution of another mode,
        that of "svm" with `C_unlabeled` raised in four stages, or scores of the rows. "best" is
        "usvm" for "3c" and "svm" for "s3vm", those that did best in our comparisons. The start with
        the smallest objective is often a worse classifier, so none is chosen by it.
    unlabeled : label, None or nan, default=-1
        What marks unlabelled rows in y; None and nan both stand for labels that are missing.
    irrelevant_label : label or None, default=None
        What marks rows known as irrelevant in y; None if there are none.
    gamma : {"scale", "auto"} or float, default="scale"
        Width of "rbf", "poly" and "sigmoid", as in :class:`sklearn.svm.SVC`; "scale" counts all
        rows, each by its weight.
    degree : float, default=3
        Degree of "poly".
    coef0 : float, default=0.0
        Constant of "poly" and "sigmoid".
    kappa : float, default=0.0
        Where the loss of "s3vm" is cut off: unlabelled rows with a score below -kappa in size are
        left out of a step. Above -1, at most 0 (no cut).
    multi_class : {"ovo", "ovr"}, default="ovo"
        With several classes, one machine a pair of classes, or one a class. In the former, rows of
        all other classes serve as irrelevant ones in the modes "3c" and "usvm".
    solver : {"auto", "smo", "coordinate"}, default="auto"
        "smo" works on the kernel matrix; "coordinate" sweeps the rows of a linear kernel, dense or
        sparse, and makes no such matrix. "auto" takes the latter for a linear kernel and more than
        3,000 rows.
    probability : bool, default=False
        Whether to have `predict_proba`: sigmoids on scores of the labelled rows, in 5 folds, by
        machines that had all other rows. Costs 5 more fits. With few labels such probabilities are
        weak: with 20, two numbers are fitted to 20 scores. Their order is that of the scores.
    class_weight : dict, "balanced" or None, default=None
        Weights of the classes, multiplied into those of their labelled rows.
    tol : float, default=1e-3
        Largest violation of the optimality conditions of a convex problem, in units of the score.
    max_iter : int, default=50
        Most convex problems to solve from a start.

    Attributes
    ----------
    classes_ : ndarray
        Class labels.
    transduction_ : ndarray of shape (n_unlabelled,)
        Of each unlabelled row of `fit`, in order, its class or `irrelevant_label_`.
    irrelevant_label_ : label
        What marks irrelevant rows in predictions: `irrelevant_label`, else "irrelevant" among text,
        else the first of 0, -1, -2, ... that is neither a class nor the mark of unlabelled rows.
    coef_ : ndarray of shape (n_machines, n_features)
        Weights, for a linear kernel only. The machines are the pairs of classes in the order of
        `itertools.combinations`, or the classes.
    dual_coef_ : ndarray of shape (n_machines, n_support_vectors)
        Weights of the rows kept, for other kernels.
    support_vectors_ : {ndarray, sparse array} of shape (n_support_vectors, n_features)
        Rows of a weight other than 0, for other kernels.
    intercept_ : ndarray of shape (n_machines,)
        Intercepts.
    objective_ : float
        Value of the objective, summed over machines.
    gap_ : float
        Duality gap of the last convex problem, summed over machines.
    n_iter_ : int
        Convex problems solved; of several machines or stages the most.
    history_ : list of dict
        Per machine and step: objective, duality gap, and how many unlabelled rows are taken for
        rows of a class.
    n_features_in_ : int
        Number of columns.
    feature_names_in_ : ndarray of str
        Names of the columns, where X had them.

    See Also
    --------
    sklearn.svm.SVC : The machine of ``mode="svm"``.
    sklearn.semi_supervised.SelfTrainingClassifier : Unlabelled rows for any classifier, all of them
    taken for rows of a class.

    References
    ----------
    H. Yang, S. Zhu, I. King and M. R. Lyu, "Can irrelevant data help semi-supervised learning, why
    and how?", CIKM 2011, and H. Yang, "Sparse Learning Under Regularization Framework", PhD thesis,
    The Chinese University of Hong Kong, 2011, chapter 5. J. Weston, R. Collobert, F. Sinz, L.
    Bottou and V. Vapnik, "Inference with the Universum", ICML 2006, for "usvm"; R. Collobert, F.
    Sinz, J. Weston and L. Bottou, "Large Scale Transductive SVMs", JMLR 7, 2006, for "s3vm". J. C.
    Platt, "Probabilistic outputs for support vector machines and comparisons to regularized
    likelihood methods", Advances in Large Margin Classifiers, 2000, for the sigmoids.

    Examples
    --------
    >>> import numpy as np
    >>> from tamis import TriClassSVC
    >>> rng = np.random.default_rng(0)
    >>> def draw(count, side):  # two columns that tell, 48 that are noise
    ...     return 0.3 * side + rng.normal(size=(count, 50)) * np.repeat([0.3, 3.0], [2, 48])
    >>> X = np.concatenate([draw(10, 1), draw(10, -1), draw(500, 0)])
    >>> y = np.repeat(["up", "down", "neither"], [10, 10, 500])
    >>> test, truth = np.concatenate([draw(500, 1), draw(500, -1)]), np.repeat(["up", "down"], 500)
    >>> few = TriClassSVC(mode="svm", unlabeled="neither").fit(X, y)
    >>> model = TriClassSVC(mode="usvm", unlabeled="neither").fit(X, y)
    >>> round(few.score(test, truth), 2), round(model.score(test, truth), 2)
    (0.61, 0.86)
    """

    _parameter_constraints: ClassVar[dict] = {
        "mode": [StrOptions({"3c", "usvm", "s3vm", "svm"})],
        "C": [ABOVE],
        "C_unlabeled": [NUMBER],
        "C_irrelevant": [NUMBER, None],
        "eps": [Interval(Real, 0, 1, closed="left")],
        "kernel": [StrOptions(set(KERNELS)), callable],
        "balance": [
            StrOptions({"labels"}),
            Interval(Real, None, None, closed="neither"),
            "boolean",
            None,
        ],
        "init": [StrOptions(set(STARTS)), "array-like"],
        "unlabeled": "no_validation",
        "irrelevant_label": "no_validation",
        "gamma": [StrOptions({"scale", "auto"}), ABOVE],
        "degree": [NUMBER],
        "coef0": [Interval(Real, None, None, closed="neither")],
        "kappa": [Interval(Real, -1, 0, closed="right")],
        "multi_class": [StrOptions({"ovo", "ovr"})],
        "solver": [StrOptions({"auto", "smo", "coordinate"})],
        "probability": ["boolean"],
        "class_weight": [dict, StrOptions({"balanced"}), None],
        "tol": [ABOVE],
        "max_iter": [COUNT],
    }

    def __init__(
        self,
        mode="3c",
        C=1.0,
        C_unlabeled=0.1,
        C_irrelevant=None,
        eps=0.1,
        kernel="linear",
        *,
        balance=None,
        init="best",
        unlabeled=-1,
        irrelevant_label=None,
        gamma="scale",
        degree=3,
        coef0=0.0,
        kappa=0.0,
        multi_class="ovo",
        solver="auto",
        probability=False,
        class_weight=None,
        tol=1e-3,
        max_iter=50,
    ):
        self.mode = mode
        self.C = C
        self.C_unlabeled = C_unlabeled
        self.C_irrelevant = C_irrelevant
        self.eps = eps
        self.kernel = kernel
        self.balance = balance
        self.init = init
        self.unlabeled = unlabeled
        self.irrelevant_label = irrelevant_label
        self.gamma = gamma
        self.degree = degree
        self.coef0 = coef0
        self.kappa = kappa
        self.multi_class = multi_class
        self.solver = solver
        self.probability = probability
        self.class_weight = class_weight
        self.tol = tol
        self.max_iter = max_iter

    def fit(self, X, y, sample_weight=None):
        """Learn from labelled, unlabelled and known-irrelevant rows.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Rows; with ``kernel="precomputed"`` their kernel matrix.
        y : array-like of shape (n_samples,)
            Classes; `unlabeled` for rows without a label, `irrelevant_label` for rows known to be
            of no class.
        sample_weight : array-like of shape (n_samples,), default=None
            Weights of the rows, multiplied into what their loss costs; a row of weight 0 changes
            nothing.

        Returns
        -------
        self : object
        """
        self._validate_params()
        self._check_choices()
        rows = self._take(X, reset=True)
        given = take_weights(sample_weight, rows.shape[0], some=True)
        weights = given if len(given) else np.ones(rows.shape[0])
        labels = read_labels(
            type(self).__name__, y, weights > 0.0, self.unlabeled, self.irrelevant_label
        )
        self.classes_ = labels.classes
        self.irrelevant_label_ = irrelevant_mark(
            labels.classes, self.unlabeled, self.irrelevant_label
        )
        self._width = kernel_width(rows, weights, self.gamma)
        solvable, tasks = self._solvable(X, rows), self._tasks(labels.codes, weights)
        self._store(rows, self._machines(solvable, tasks), labels.codes == UNLABELLED)
        self._calibrate(solvable, tasks, labels.codes, weights)
        return self
