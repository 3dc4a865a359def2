"""TriClassSVC: a support vector machine that learns from labelled, unlabelled and known-irrelevant
rows.
"""

from numbers import Real
from typing import Any, ClassVar

import numpy as np
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils._param_validation import Interval

from tamis.base.fast_checks import check_array
from tamis.base.parameters import (
    ARRAY_LIKE,
    AUTO,
    BOOL,
    NON_NEGATIVE,
    POSITIVE,
    TERM,
    Auto,
    estimator,
    is_auto,
    one_of_strings,
    parameter,
)
from tamis.base.targets import ClassTargets
from tamis.base.validation import validate_sample_weight, warn_user
from tamis.methods.triclass_svm.estimator import NOT_CONVERGED, KernelMachines
from tamis.methods.triclass_svm.labels import (
    IRRELEVANT,
    UNLABELLED,
    FewLabels,
    choose_irrelevant_label,
    parse_labels,
)
from tamis.methods.triclass_svm.problems import TriClassOptions, binary_problems, labelled_weights
from tamis.methods.triclass_svm.unlabeled_cost import (
    COST_RATIOS,
    LabelledRows,
    choose_cost,
    explain_zero_cost,
)
from tamis.numerics.csr import EMPTY
from tamis.solvers.kernels import resolve_gamma
from tamis.system.schema import labels as label_array
from tamis.system.schema import plain_data, records
from tamis.system.threads import locked


@estimator
class TriClassSVC(KernelMachines):
    r"""Support vector machine for few labels, many unlabelled rows, and rows known to be of no
    class (3C-SVM).

    Choose ``mode="usvm"`` if you have rows that resemble those of the classes but belong to none,
    and few labels for many noisy columns: such rows show which directions are noise. Choose "3c" if
    the unlabelled rows are a mixture of both kinds. "s3vm" is there for comparison: with irrelevant
    rows among the unlabelled ones it does harm. Where the plain SVM (``mode="svm"``) is already
    good, as on text and digits, unlabelled rows seldom help, and at a high cost they hurt.
    Therefore `C_unlabeled` is chosen by held-out labelled rows, and is 0, the plain SVM, where the
    unlabelled rows gain nothing. The guide to few labels has figures.

    A score :math:`f(x) = w \cdot \phi(x) + b` is fitted to three kinds of rows: labelled ones
    (y = 1, -1), which should lie beyond 1 and -1; rows known as irrelevant (y = 0), which should
    lie in a tube around 0; and unlabelled rows, which may do either:

    .. math:: \tfrac12 \|w\|^2 + \sum_{y_i = \pm 1} C s_i [1 - y_i f_i]_+
       + \sum_{y_i = 0} C_0 s_i [|f_i| - \epsilon]_+
       + \sum_{i \; \text{unlabelled}} C_U s_i \min([1 - |f_i|]_+, [|f_i| - \epsilon]_+)

    with weights s of the rows. Each step replaces the loss of an unlabelled row by its active
    branch, the hinge or the tube, and solves that convex problem; the objective never rises. The
    other modes change the last sum: "usvm" has only tubes (every unlabelled row is irrelevant;
    convex), "s3vm" only hinges (every unlabelled row is of a class), "svm" nothing.

    {parameters}

    {attributes}

    See Also
    --------
    sklearn.svm.SVC : The machine of ``mode="svm"``.
    sklearn.semi_supervised.SelfTrainingClassifier : Any classifier; treats all unlabelled rows as
        rows of a class.

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
    >>> def draw(count, side):  # two informative columns, 48 noise columns
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
        [one_of_strings("3c", "usvm", "s3vm", "svm")],
        'The loss of unlabelled rows, as above. "svm" ignores them.',
    )
    C: float = parameter(1.0, [POSITIVE], "Cost of the loss of a labelled row.")
    C_unlabeled: float | Auto = parameter(
        "auto",
        [NON_NEGATIVE, AUTO],
        'Cost of the loss of an unlabelled row. With 0 the machine is that of "svm". "auto" '
        "chooses 0, `C` / 10 or `C` by labelled rows that are held out in 5 folds of up to 3 "
        "splits: a cost above 0 where its machines make fewer errors on them than the plain ones, "
        "and rank them better (area under the ROC curve) by more than the standard error of that "
        "gain. This needs 15 to 45 more fits, and warns where the choice is 0.",
    )
    C_irrelevant: float | None = parameter(
        None,
        [NON_NEGATIVE, None],
        "Cost of the loss of a row known as irrelevant; None is `C_unlabeled`.",
    )
    epsilon: float = parameter(
        0.1,
        [Interval(Real, 0, 1, closed="left")],
        "Half the width of the tube, from 0 to below 1.",
    )
    balance: str | float | bool | None = parameter(
        None,
        [one_of_strings("labels"), Interval(Real, None, None, closed="neither"), BOOL, None],
        'Exact mean score of the unlabelled rows; "labels" is the mean label (1 and -1) of the '
        'labelled rows. None fixes no mean, except for "s3vm", where it is "labels", with a '
        "warning; False fixes none.",
        '"labels", float, False or None',
        kw_only=True,
    )
    init: Any = parameter(
        "best",
        [one_of_strings("best", "usvm", "svm", "anneal"), ARRAY_LIKE],
        'Start of "3c" and "s3vm", which determines their solution: the solution of another mode, '
        'that of "svm" with `C_unlabeled` raised in four stages ("anneal"), or scores of the rows. '
        '"best" is "usvm" for "3c" and "svm" for "s3vm", the best ones in our comparisons. The '
        "start with the smallest objective is often a worse classifier, so it is not used to "
        "choose.",
        '{"best", "usvm", "svm", "anneal"} or array-like of shape (n_samples,)',
        kw_only=True,
    )
    ramp: float = parameter(
        0.0,
        [Interval(Real, -1, 0, closed="right")],
        'Cut of the ramp loss of "s3vm": a step leaves out unlabelled rows with a score below '
        "-ramp in absolute value. Above -1, at most 0 (no cut).",
        kw_only=True,
    )
    unlabeled: Any = parameter(
        -1,
        TERM,
        "Label of unlabelled rows in y; None and nan both mean missing labels.",
        "label, None or nan",
        kw_only=True,
    )
    irrelevant_label: Any = parameter(
        None,
        TERM,
        "Label of rows known as irrelevant in y; None if there are none.",
        "label or None",
        kw_only=True,
    )
    probability: bool = parameter(
        False,
        [BOOL],
        "Whether to offer `predict_proba`: sigmoids fitted on held-out scores of the labelled rows "
        "in 5 folds, which needs 5 more fits. With few labels such probabilities are weak: with "
        "20, two numbers are fitted to 20 scores. Their order is that of the scores.",
        kw_only=True,
    )
    _contents: ClassVar[dict] = {
        "resolved_params_": plain_data(),
        "prices_": records(),
        "irrelevant_label_": plain_data(),
        "transduction_": label_array("unlabelled", distinct=False, minimum=0),
    }
    _attributes: ClassVar[str] = """\
        resolved_params_ : dict
            The values of `C_unlabeled` and `C_irrelevant` that the fit used.
        prices_ : list of dict
            With ``C_unlabeled="auto"``, for each cost tried: the error on held-out labelled rows,
            the gain in the area under the ROC curve over the plain machine (cost 0), and the
            standard error of that gain. Empty where there was nothing to choose.
        transduction_ : ndarray of shape (n_unlabelled,)
            Class or `irrelevant_label_` of each unlabelled row of `fit`, in order.
        irrelevant_label_ : label
            Label of irrelevant rows in predictions: `irrelevant_label` if set; else "irrelevant"
            where classes are text, and the first of 0, -1, -2, ... that is neither a class nor
            `unlabeled` otherwise."""

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
            Weights of the rows, multiplied with the costs of their losses; a row of weight 0
            changes nothing.

        Returns
        -------
        self : object
        """
        self._validate_params()
        self._check_parameters()
        rows = self._validate_rows(X, reset=True)
        user_weights = validate_sample_weight(sample_weight, rows.shape[0], require_positive=True)
        weights = user_weights if len(user_weights) else np.ones(rows.shape[0])
        markers = self.unlabeled, self.irrelevant_label
        labels = parse_labels(type(self).__name__, y, weights > 0.0, *markers)
        class_factors = labels.targets.apply_class_weight(
            labels.target_columns, EMPTY, self.class_weight
        )[1]
        width, options = resolve_gamma(rows, weights, self.gamma), self._options(labels, weights)
        solver_rows, init = self._solver_rows(rows, width), self._initial_point(labels)
        cost_records: list[dict] = []
        if is_auto(self.C_unlabeled):
            options, cost_records = self._choose_unlabeled_cost(
                options, solver_rows, init, labels, weights, class_factors
            )
        problems = binary_problems(labels, weights, class_factors, options)
        machines = self._fit_machines(solver_rows, problems, init)
        is_unlabelled = labels.codes == UNLABELLED
        irrelevant_label = choose_irrelevant_label(labels.targets.classes, *markers)
        scores = np.column_stack([machine.scores[is_unlabelled] for machine in machines])
        row_weights = labelled_weights(labels, weights, class_factors)
        attributes = self._fitted_attributes(rows, machines) | {
            "_targets": labels.targets,
            "_width": width,
            "resolved_params_": {
                "C_unlabeled": options.C_unlabeled,
                "C_irrelevant": options.irrelevant_cost,
            },
            "prices_": cost_records,
            "irrelevant_label_": irrelevant_label,
            "transduction_": self._predict_labels(labels.targets, scores, irrelevant_label),
            "_sigmoid_params": self._fit_sigmoids(solver_rows, problems, init, labels, row_weights),
        }
        self._store(attributes)
        if not all(machine.converged for machine in machines):
            warn_user(
                f"{type(self).__name__} {NOT_CONVERGED.format(self=self)} The duality gap of its "
                f"convex problems is {self.gap_:.2g}.",
                ConvergenceWarning,
            )
        return self

    # ------------------------------------------------------------------ check, prepare
    def _check_parameters(self) -> None:
        """Raise for parameters that contradict each other."""
        if self.solver == "coordinate" and self.kernel != "linear":
            raise ValueError(
                f"solver='coordinate' sweeps the rows of a linear kernel; kernel={self.kernel!r} "
                "needs solver='smo' or 'auto'."
            )
        if self.mode == "svm" and self.balance not in (None, False):
            raise ValueError(
                f"balance={self.balance!r} fixes the mean score of unlabelled rows, which "
                "mode='svm' ignores; leave balance=None."
            )
        if self.balance is True:
            raise ValueError("balance=True gives no mean score; pass 'labels' or a number.")

    def _options(self, labels: FewLabels, weights: np.ndarray) -> TriClassOptions:
        """Return the parameters of the problems, with the fixed mean score resolved."""
        options = TriClassOptions(*(getattr(self, name) for name in TriClassOptions._fields))
        if self.balance is None and self.mode == "s3vm":
            options = options._replace(balance="labels")
            if weights[labels.codes == UNLABELLED].any():
                warn_user(
                    "mode='s3vm' fixes the mean score of unlabelled rows at the mean label "
                    "(balance='labels'), since all of them may fall on one side otherwise. That "
                    "harms where most of them are irrelevant. Pass balance='labels' to accept it, "
                    "or balance=False.",
                    UserWarning,
                )
        return options._replace(balance=None) if self.balance is False else options

    def _choose_unlabeled_cost(
        self,
        options: TriClassOptions,
        rows,
        init,
        labels: FewLabels,
        weights,
        class_factors,
    ) -> tuple[TriClassOptions, list[dict]]:
        """Return the options with the cost of unlabelled rows that held-out labelled rows support,
        and the records of the costs tried.
        """
        has_auto_cost = np.zeros(len(weights), bool)
        if self.mode != "svm":
            has_auto_cost = labels.codes == UNLABELLED
        if self.C_irrelevant is None:
            has_auto_cost |= labels.codes == IRRELEVANT
        n_rows = int(np.count_nonzero(weights[has_auto_cost]))
        if not n_rows:
            return options.with_unlabeled_cost(0.0), []
        labelled = LabelledRows(
            labels.targets.signs(labels.target_columns) > 0.0,
            labelled_weights(labels, weights, class_factors),
            labels.targets.classes[labels.codes[labels.labelled_rows]],
            labels.targets.predict,
        )

        def held_out_scores(cost: float, seed: int) -> np.ndarray:
            cost_options = options.with_unlabeled_cost(cost)
            problems = binary_problems(labels, weights, class_factors, cost_options)
            return self._held_out_scores(rows, problems, init, labels, seed)[0]

        costs = [ratio * self.C for ratio in COST_RATIOS]
        cost, records = choose_cost(labelled, costs, held_out_scores)
        if cost == 0.0:
            warn_user(
                f"{type(self).__name__} makes no use of {n_rows:,} rows without a class: "
                f"{explain_zero_cost(records)}. This is the machine of the labelled rows alone. "
                f"Pass C_unlabeled={COST_RATIOS[0] * self.C:g} to use them all the same, or "
                "C_unlabeled=0 to spare the search.",
                UserWarning,
            )
        return options.with_unlabeled_cost(cost), records

    def _initial_point(self, labels: FewLabels):
        """Return the start of the majorise-minimise steps: the name of a mode, or scores."""
        if isinstance(self.init, str):
            best = "svm" if self.mode == "s3vm" else "usvm"
            return best if self.init == "best" else self.init
        scores = check_array(self.init, ensure_2d=False, input_name="init")
        if len(labels.targets.classes) > 2 or scores.ndim != 1:
            raise ValueError(
                "init as scores needs two classes and one score a row; name a start instead."
            )
        if len(scores) != len(labels.codes):
            raise ValueError(
                f"init holds {len(scores)} scores for {len(labels.codes)} rows; it must hold one "
                "a row."
            )
        return scores

    # ------------------------------------------------------------------ predict
    def _predict_labels(
        self, targets: ClassTargets, machine_scores: np.ndarray, irrelevant_label
    ) -> np.ndarray:
        """Return the classes for scores of the machines, or `irrelevant_label` where every machine
        is nearer to 0 than to a class.
        """
        has_class = (np.abs(machine_scores) >= 0.5 * (1.0 + self.epsilon)).any(axis=1)
        classes = targets.predict(self._output_scores(machine_scores, len(targets.classes)))
        dtype = object if classes.dtype == object else None
        return np.where(has_class, classes, np.array(irrelevant_label, dtype=dtype))

    def predict_tri(self, X):
        """Predict the classes of the rows, or `irrelevant_label_` for scores with an absolute value
        below ``(1 + epsilon) / 2``, which are nearer to 0 than to a class.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Rows; with ``kernel="precomputed"`` their kernel values with the rows of `fit`.

        Returns
        -------
        y : ndarray of shape (n_samples,)
        """
        scores = self._machine_scores(X)
        return self._predict_labels(self._targets, scores, self.irrelevant_label_)
