"""The figure of thresholding: time, memory, accuracy and certificate against the threshold."""

import time
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import clone

from tamis.reporting.displays.base import ACCENT, OTHER, SOFT, Display, as_arrays, style

PANELS = {  # attributes and their labels
    "seconds": "seconds of a fit",
    "megabytes": "data, MB",
    "accuracy": "accuracy",
    "gap": "distance from the optimum",
}


class ThresholdDisplay(
    Display,
    content="models along thresholds",
    way_out="Pass a ThresholdedClassifier.",
    drawn_by="`plot`",
):
    """Time, memory, accuracy and certificate of a model along thresholds on the data's entries.

    Use `from_estimator`. The certificate is an upper bound of the distance from the optimum on all
    data, relative to the optimum. The bound that was known before the fit is drawn too, unless it
    is far larger than the certificate.

    Parameters
    ----------
    threshold : array-like of shape (n_thresholds,)
        Thresholds.
    kept_fraction : array-like of shape (n_thresholds,)
        Fraction of the nonzero entries above each threshold.
    seconds : array-like of shape (n_thresholds,)
        Time of the fit.
    megabytes : array-like of shape (n_thresholds,)
        Size of the data of the solver.
    accuracy : array-like of shape (n_thresholds,)
        Accuracy on rows without a threshold.
    gap : array-like of shape (n_thresholds,)
        Certified distance from the optimum, relative to it; of several outputs the largest.
    promise : array-like of shape (n_thresholds,)
        Bound of the distance that was known before the fit.

    Attributes
    ----------
    axes_ : ndarray of matplotlib Axes, of shape (4,)
        The panels.
    ax_ : matplotlib Axes
        The first panel.
    figure_ : matplotlib Figure
        The figure.

    See Also
    --------
    ThresholdedClassifier : The model that is fitted.

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
        """Fit copies of a model at some thresholds and draw them.

        Parameters
        ----------
        estimator : ThresholdedClassifier
            Model to copy; its `threshold` and `max_error` are not used.
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Training rows.
        thresholds : array-like of shape (n_thresholds,)
            Thresholds; 0 stands for all data.
        X_test : {array-like, sparse matrix} or None, default=None
            Rows for the accuracy; None takes the training rows.
        y_test : array-like or None, default=None
            Their classes.
        axes : array-like of four matplotlib Axes, or None, default=None
            Where to draw; None makes a figure.
        """
        params = estimator.get_params(deep=False) if hasattr(estimator, "get_params") else {}
        if not {"threshold", "max_error"} <= set(params):
            raise cls._unsupported_error(estimator)
        if (X_test is None) != (y_test is None):
            raise ValueError(
                "X_test and y_test go together. Pass both, or none for the accuracy on the "
                "training rows."
            )
        test_data = (X, y) if X_test is None else (X_test, y_test)
        fits = [_measure_fit(estimator, X, y, float(t), *test_data) for t in np.ravel(thresholds)]
        columns = {name: [fit[name] for fit in fits] for name in fits[0]}
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
        options = style(kwargs, color=ACCENT, marker="o", markersize=4)
        for (name, label), ax in zip(PANELS.items(), self.axes_, strict=True):
            self._set_axes(ax)
            ax.plot(self.threshold, getattr(self, name), **options)
            ax.set(xlabel="threshold", ylabel=label)
            if name != "gap":
                ax.set_ylim(bottom=0.0)
        self.axes_[2].set_ylim(0.0, 1.02)
        self._annotate_fractions(self.axes_[1])
        self._draw_promise(self.axes_[3])
        self.ax_ = self.axes_[0]
        return self

    def _annotate_fractions(self, ax) -> None:
        """Write the kept fraction beside four of the points."""
        for k in np.unique(np.linspace(0, len(self.threshold) - 1, 4).astype(int)):
            point = self.threshold[k], self.megabytes[k]
            offset = style(xytext=(5, 4), textcoords="offset points")
            text = f"{self.kept_fraction[k]:.0%}"
            ax.annotate(text, point, **offset, color=SOFT, fontsize="small")

    def _draw_promise(self, ax) -> None:
        """Draw the promise where it is below ten times the largest gap, else write its minimum."""
        largest_gap = float(np.max(self.gap[np.isfinite(self.gap)], initial=0.0))
        is_drawn = self.promise <= max(10.0 * largest_gap, 0.1)
        if is_drawn.sum() > 1:
            ax.plot(
                self.threshold[is_drawn],
                self.promise[is_drawn],
                color=OTHER,
                linestyle="--",
                label="known before the fit",
            )
            ax.legend(frameon=False, fontsize="small")
        elif (self.threshold > 0.0).any():
            smallest = float(self.promise[self.threshold > 0.0].min())
            title = f"known before the fit: {smallest:.2g} and more"
            ax.set_title(title, color=SOFT, fontsize="small")
        ax.set_ylim(bottom=min(0.0, *ax.get_ylim()))


def _measure_fit(estimator, X, y, threshold: float, X_test, y_test) -> dict:
    """Return the measures of one fit; its time is that of this thread."""
    model = clone(estimator).set_params(threshold=threshold, max_error=None)
    start = time.thread_time()
    model.fit(X, y)
    seconds = time.thread_time() - start
    certificate = model.certificate_
    return {
        "threshold": threshold,
        "kept_fraction": model.kept_fraction_,
        "seconds": seconds,
        "megabytes": model.history_[-1]["bytes"] / 1e6,
        "accuracy": model.score(X_test, y_test),
        "gap": float(np.max(certificate["rel_gap"])),
        "promise": float(np.max(certificate["apriori_rel"])),
    }
