"""Figures of structured selections: groups along the strength of the penalty, and features by
tasks.
"""

import numpy as np
from sklearn.utils.validation import check_is_fitted

from tamis.report.displays.drawing import OTHER, lacks, take_axes

MOST = 10  # groups that get a name and a colour


class GroupPathDisplay:
    """Norm of every group of weights along the strength of the penalty, with the strength that was
    chosen.

    Use `from_estimator` with a model tuned by cross-validation, or the arrays of the method `path`
    of a group lasso. It shows in which order whole groups come in as the penalty falls, and which
    of them the chosen strength keeps.

    Parameters
    ----------
    alpha : array-like of shape (n_alphas,)
        Strengths.
    group_norm : array-like of shape (n_alphas, n_groups)
        Norm of each group's weights at each strength.
    chosen : float or None, default=None
        The strength that was chosen.
    group_names : list of str or None, default=None
        Names of the groups; None numbers them.

    Attributes
    ----------
    ax_ : matplotlib Axes
        Axes with the curves.
    figure_ : matplotlib Figure
        Figure that holds them.
    lines_ : list of matplotlib Line2D
        The curves of the groups that ever have a weight, the largest at the smallest strength
        first.
    chosen_line_ : matplotlib Line2D or None
        The mark of the chosen strength.

    See Also
    --------
    GroupLassoClassifierCV : Has such a path.
    TaskMatrixDisplay : Features by tasks.

    Examples
    --------
    >>> import numpy as np
    >>> from tamis import GroupLassoRegressorCV, GroupPathDisplay
    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(100, 12))
    >>> y = X[:, :3] @ [1.0, -2.0, 1.5] + 0.1 * rng.normal(size=100)
    >>> model = GroupLassoRegressorCV(groups=np.arange(12) // 3, alphas=10, cv=3).fit(X, y)
    >>> display = GroupPathDisplay.from_estimator(model)
    >>> display.ax_.get_xlabel(), display.chosen == model.alpha_
    ('alpha', True)
    """

    def __init__(self, *, alpha, group_norm, chosen=None, group_names=None):
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
        self.chosen = chosen
        self.group_names = group_names

    @classmethod
    def from_estimator(cls, estimator, *, group_names=None, ax=None, **kwargs):
        """Draw the path of a fitted model.

        Parameters
        ----------
        estimator : GroupLassoClassifierCV or GroupLassoRegressorCV
            A fitted model with `path_`.
        group_names : list of str or None, default=None
            Names of the groups; None takes the column's name for groups of one column, and numbers
            for others.
        ax : matplotlib Axes or None, default=None
            Where to draw; None makes a figure.
        **kwargs : dict
            For matplotlib's `plot`.

        Returns
        -------
        display : GroupPathDisplay
        """
        check_is_fitted(estimator)
        path = getattr(estimator, "path_", None)
        if not isinstance(path, dict) or "group_norm" not in path:
            raise lacks(
                cls,
                estimator,
                "a path of groups",
                "GroupLassoClassifierCV and GroupLassoRegressorCV have one.",
            )
        names = getattr(estimator, "feature_names_in_", None)
        if group_names is None and names is not None:
            group_names = [
                str(names[g[0]]) if len(g) == 1 else f"group {k}"
                for k, g in enumerate(estimator.groups_)
            ]
        display = cls(
            alpha=path["alpha"],
            group_norm=path["group_norm"],
            chosen=estimator.alpha_,
            group_names=group_names,
        )
        return display.plot(ax=ax, **kwargs)

    def plot(self, ax=None, **kwargs):
        """Draw.

        Parameters
        ----------
        ax : matplotlib Axes or None, default=None
            Where to draw; None makes a figure.
        **kwargs : dict
            For matplotlib's `plot`.

        Returns
        -------
        display : GroupPathDisplay
        """
        ax = take_axes(self, ax)
        last = (
            self.group_norm[np.argmin(self.alpha)]
            if len(self.alpha)
            else np.zeros(self.group_norm.shape[1])
        )
        shown = np.flatnonzero(self.group_norm.any(axis=0))
        self.lines_ = []
        for rank, g in enumerate(shown[np.argsort(-last[shown], kind="stable")]):
            name = f"group {g}" if self.group_names is None else str(self.group_names[g])
            look = (
                {"color": f"C{rank}", "label": name}
                if rank < MOST
                else {"color": "0.8", "zorder": 1}
            )
            self.lines_ += ax.plot(self.alpha, self.group_norm[:, g], **(look | kwargs))
        self.chosen_line_ = None
        if self.chosen is not None:
            self.chosen_line_ = ax.axvline(
                self.chosen,
                color=OTHER,
                linestyle="--",
                linewidth=1,
                label=f"alpha = {self.chosen:.3g}",
            )
        ax.set(xscale="log", xlabel="alpha", ylabel="norm of the group's weights")
        if not ax.xaxis_inverted():
            ax.invert_xaxis()
        if ax.get_legend_handles_labels()[0]:
            ax.legend(frameon=False, fontsize="small")
        return self


class TaskMatrixDisplay:
    """Weights of features (rows) by tasks (columns): who uses what.

    Use `from_estimator`. Rows that are filled through are features that all tasks share; gaps in
    them are tasks that dropped one.

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
    ax_ : matplotlib Axes
        Axes with the matrix.
    figure_ : matplotlib Figure
        Figure that holds them.
    image_ : matplotlib AxesImage
        The matrix; weights that are exactly 0 are left out.
    colorbar_ : matplotlib Colorbar
        What the colours mean.
    features_ : ndarray of int
        Features that are shown: those that some task keeps, the largest row first.

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

    def __init__(self, *, weights, task_names=None, feature_names=None):
        self.weights = np.asarray(weights, dtype=float)
        if self.weights.ndim != 2:
            raise ValueError(
                "weights must have two dimensions, tasks and features. Got shape "
                f"{self.weights.shape}."
            )
        self.task_names, self.feature_names = task_names, feature_names

    @classmethod
    def from_estimator(cls, estimator, *, ax=None, **kwargs):
        """Draw the weights of a fitted multi-task model.

        Parameters
        ----------
        estimator : MultiTaskClassifier, MultiTaskRegressor or an online one
            A fitted model with `tasks_`.
        ax : matplotlib Axes or None, default=None
            Where to draw; None makes a figure.
        **kwargs : dict
            For matplotlib's `imshow`.

        Returns
        -------
        display : TaskMatrixDisplay
        """
        check_is_fitted(estimator)
        tasks = getattr(estimator, "tasks_", None)
        if tasks is None:
            raise lacks(
                cls,
                estimator,
                "weights of several tasks",
                "MultiTaskClassifier and MultiTaskRegressor have them.",
            )
        weights = np.reshape(estimator.coef_, (len(tasks), -1, estimator.n_features_in_))
        weights = (
            weights[:, 0] if weights.shape[1] == 1 else np.sqrt((weights**2).sum(axis=1))
        )  # several outputs a task: their norm
        names = getattr(estimator, "feature_names_in_", None)
        return cls(weights=weights, task_names=[str(t) for t in tasks], feature_names=names).plot(
            ax=ax, **kwargs
        )

    def plot(self, ax=None, **kwargs):
        """Draw.

        Parameters
        ----------
        ax : matplotlib Axes or None, default=None
            Where to draw; None makes a figure.
        **kwargs : dict
            For matplotlib's `imshow`.

        Returns
        -------
        display : TaskMatrixDisplay
        """
        ax = take_axes(self, ax)
        sizes = np.sqrt((self.weights**2).sum(axis=0))
        order = np.argsort(-sizes, kind="stable")
        self.features_ = order[sizes[order] > 0.0]
        shown = self.weights[:, self.features_].T
        limit = float(np.abs(shown).max(initial=0.0)) or 1.0
        look = {
            "cmap": "RdBu_r",
            "vmin": -limit,
            "vmax": limit,
            "aspect": "auto",
            "interpolation": "nearest",
        } | kwargs
        shown = shown if shown.size else np.zeros((1, max(len(self.weights), 1)))
        self.image_ = ax.imshow(np.ma.masked_equal(shown, 0.0), **look)
        ax.set_facecolor("0.85")  # a weight that is exactly 0 is a hole
        self.colorbar_ = self.figure_.colorbar(self.image_, ax=ax, label="weight")
        ax.set(xlabel="task", ylabel="feature")
        if len(self.features_) and len(self.features_) <= 40:
            names = (
                self.features_
                if self.feature_names is None
                else [self.feature_names[j] for j in self.features_]
            )
            ax.set_yticks(range(len(self.features_)), [str(name) for name in names])
        if len(self.weights) <= 20:
            ax.set_xticks(
                range(len(self.weights)),
                self.task_names or [str(q) for q in range(len(self.weights))],
            )
        return self
