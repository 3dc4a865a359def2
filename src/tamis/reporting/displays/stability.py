"""The figure of stability: agreement between runs."""

from itertools import groupby
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike

from tamis.evaluation.comparison import Record
from tamis.reporting.displays.base import Axes, Display, OptionalAxes, OptionalNames, style
from tamis.reporting.page.plot_data import run_agreement
from tamis.selection.agreement import pairwise_agreement


class StabilityDisplay(
    Display,
    content="the paths of a model",
    way_out="Fit it several times and pass the models to StabilityDisplay.from_supports.",
    drawn_by="`imshow`",
):
    """Agreement of the features kept by each run with those of every other, as a matrix.

    Use `from_record` for a comparison, `from_supports` for any runs, or `from_estimator` for the
    paths of a stabilized model. Blocks on the diagonal compare a method with itself: the darker,
    the less its selection depends on chance. Other blocks show whether two methods keep the same
    features.

    Parameters
    ----------
    matrix : array-like of shape (n_runs, n_runs)
        Agreement of each pair of runs.
    labels : sequence of str or None, default=None
        Method of each run; runs of one method must be neighbours.
    measure : str, default="kappa"
        Name of the measure of agreement, for the colour bar.

    Attributes
    ----------
    {axes}
    image_ : matplotlib AxesImage
        The matrix.

    See Also
    --------
    compare : Makes a record, with ``keep_supports=True``.
    selection_kappa : The mean of such a matrix.

    References
    ----------
    J. Cohen, "A Coefficient of Agreement for Nominal Scales", Educational and Psychological
    Measurement 20, 1960.

    Examples
    --------
    >>> from tamis import StabilityDisplay
    >>> runs = [[0, 1, 2], [0, 1, 3], [0, 1, 2], [7, 8]]
    >>> display = StabilityDisplay.from_supports(runs, n_features=100)
    >>> display.matrix.round(2).tolist()[0]
    [1.0, 0.66, 1.0, -0.02]
    """

    def __init__(self, *, matrix: ArrayLike, labels: OptionalNames = None, measure: str = "kappa"):
        self.matrix = np.asarray(matrix, dtype=float)
        if self.matrix.ndim != 2 or self.matrix.shape[0] != self.matrix.shape[1]:
            raise ValueError(
                f"a matrix of agreement has as many rows as columns. Got shape {self.matrix.shape}."
            )
        self.labels = None if labels is None else [str(label) for label in labels]
        if self.labels is not None and len(self.labels) != len(self.matrix):
            raise ValueError(
                f"labels has {len(self.labels)} entries for {len(self.matrix)} runs. Pass one "
                "label for each run."
            )
        self.measure = measure

    @classmethod
    def from_record(
        cls, record: Record, *, measure: str = "kappa", ax: OptionalAxes = None, **kwargs: Any
    ) -> Self:
        """Draw all runs of a comparison.

        Parameters
        ----------
        record : Record
            From ``compare(..., keep_supports=True)``.
        measure : {"kappa", "jaccard"}, default="kappa"
            Cohen's kappa, which corrects for chance, or intersection over union.
        """
        _check_measure(measure)
        agreement = run_agreement(record, measure)
        if agreement is None:
            raise ValueError(
                "the record does not hold what the runs kept; make it with compare(..., "
                "keep_supports=True)."
            )
        display = cls(matrix=agreement.matrix, labels=agreement.groups, measure=measure)
        return display.plot(ax=ax, **kwargs)

    @classmethod
    def from_supports(
        cls,
        supports: Any,
        *,
        n_features: int | None = None,
        labels: OptionalNames = None,
        measure: str = "kappa",
        ax: OptionalAxes = None,
        **kwargs: Any,
    ) -> Self:
        """Draw any runs.

        Parameters
        ----------
        supports : array-like, sparse matrix or list
            One row or entry for each run, as for `selection_stability`: masks, index arrays,
            weights or fitted models.
        n_features : int or None, default=None
            Number of features; needed for index arrays only.
        labels : sequence of str or None, default=None
            Method of each run.
        """
        _check_measure(measure)
        matrix = pairwise_agreement(supports, n_features, measure)
        return cls(matrix=matrix, labels=labels, measure=measure).plot(ax=ax, **kwargs)

    @classmethod
    def from_estimator(
        cls, estimator: Any, *, measure: str = "kappa", ax: OptionalAxes = None, **kwargs: Any
    ) -> Self:
        """Draw the paths of a stabilized model.

        Parameters
        ----------
        estimator : StabilizedSGDClassifier or StabilizedSGDRegressor
            A fitted model with `paths_`; of several outputs a path keeps the union of features.
        """
        supports = (cls._fitted_attribute(estimator, "paths_") != 0.0).any(axis=1)
        return cls.from_supports(supports, measure=measure, ax=ax, **kwargs)

    def plot(self, ax: OptionalAxes = None, *, colorbar: bool = True, **kwargs: Any) -> Self:
        """Draw.

        Parameters
        ----------
        colorbar : bool, default=True
            Whether to draw a colour bar.
        """
        ax = self._set_axes(ax)
        ax.spines[:].set_visible(False)
        options = style(kwargs, cmap="Blues", vmin=0.0, vmax=1.0)
        self.image_ = ax.imshow(self.matrix, **options)
        if self.labels is None:
            ax.set(xlabel="run", ylabel="run")
        else:
            _mark_groups(ax, self.labels)
        if colorbar:
            label = f"agreement ({self.measure})"
            self.figure_.colorbar(self.image_, ax=ax, label=label, shrink=0.8)
        return self


def _mark_groups(ax: Axes, labels: list[str]) -> None:
    """Draw the names of the methods, and lines between their blocks."""
    start, middles, names = 0, [], []
    for name, members in groupby(labels):
        count = len(list(members))
        middles.append(start + (count - 1) / 2)
        names.append(name)
        start += count
        if start < len(labels):
            ax.axhline(start - 0.5, color="white", linewidth=2)
            ax.axvline(start - 0.5, color="white", linewidth=2)
    ax.set_yticks(middles, names)
    ax.set_xticks(middles, names, rotation=35, ha="right", rotation_mode="anchor")
    ax.tick_params(length=0)


def _check_measure(measure: str) -> None:
    if measure not in ("kappa", "jaccard"):
        raise ValueError(
            f"The 'measure' parameter must be one of 'kappa', 'jaccard'. Got {measure!r} instead."
        )
