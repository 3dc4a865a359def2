"""Support vector machines for few labels: labelled, unlabelled and known-irrelevant rows in one
fit.
"""

from numbers import Real
from typing import Any, ClassVar

import numpy as np
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils._param_validation import Interval

from tamis.base.fast_checks import check_array
from tamis.base.parameters import (
    ABOVE,
    ARRAY,
    AUTO,
    BOOL,
    NUMBER,
    TERM,
    Auto,
    estimator,
    is_auto,
    one_of,
    parameter,
)
from tamis.base.targets import ClassTargets
from tamis.base.validation import take_weights, warn_user
from tamis.methods.triclass_svm.choice import SHARES, Known, choose_price, why_plain
from tamis.methods.triclass_svm.estimator import STOPPED, KernelMachines
from tamis.methods.triclass_svm.labels import (
    IRRELEVANT,
    UNLABELLED,
    FewLabels,
    irrelevant_mark,
    read_labels,
)
from tamis.methods.triclass_svm.tasks import Options, shares_of, tasks_of
from tamis.numerics.csr import NOTHING
from tamis.solvers.kernels import kernel_width
from tamis.system.schema import labels, plain, records
from tamis.system.threads import locked


@estimator
class TriClassSVC(KernelMachines):
    r"""Support vector machine for few labels, many unlabelled rows, and rows known to be of no
    class (3C-SVM).

    Choose ``mode="usvm"`` if you have rows that look like those of the classes but are of neither,
    and few labels for many noisy columns: they say which directions do not tell. Choose "3c" if the
    unlabelled rows are a mixture that you cannot sort. "s3vm" is there for comparison: with
    irrelevant rows among the unlabelled ones it does harm. Where the plain SVM (``mode="svm"``) is
    already good, as on text and digits, unlabelled rows seldom help, and at a high price they hurt:
    so `C_unlabeled` is chosen by labelled rows that are held out, and is 0, the plain SVM, where
    the others gain nothing. The guide to few labels has figures.

    A score :math:`f(x) = w \cdot \phi(x) + b` takes three kinds of rows: labelled ones (y = 1, -1),
    which it pushes beyond 1 and -1; rows known as irrelevant (y = 0), which it pulls into a tube
    around 0; and unlabelled rows, which may go either way:

    .. math:: \tfrac12 \|w\|^2 + \sum_{y_i = \pm 1} C s_i [1 - y_i f_i]_+
       + \sum_{y_i = 0} C_0 s_i [|f_i| - \epsilon]_+
       + \sum_{i \; \text{unlabelled}} C_U s_i \min([1 - |f_i|]_+, [|f_i| - \epsilon]_+)

    with weights s of the rows. Each step replaces the loss of an unlabelled row by the hinge or the
    tube that it is at, and solves that convex problem; the objective never rises. The other modes
    change the last sum: "usvm" has tubes alone (every unlabelled row is irrelevant; convex), "s3vm"
    hinges alone (every unlabelled row is of a class), "svm" nothing.

    {parameters}

    {attributes}

    See Also
    --------
    sklearn.svm.SVC : The machine of ``mode="svm"``.
    sklearn.semi_supervised.SelfTrainingClassifier : Any classifier, with all unlabelled rows taken
        for rows of a class.

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
    >>> model.resolved_params_["C_unlabeled"]  # chosen by the 20 labelled rows
    0.1
    """

    mode: str = parameter(
        "3c",
        [one_of("3c", "usvm", "s3vm", "svm")],
        'What unlabelled rows mean, as above. "svm" ignores them.',
    )
    C: float = parameter(1.0, [ABOVE], "Cost of the loss of a labelled row.")
    C_unlabeled: float | Auto = parameter(
        "auto",
        [NUMBER, AUTO],
        'Cost of the loss of an unlabelled row. With 0 the machine is that of "svm". "auto" takes '
        "0, `C` / 10 or `C`, by labelled rows that are held out in 5 folds, cut in up to 3 ways: a "
        "price above 0 where its machines get fewer of them wrong than the plain ones, and order "
        "them better (area under the ROC curve), by more than the standard error of that gain. "
        "Costs 15 to 45 more fits, and ends at 0 with a warning where nothing is gained.",
    )
    C_irrelevant: float | None = parameter(
        None,
        [NUMBER, None],
        "Cost of the loss of a row known as irrelevant; None is `C_unlabeled`.",
    )
    epsilon: float = parameter(
        0.1,
        [Interval(Real, 0, 1, closed="left")],
        "Half the width of the tube, from 0 to below 1.",
    )
    balance: str | float | bool | None = parameter(
        None,
        [one_of("labels"), Interval(Real, None, None, closed="neither"), BOOL, None],
        'Mean score to hold the unlabelled rows at, exactly; "labels" is the mean label (1 and -1) '
        'of the labelled rows. None holds none, but for "s3vm", where it is "labels", with a '
        "warning; False holds none.",
        '"labels", float, False or None',
        kw_only=True,
    )
    init: Any = parameter(
        "best",
        [one_of("best", "usvm", "svm", "anneal"), ARRAY],
        'Where "3c" and "s3vm" start, which decides where they end: the solution of another mode, '
        'that of "svm" with `C_unlabeled` raised in four stages, or scores of the rows. "best" is '
        '"usvm" for "3c" and "svm" for "s3vm", those that did best in our comparisons. The start '
        "with the smallest objective is often a worse classifier, so none is chosen by it.",
        '{"best", "usvm", "svm", "anneal"} or array-like of shape (n_samples,)',
        kw_only=True,
    )
    ramp: float = parameter(
        0.0,
        [Interval(Real, -1, 0, closed="right")],
        'Where the ramp loss of "s3vm" is cut off: unlabelled rows with a score below -ramp in '
        "size are left out of a step. Above -1, at most 0 (no cut).",
        kw_only=True,
    )
    unlabeled: Any = parameter(
        -1,
        TERM,
        "What marks unlabelled rows in y; None and nan both stand for labels that are missing.",
        "label, None or nan",
        kw_only=True,
    )
    irrelevant_label: Any = parameter(
        None,
        TERM,
        "What marks rows known as irrelevant in y; None if there are none.",
        "label or None",
        kw_only=True,
    )
    probability: bool = parameter(
        False,
        [BOOL],
        "Whether to have `predict_proba`: sigmoids on scores of the labelled rows, in 5 folds, by "
        "machines that had all other rows. Costs 5 more fits. With few labels such probabilities "
        "are weak: with 20, two numbers are fitted to 20 scores. Their order is that of the "
        "scores.",
        kw_only=True,
    )
    _contents: ClassVar[dict] = {
        "resolved_params_": plain(),
        "prices_": records(),
        "irrelevant_label_": plain(),
        "transduction_": labels("unlabelled", distinct=False, least=0),
    }
    _attributes: ClassVar[str] = """\
        resolved_params_ : dict
            `C_unlabeled` and `C_irrelevant` as they were taken.
        prices_ : list of dict
            With ``C_unlabeled="auto"``, per price tried: share of the held-out labelled rows that
            it got wrong, its gain in the area under the ROC curve over the plain machine (price 0),
            and the standard error of that. Empty where there was nothing to choose.
        transduction_ : ndarray of shape (n_unlabelled,)
            Of each unlabelled row of `fit`, in order, its class or `irrelevant_label_`.
        irrelevant_label_ : label
            What marks irrelevant rows in predictions: `irrelevant_label`, else "irrelevant" among
            text, else the first of 0, -1, -2, ... that is neither a class nor the mark of
            unlabelled rows."""

    @locked
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
        marks = self.unlabeled, self.irrelevant_label
        few = read_labels(type(self).__name__, y, weights > 0.0, *marks)
        factors = few.targets.weigh(few.columns, NOTHING, self.class_weight)[1]
        width, options = kernel_width(rows, weights, self.gamma), self._options(few, weights)
        solvable, start = self._solvable(rows, width), self._start(few)
        tried: list[dict] = []
        if is_auto(self.C_unlabeled):
            options, tried = self._chosen(options, solvable, start, few, weights, factors)
        tasks = tasks_of(few, weights, factors, options)
        machines = self._machines(solvable, tasks, start)
        found = self._kept(rows, machines)
        open_, mark = few.codes == UNLABELLED, irrelevant_mark(few.targets.classes, *marks)
        scores = np.column_stack([machine.scores[open_] for machine in machines])
        found |= {
            "_targets": few.targets,
            "_width": width,
            "resolved_params_": {
                "C_unlabeled": options.C_unlabeled,
                "C_irrelevant": options.beside,
            },
            "prices_": tried,
            "irrelevant_label_": mark,
            "transduction_": self._sorted(few.targets, scores, mark),
            "_lines": self._sigmoids(solvable, tasks, start, few, shares_of(few, weights, factors)),
        }
        self._keep(found)
        if not all(machine.converged for machine in machines):
            warn_user(
                f"{type(self).__name__} {STOPPED.format(self=self)} The duality gap of its convex "
                f"problems is {self.gap_:.2g}.",
                ConvergenceWarning,
            )
        return self

    # ------------------------------------------------------------------ check, prepare
    def _check_choices(self) -> None:
        """Refuse parameters that do not go together."""
        if self.solver == "coordinate" and self.kernel != "linear":
            raise ValueError(
                f"solver='coordinate' sweeps the rows of a linear kernel; kernel={self.kernel!r} "
                "needs solver='smo' or 'auto'."
            )
        if self.mode == "svm" and self.balance not in (None, False):
            raise ValueError(
                f"balance={self.balance!r} holds the mean score of unlabelled rows, which "
                "mode='svm' ignores; leave balance=None."
            )
        if self.balance is True:
            raise ValueError("balance=True says no mean; pass 'labels' or a number.")

    def _options(self, few: FewLabels, weights: np.ndarray) -> Options:
        """Parameters of the problems, with the mean that is held."""
        options = Options(*(getattr(self, name) for name in Options._fields))
        if self.balance is None and self.mode == "s3vm":
            options = options._replace(balance="labels")
            if weights[few.codes == UNLABELLED].any():
                warn_user(
                    "mode='s3vm' holds the mean score of unlabelled rows at the mean label "
                    "(balance='labels'), for they may all fall on one side else. That harms where "
                    "most of them are irrelevant. Pass balance='labels' to accept it, or "
                    "balance=False.",
                    UserWarning,
                )
        return options._replace(balance=None) if self.balance is False else options

    def _chosen(
        self, options: Options, rows, start, few: FewLabels, weights, factors
    ) -> tuple[Options, list[dict]]:
        """Options at the price that held-out labelled rows speak for, and what was tried."""
        priced = few.codes == UNLABELLED if self.mode != "svm" else np.zeros(len(weights), bool)
        if self.C_irrelevant is None:
            priced |= few.codes == IRRELEVANT
        count = int(np.count_nonzero(weights[priced]))
        if not count:
            return options.priced(0.0), []
        known = Known(
            few.targets.signs(few.columns) > 0.0,
            shares_of(few, weights, factors),
            few.targets.classes[few.codes[few.known]],
            few.targets.predict,
        )

        def held_out(price: float, seed: int) -> np.ndarray:
            tasks = tasks_of(few, weights, factors, options.priced(price))
            return self._held_out(rows, tasks, start, few, seed)[0]

        price, tried = choose_price(known, [share * self.C for share in SHARES], held_out)
        if price == 0.0:
            warn_user(
                f"{type(self).__name__} makes no use of {count:,} rows without a class: "
                f"{why_plain(tried)}. This is the machine of the labelled rows alone. Pass "
                f"C_unlabeled={SHARES[0] * self.C:g} to use them all the same, or C_unlabeled=0 to "
                "spare the search.",
                UserWarning,
            )
        return options.priced(price), tried

    def _start(self, few: FewLabels):
        """The start of the majorise-minimise steps."""
        if isinstance(self.init, str):
            best = "svm" if self.mode == "s3vm" else "usvm"
            return best if self.init == "best" else self.init
        scores = check_array(self.init, ensure_2d=False, input_name="init")
        if len(few.targets.classes) > 2 or scores.ndim != 1:
            raise ValueError(
                "init as scores needs two classes and one score a row; name a start instead."
            )
        if len(scores) != len(few.codes):
            raise ValueError(
                f"init holds {len(scores)} scores for {len(few.codes)} rows; it must hold one "
                "a row."
            )
        return scores

    # ------------------------------------------------------------------ predict
    def _sorted(self, targets: ClassTargets, scores: np.ndarray, mark) -> np.ndarray:
        """Classes from the scores of the machines, or the mark of irrelevant rows where every
        machine is nearer to 0 than to a class.
        """
        far = (np.abs(scores) >= 0.5 * (1.0 + self.epsilon)).any(axis=1)
        named = targets.predict(self._gathered(scores, len(targets.classes)))
        kind = object if named.dtype == object else None
        return np.where(far, named, np.array(mark, dtype=kind))

    def predict_tri(self, X):
        """Classes of the rows, or `irrelevant_label_` where the score is below ``(1 + epsilon) /
        2`` in size: nearer to 0 than to a class.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Rows; with ``kernel="precomputed"`` their kernel values with the rows of `fit`.

        Returns
        -------
        y : ndarray of shape (n_samples,)
        """
        scores = self._machine_scores(X)
        return self._sorted(self._targets, scores, self.irrelevant_label_)
