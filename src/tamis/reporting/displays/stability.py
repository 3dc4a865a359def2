"""The figure of stability: agreement of every run with every other."""

from itertools import groupby
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike

from tamis.evaluation.comparison import Record
from tamis.reporting.displays.drawing import Ax, Axes, Display, Names, looks
from tamis.reporting.page.plot_data import agreement_of
from tamis.selection.agreement import agreements

MEASURES = ("kappa", "jaccard")


class StabilityDisplay(
    Display,
    shows="the paths of a model",
    way_out="Fit it several times and pass the models to StabilityDisplay.from_supports.",
    drawn_by="`imshow`",
):
    """Agreement of the features kept by each run with those of every other, as a matrix.

    Use `from_record` for a comparison, `from_supports` for any runs, or `from_estimator` for the
    paths of a stabilized model. Blocks on the diagonal compare a method with itself: the darker,
    the less its selection hangs on chance. Blocks beside it say whether two methods keep the same
    features.

    Parameters
    ----------
    matrix : array-like of shape (n_runs, n_runs)
        Agreement of each pair of runs.
    labels : sequence of str or None, default=None
        Method of each run; runs of one method stand together.
    measure : str, default="kappa"
        What the agreement is, for the colour bar.

    Attributes
    ----------
    {axes}
    image_ : matplotlib AxesImage
        The matrix.

    See Also
    --------
    compare : Makes a record; it needs ``keep_supports=True`` here.
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

    def __init__(self, *, matrix: ArrayLike, labels: Names = None, measure: str = "kappa"):
        self.matrix = np.asarray(matrix, dtype=float)
        if self.matrix.ndim != 2 or self.matrix.shape[0] != self.matrix.shape[1]:
            raise ValueError(
                f"a matrix of agreement has as many rows as columns. Got shape {self.matrix.shape}."
            )
        self.labels = None if labels is None else [str(label) for label in labels]
        if self.labels is not None and len(self.labels) != len(self.matrix):
            raise ValueError(
                f"labels has {len(self.labels)} entries for {len(self.matrix)} runs. Give one a "
                "run."
            )
        self.measure = measure

    @classmethod
    def from_record(
        cls, record: Record, *, measure: str = "kappa", ax: Ax = None, **kwargs: Any
    ) -> Self:
        """Draw all runs of a comparison.

        Parameters
        ----------
        record : Record
            From ``compare(..., keep_supports=True)``.
        measure : {"kappa", "jaccard"}, default="kappa"
            Cohen's kappa, which corrects for chance, or overlap over union.
        """
        _check_measure(measure)
        found = agreement_of(record, measure)
        if found is None:
            raise ValueError(
                "the record does not hold what the runs kept; make it with compare(..., "
                "keep_supports=True)."
            )
        return cls(matrix=found.matrix, labels=found.groups, measure=measure).plot(ax=ax, **kwargs)

    @classmethod
    def from_supports(
        cls,
        supports: Any,
        *,
        n_features: int | None = None,
        labels: Names = None,
        measure: str = "kappa",
        ax: Ax = None,
        **kwargs: Any,
    ) -> Self:
        """Draw any runs.

        Parameters
        ----------
        supports : array-like, sparse matrix or list
            One run a row or entry, as for `selection_stability`: masks, index arrays, weights or
            fitted models.
        n_features : int or None, default=None
            Number of features; needed for index arrays only.
        labels : sequence of str or None, default=None
            Method of each run.
        """
        _check_measure(measure)
        matrix = agreements(supports, n_features, measure)
        return cls(matrix=matrix, labels=labels, measure=measure).plot(ax=ax, **kwargs)

    @classmethod
    def from_estimator(
        cls, estimator: Any, *, measure: str = "kappa", ax: Ax = None, **kwargs: Any
    ) -> Self:
        """Draw the paths of a stabilized model.

        Parameters
        ----------
        estimator : StabilizedSGDClassifier or StabilizedSGDRegressor
            A fitted model with `paths_`; of several outputs a path's features are the union.
        """
        kept = (cls._held(estimator, "paths_") != 0.0).any(axis=1)
        return cls.from_supports(kept, measure=measure, ax=ax, **kwargs)

    def plot(self, ax: Ax = None, *, colorbar: bool = True, **kwargs: Any) -> Self:
        """Draw.

        Parameters
        ----------
        colorbar : bool, default=True
            Whether to show what the colours mean.
        """
        ax = self._take_axes(ax)
        ax.spines[:].set_visible(False)
        look = looks(kwargs, cmap="Blues", vmin=0.0, vmax=1.0)
        self.image_ = ax.imshow(self.matrix, **look)
        if self.labels is None:
            ax.set(xlabel="run", ylabel="run")
        else:
            _mark_groups(ax, self.labels)
        if colorbar:
            label = f"agreement ({self.measure})"
            self.figure_.colorbar(self.image_, ax=ax, label=label, shrink=0.8)
        return self


def _mark_groups(ax: Axes, labels: list[str]) -> None:
    """Names of the methods, and lines between them."""
    begin, middles, names = 0, [], []
    for name, members in groupby(labels):
        count = len(list(members))
        middles.append(begin + (count - 1) / 2)
        names.append(name)
        begin += count
        if begin < len(labels):
            ax.axhline(begin - 0.5, color="white", linewidth=2)
            ax.axvline(begin - 0.5, color="white", linewidth=2)
    ax.set_yticks(middles, names)
    ax.set_xticks(middles, names, rotation=35, ha="right", rotation_mode="anchor")
    ax.tick_params(length=0)


def _check_measure(measure: str) -> None:
    if measure not in MEASURES:
        raise ValueError(
            f"The 'measure' parameter must be one of {', '.join(map(repr, MEASURES))}. Got "
            f"{measure!r} instead."
        )
