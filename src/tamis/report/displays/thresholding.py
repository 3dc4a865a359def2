"""The figure of thresholding: time, memory, accuracy and certificate against the threshold."""

import time

import numpy as np
from sklearn.base import clone

from tamis.report.displays.drawing import ACCENT, OTHER, SOFT, as_arrays, lacks, take_axes

PANELS = ("seconds", "megabytes", "accuracy", "gap")
WORDS = {
    "seconds": "seconds of a fit",
    "megabytes": "data, MB",
    "accuracy": "accuracy",
    "gap": "distance from the optimum",
}


class ThresholdDisplay:
    """What a threshold on the entries of the data saves, and what it costs: time, memory, accuracy
    and certificate.

    Use `from_estimator`. The certificate is an upper bound of the distance from the optimum on the
    whole data, as a share of it; what theory promises before the fit is drawn beside it where that
    is on the chart at all.

    Parameters
    ----------
    threshold : array-like of shape (n_thresholds,)
        Thresholds.
    kept_fraction : array-like of shape (n_thresholds,)
        Share of the nonzero entries above each.
    seconds : array-like of shape (n_thresholds,)
        Time of the fit.
    megabytes : array-like of shape (n_thresholds,)
        Size of the data that the solver sees.
    accuracy : array-like of shape (n_thresholds,)
        Accuracy on rows as they are.
    gap : array-like of shape (n_thresholds,)
        Certified distance from the optimum as a share of it; of several outputs the largest.
    promise : array-like of shape (n_thresholds,)
        What was known of it before the fit.

    Attributes
    ----------
    axes_ : ndarray of matplotlib Axes, of shape (4,)
        The panels.
    ax_ : matplotlib Axes
        The first of them.
    figure_ : matplotlib Figure
        Figure that holds them.

    See Also
    --------
    ThresholdedClassifier : The model behind it.

    References
    ----------
    G. V. A. Pham, "Robust Optimization and Data Approximation in Machine Learning", technical
    report UCB/EECS-2015-216, 2015, figures 3.1 and 3.2.

    Examples
    --------
    >>> from tamis import ThresholdDisplay, ThresholdedClassifier
    >>> from tamis.datasets import make_text
    >>> X, y, planted = make_text(n_samples=600, n_features=1000, random_state=0)
    >>> display = ThresholdDisplay.from_estimator(ThresholdedClassifier(alpha=1e-3), X, y, [0.0, 0.1, 0.2])
    >>> bool((display.kept_fraction[1:] <= display.kept_fraction[:-1]).all())
    True
    """

    def __init__(self, *, threshold, kept_fraction, seconds, megabytes, accuracy, gap, promise):
        columns = as_arrays(
            threshold=threshold,
            kept_fraction=kept_fraction,
            seconds=seconds,
            megabytes=megabytes,
            accuracy=accuracy,
            gap=gap,
            promise=promise,
        )
        (
            self.threshold,
            self.kept_fraction,
            self.seconds,
            self.megabytes,
            self.accuracy,
            self.gap,
            self.promise,
        ) = columns

    @classmethod
    def from_estimator(
        cls, estimator, X, y, thresholds, *, X_test=None, y_test=None, axes=None, **kwargs
    ):
        """Fit copies of the model at the thresholds, and draw.

        Parameters
        ----------
        estimator : ThresholdedClassifier
            Model to copy; its own threshold and `max_error` do not matter.
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Training rows.
        y : array-like of shape (n_samples,)
            Their classes.
        thresholds : array-like of shape (n_thresholds,)
            Thresholds, 0 for the whole data.
        X_test : {array-like, sparse matrix} or None, default=None
            Rows for the accuracy; None takes the training rows.
        y_test : array-like or None, default=None
            Their classes.
        axes : array-like of four matplotlib Axes, or None, default=None
            Where to draw; None makes a figure.
        **kwargs : dict
            For matplotlib's `plot`.

        Returns
        -------
        display : ThresholdDisplay
        """
        if not hasattr(estimator, "get_params") or not {"threshold", "max_error"} <= set(
            estimator.get_params(deep=False)
        ):
            raise lacks(cls, estimator, "models along thresholds", "Pass a ThresholdedClassifier.")
        if (X_test is None) != (y_test is None):
            raise ValueError(
                "X_test and y_test go together. Pass both, or none for the accuracy on the "
                "training rows."
            )
        rows = [
            _measure(estimator, X, y, float(t), *((X, y) if X_test is None else (X_test, y_test)))
            for t in np.ravel(thresholds)
        ]
        return cls(**{name: [row[name] for row in rows] for name in rows[0]}).plot(
            axes=axes, **kwargs
        )

    def plot(self, axes=None, **kwargs):
        """Draw.

        Parameters
        ----------
        axes : array-like of four matplotlib Axes, or None, default=None
            Where to draw; None makes a figure.
        **kwargs : dict
            For matplotlib's `plot`.

        Returns
        -------
        display : ThresholdDisplay
        """
        axes = _panels(axes)
        style = {"color": ACCENT, "marker": "o", "markersize": 4} | kwargs
        for ax, name in zip(axes, PANELS, strict=True):
            take_axes(self, ax)
            ax.plot(self.threshold, getattr(self, name), **style)
            ax.set(xlabel="threshold", ylabel=WORDS[name])
            if name != "gap":
                ax.set_ylim(bottom=0.0)
        axes[2].set_ylim(0.0, 1.02)
        self._mark_kept(axes[1])
        self._mark_promise(axes[3])
        self.axes_, self.ax_, self.figure_ = np.array(axes, dtype=object), axes[0], axes[0].figure
        return self

    def _mark_kept(self, ax) -> None:
        """The share kept beside a few of the points."""
        for k in np.unique(np.linspace(0, len(self.threshold) - 1, 4).astype(int)):
            place = (self.threshold[k], self.megabytes[k])
            ax.annotate(
                f"{self.kept_fraction[k]:.0%}",
                place,
                xytext=(5, 4),
                textcoords="offset points",
                color=SOFT,
                fontsize="small",
            )

    def _mark_promise(self, ax) -> None:
        """The promise, where it is less than ten times the largest certificate; otherwise a word
        about it.
        """
        most = float(np.max(self.gap[np.isfinite(self.gap)], initial=0.0))
        shown = self.promise <= max(10.0 * most, 0.1)
        if shown.sum() > 1:
            ax.plot(
                self.threshold[shown],
                self.promise[shown],
                color=OTHER,
                linestyle="--",
                label="known before the fit",
            )
            ax.legend(frameon=False, fontsize="small")
        elif (self.threshold > 0.0).any():
            least = float(self.promise[self.threshold > 0.0].min())
            ax.set_title(
                f"known before the fit: {least:.2g} and more", color=SOFT, fontsize="small"
            )
        ax.set_ylim(bottom=min(0.0, *ax.get_ylim()))


def _panels(axes):
    """Four axes, given or new."""
    if axes is not None:
        axes = np.ravel(np.asarray(axes, dtype=object))
        if len(axes) != 4:
            raise ValueError(
                f"axes must be four, for time, memory, accuracy and certificate. Got {len(axes)}."
            )
        return list(axes)
    try:
        import matplotlib.pyplot as plt
    except ImportError as failure:
        raise ImportError(
            "ThresholdDisplay.plot needs matplotlib, which is not installed; install the extra "
            "`plot`: pip install 'tamis[plot]'."
        ) from failure
    _, grid = plt.subplots(2, 2, figsize=(8.0, 5.6), layout="constrained")
    return list(grid.ravel())


def _measure(estimator, X, y, threshold: float, X_test, y_test) -> dict:
    """One fit, timed by the thread's own clock."""
    model = clone(estimator).set_params(threshold=threshold, max_error=None)
    begin = time.thread_time()
    model.fit(X, y)
    taken = time.thread_time() - begin
    proof = model.certificate_
    return {
        "threshold": threshold,
        "kept_fraction": model.kept_fraction_,
        "seconds": taken,
        "megabytes": model.history_[-1]["bytes"] / 1e6,
        "accuracy": model.score(X_test, y_test),
        "gap": float(np.max(proof["rel_gap"])),
        "promise": float(np.max(proof["apriori_rel"])),
    }
