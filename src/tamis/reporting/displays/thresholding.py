"""The figure of thresholding: time, memory, accuracy and certificate against the threshold."""

import time
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import clone

from tamis.reporting.displays.drawing import ACCENT, OTHER, SOFT, Display, as_arrays, looks

PANELS = {
    "seconds": "seconds of a fit",
    "megabytes": "data, MB",
    "accuracy": "accuracy",
    "gap": "distance from the optimum",
}


class ThresholdDisplay(
    Display,
    shows="models along thresholds",
    way_out="Pass a ThresholdedClassifier.",
    drawn_by="`plot`",
):
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
    >>> model = ThresholdedClassifier(alpha=1e-3)
    >>> display = ThresholdDisplay.from_estimator(model, X, y, [0.0, 0.1, 0.2])
    >>> bool((display.kept_fraction[1:] <= display.kept_fraction[:-1]).all())
    True
    """

    def __init__(
        self,
        *,
        threshold: ArrayLike,
        kept_fraction: ArrayLike,
        seconds: ArrayLike,
        megabytes: ArrayLike,
        accuracy: ArrayLike,
        gap: ArrayLike,
        promise: ArrayLike,
    ):
        self.threshold, self.kept_fraction, self.seconds, self.megabytes = as_arrays(
            threshold=threshold, kept_fraction=kept_fraction, seconds=seconds, megabytes=megabytes
        )
        _, self.accuracy, self.gap, self.promise = as_arrays(
            threshold=threshold, accuracy=accuracy, gap=gap, promise=promise
        )

    @classmethod
    def from_estimator(
        cls,
        estimator: Any,
        X: Any,
        y: ArrayLike,
        thresholds: ArrayLike,
        *,
        X_test: Any = None,
        y_test: ArrayLike | None = None,
        axes: Any = None,
        **kwargs: Any,
    ) -> Self:
        """Fit copies of the model at the thresholds, and draw.

        Parameters
        ----------
        estimator : ThresholdedClassifier
            Model to copy; its own threshold and `max_error` do not matter.
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Training rows.
        thresholds : array-like of shape (n_thresholds,)
            Thresholds, 0 for the whole data.
        X_test : {array-like, sparse matrix} or None, default=None
            Rows for the accuracy; None takes the training rows.
        y_test : array-like or None, default=None
            Their classes.
        axes : array-like of four matplotlib Axes, or None, default=None
            Where to draw; None makes a figure.
        """
        known = estimator.get_params(deep=False) if hasattr(estimator, "get_params") else {}
        if not {"threshold", "max_error"} <= set(known):
            raise cls._refusal(estimator)
        if (X_test is None) != (y_test is None):
            raise ValueError(
                "X_test and y_test go together. Pass both, or none for the accuracy on the "
                "training rows."
            )
        judged = (X, y) if X_test is None else (X_test, y_test)
        rows = [_measure(estimator, X, y, float(t), *judged) for t in np.ravel(thresholds)]
        columns = {name: [row[name] for row in rows] for name in rows[0]}
        return cls(**columns).plot(axes=axes, **kwargs)

    def plot(self, axes: Any = None, **kwargs: Any) -> Self:
        """Draw."""
        axes = self._new_axes(2, 2, figsize=(8.0, 5.6)) if axes is None else axes
        self.axes_ = np.ravel(np.asarray(axes, dtype=object))
        if len(self.axes_) != 4:
            raise ValueError(
                "axes must be four, for time, memory, accuracy and certificate. Got "
                f"{len(self.axes_)}."
            )
        look = looks(kwargs, color=ACCENT, marker="o", markersize=4)
        for (name, words), ax in zip(PANELS.items(), self.axes_, strict=True):
            self._take_axes(ax)
            ax.plot(self.threshold, getattr(self, name), **look)
            ax.set(xlabel="threshold", ylabel=words)
            if name != "gap":
                ax.set_ylim(bottom=0.0)
        self.axes_[2].set_ylim(0.0, 1.02)
        self._mark_kept(self.axes_[1])
        self._mark_promise(self.axes_[3])
        self.ax_ = self.axes_[0]
        return self

    def _mark_kept(self, ax) -> None:
        """The share kept beside a few of the points."""
        for k in np.unique(np.linspace(0, len(self.threshold) - 1, 4).astype(int)):
            place = self.threshold[k], self.megabytes[k]
            apart = looks(xytext=(5, 4), textcoords="offset points")
            share = f"{self.kept_fraction[k]:.0%}"
            ax.annotate(share, place, **apart, color=SOFT, fontsize="small")

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
