"""Figures of structured models: groups along the strength of the penalty, features by tasks."""

from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike

from tamis.reporting.displays.base import DASHED, Display, OptionalAxes, OptionalNames, style


class GroupPathDisplay(
    Display,
    content="a path of groups",
    estimators="GroupLassoClassifierCV or GroupLassoRegressorCV",
    drawn_by="`plot`",
):
    """Norm of every group of weights along the strength of the penalty, with the chosen strength.

    Use `from_estimator` with a model tuned by cross-validation, or the arrays of the method `path`
    of a group lasso. It shows in which order groups enter as the penalty decreases, and which
    groups the chosen strength keeps.

    Parameters
    ----------
    alpha : array-like of shape (n_alphas,)
        Strengths.
    group_norm : array-like of shape (n_alphas, n_groups)
        Norm of each group's weights at each strength.
    chosen : float or None, default=None
        The chosen strength.
    group_names : list of str or None, default=None
        Names of the groups; None numbers them.

    Attributes
    ----------
    {axes}
    lines_ : list of matplotlib Line2D
        The curves of the groups that have a weight at some strength, in order of their norm at
        the smallest strength.
    chosen_line_ : matplotlib Line2D or None
        The mark of the chosen strength.

    See Also
    --------
    GroupLassoClassifierCV : Has such a path.
    TaskMatrixDisplay : Weights of features by tasks.

    Examples
    --------
    >>> import numpy as np
    >>> from tamis import GroupLassoRegressorCV, GroupPathDisplay
    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(100, 12))
    >>> y = X[:, :3] @ [1.0, -2.0, 1.5] + 0.1 * rng.normal(size=100)
    >>> model = GroupLassoRegressorCV(feature_groups=np.arange(12) // 3, alphas=10, cv=3).fit(X, y)
    >>> display = GroupPathDisplay.from_estimator(model)
    >>> display.ax_.get_xlabel(), display.chosen == model.alpha_
    ('alpha', True)
    """

    def __init__(
        self,
        *,
        alpha: ArrayLike,
        group_norm: ArrayLike,
        chosen: float | None = None,
        group_names: OptionalNames = None,
    ):
        self.alpha = np.asarray(alpha, dtype=float).ravel()
        self.group_norm = np.asarray(group_norm, dtype=float)
        if self.group_norm.ndim != 2 or len(self.group_norm) != len(self.alpha):
            raise ValueError(
                f"group_norm must have one row a strength: {len(self.alpha)} strengths, but "
                f"group_norm has shape {self.group_norm.shape}."
            )
        if group_names is not None and len(group_names) != self.group_norm.shape[1]:
            raise ValueError(
                f"group_names has {len(group_names)} names for {self.group_norm.shape[1]} groups."
            )
        self.chosen, self.group_names = chosen, group_names

    @classmethod
    def from_estimator(
        cls,
        estimator: Any,
        *,
        group_names: OptionalNames = None,
        ax: OptionalAxes = None,
        **kwargs: Any,
    ) -> Self:
        """Draw the path of a fitted model.

        Parameters
        ----------
        group_names : list of str or None, default=None
            Names of the groups; None takes the name of the column for groups of one column, and
            numbers for other groups.
        """
        path = cls._fitted_attribute(estimator, "path_")
        if not isinstance(path, dict) or "group_norm" not in path:
            raise cls._unsupported_error(estimator)
        names = getattr(estimator, "feature_names_in_", None)
        if group_names is None and names is not None:
            group_names = [
                str(names[g[0]]) if len(g) == 1 else f"group {k}"
                for k, g in enumerate(estimator.feature_groups_)
            ]
        display = cls(
            alpha=path["alpha"],
            group_norm=path["group_norm"],
            chosen=estimator.alpha_,
            group_names=group_names,
        )
        return display.plot(ax=ax, **kwargs)

    def plot(self, ax: OptionalAxes = None, **kwargs: Any) -> Self:
        """Draw."""
        ax = self._set_axes(ax)
        groups = np.flatnonzero(self.group_norm.any(axis=0))
        last = self.group_norm[np.argmin(self.alpha), groups] if len(groups) else groups
        self.lines_ = []
        for rank, g in enumerate(groups[np.argsort(-last, kind="stable")]):
            name = f"group {g}" if self.group_names is None else str(self.group_names[g])
            named: dict = {"color": f"C{rank}", "label": name}
            # matplotlib has ten colours, so further groups are grey.
            options = style(kwargs, **(named if rank < 10 else {"color": "0.8", "zorder": 1}))
            self.lines_ += ax.plot(self.alpha, self.group_norm[:, g], **options)
        self.chosen_line_ = None
        if self.chosen is not None:
            label = f"alpha = {self.chosen:.3g}"
            self.chosen_line_ = ax.axvline(self.chosen, **DASHED, label=label)
        ax.set(xscale="log", xlabel="alpha", ylabel="norm of the group's weights")
        if not ax.xaxis_inverted():
            ax.invert_xaxis()
        if ax.get_legend_handles_labels()[0]:
            ax.legend(frameon=False, fontsize="small")
        return self


class TaskMatrixDisplay(
    Display,
    content="weights of several tasks",
    estimators="MultiTaskClassifier, MultiTaskRegressor or an online one",
    drawn_by="`imshow`",
):
    """Weights of features (rows) by tasks (columns).

    Use `from_estimator`. A row without gaps is a feature that all tasks use; a gap is a task that
    does not use it.

    Parameters
    ----------
    weights : array-like of shape (n_tasks, n_features)
        Weights.
    task_names : list of str or None, default=None
        Names of the tasks; None numbers them.
    feature_names : list of str or None, default=None
        Names of the features; None numbers them.

    Attributes
    ----------
    {axes}
    image_ : matplotlib AxesImage
        The matrix; weights that are exactly 0 are masked.
    colorbar_ : matplotlib Colorbar
        The colour bar.
    features_ : ndarray of int
        The features of the rows: those that some task keeps, in order of their norm.

    See Also
    --------
    MultiTaskRegressor : Has such weights.
    GroupPathDisplay : Groups along the strength of the penalty.

    Examples
    --------
    >>> import numpy as np
    >>> from tamis import MultiTaskRegressor, TaskMatrixDisplay
    >>> rng = np.random.default_rng(0)
    >>> X, task = rng.normal(size=(200, 10)), np.arange(200) % 4
    >>> y = X[:, 0] * (1 + task) + X[:, 1]
    >>> model = MultiTaskRegressor(alpha=0.3).fit(X, y, task)
    >>> display = TaskMatrixDisplay.from_estimator(model)
    >>> display.features_.tolist()
    [0, 1]
    """

    def __init__(
        self,
        *,
        weights: ArrayLike,
        task_names: OptionalNames = None,
        feature_names: OptionalNames = None,
    ):
        self.weights = np.asarray(weights, dtype=float)
        if self.weights.ndim != 2:
            raise ValueError(
                "weights must have two dimensions, tasks and features. Got shape "
                f"{self.weights.shape}."
            )
        self.task_names, self.feature_names = task_names, feature_names

    @classmethod
    def from_estimator(cls, estimator: Any, *, ax: OptionalAxes = None, **kwargs: Any) -> Self:
        """Draw the weights of a fitted multi-task model."""
        tasks = cls._fitted_attribute(estimator, "tasks_")
        weights = np.reshape(estimator.coef_, (len(tasks), -1, estimator.n_features_in_))
        if weights.shape[1] == 1:
            weights = weights[:, 0]
        else:  # several outputs in each task: their norm
            weights = np.sqrt((weights**2).sum(axis=1))
        names = getattr(estimator, "feature_names_in_", None)
        task_names = [str(task) for task in tasks]
        display = cls(weights=weights, task_names=task_names, feature_names=names)
        return display.plot(ax=ax, **kwargs)

    def plot(self, ax: OptionalAxes = None, **kwargs: Any) -> Self:
        """Draw."""
        ax = self._set_axes(ax)
        norms = np.sqrt((self.weights**2).sum(axis=0))
        order = np.argsort(-norms, kind="stable")
        self.features_ = order[norms[order] > 0.0]
        matrix = self.weights[:, self.features_].T
        limit = float(np.abs(matrix).max(initial=0.0)) or 1.0
        options = style(
            kwargs, cmap="RdBu_r", vmin=-limit, vmax=limit, aspect="auto", interpolation="nearest"
        )
        matrix = matrix if matrix.size else np.zeros((1, max(len(self.weights), 1)))
        self.image_ = ax.imshow(np.ma.masked_equal(matrix, 0.0), **options)
        ax.set_facecolor("0.85")  # shown where a weight is exactly 0
        self.colorbar_ = self.figure_.colorbar(self.image_, ax=ax, label="weight")
        ax.set(xlabel="task", ylabel="feature")
        if 0 < len(self.features_) <= 40:
            names = self.feature_names
            ax.set_yticks(
                range(len(self.features_)),
                [str(j if names is None else names[j]) for j in self.features_],
            )
        if len(self.weights) <= 20:
            tasks = range(len(self.weights))
            ax.set_xticks(tasks, self.task_names or [str(q) for q in tasks])
        return self
