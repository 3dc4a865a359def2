"""Figures of the columns of a metric: chosen pixels over an image, and the graph of products."""

import numpy as np
from sklearn.utils.validation import check_is_fitted

from tamis.report.displays.drawing import ACCENT, OTHER, lacks, take_axes


class PixelDisplay:
    """Importance of each pixel, drawn over an image.

    Use `from_estimator` with any model of images that has `feature_importances_` or `coef_`.

    Parameters
    ----------
    importances : array-like of shape (height, width)
        Importance of each pixel, 0 or more.
    background : array-like of shape (height, width) or None, default=None
        Image below, as a mean of rows.

    Attributes
    ----------
    ax_ : matplotlib Axes
        Axes with the image.
    figure_ : matplotlib Figure
        Figure that holds them.
    points_ : matplotlib PathCollection
        The chosen pixels.

    See Also
    --------
    SDist : Learns the metric.

    References
    ----------
    Y. Ma and T. Zheng, "Boosted Sparse Non-linear Distance Metric Learning", arXiv:1512.03396,
    2015, section 5.

    Examples
    --------
    >>> import numpy as np
    >>> from tamis import PixelDisplay, SDist
    >>> X = np.random.default_rng(0).normal(size=(200, 16))
    >>> y = (X[:, 5] > 0).astype(int)
    >>> display = PixelDisplay.from_estimator(SDist(max_iter=100, random_state=0).fit(X, y), (4, 4))
    >>> np.unravel_index(display.importances.argmax(), (4, 4))
    (np.int64(1), np.int64(1))
    """

    def __init__(self, *, importances, background=None):
        self.importances = np.asarray(importances, dtype=float)
        self.background = None if background is None else np.asarray(background, dtype=float)
        if self.importances.ndim != 2 or (
            self.background is not None and self.background.shape != self.importances.shape
        ):
            raise ValueError("importances and background are images of one shape (height, width).")

    @classmethod
    def from_estimator(cls, estimator, shape, *, background=None, ax=None, **kwargs):
        """Draw for a fitted model of images.

        Parameters
        ----------
        estimator : estimator
            A fitted model with `feature_importances_`, or `coef_`, whose absolute values are summed
            over the outputs.
        shape : pair of int
            Height and width of the images.
        background : array-like of shape (n_features,) or None, default=None
            Image below, such as the mean of the rows.
        ax : matplotlib Axes or None, default=None
            Where to draw; None makes a figure.
        **kwargs : dict
            For matplotlib's `scatter`.

        Returns
        -------
        display : PixelDisplay
        """
        check_is_fitted(estimator)
        sizes = getattr(estimator, "feature_importances_", None)
        if sizes is None:
            if not hasattr(estimator, "coef_"):
                raise lacks(
                    cls,
                    estimator,
                    "importances of pixels",
                    "Pass a model with feature_importances_ or coef_.",
                )
            sizes = np.abs(np.atleast_2d(np.asarray(estimator.coef_))).sum(axis=0)
        if len(sizes) != shape[0] * shape[1]:
            raise ValueError(
                f"shape={tuple(shape)} has {shape[0] * shape[1]} pixels, but the model "
                f"{len(sizes)} columns."
            )
        image = None if background is None else np.asarray(background, dtype=float).reshape(shape)
        return cls(importances=np.reshape(sizes, shape), background=image).plot(ax=ax, **kwargs)

    def plot(self, ax=None, **kwargs):
        """Draw.

        Parameters
        ----------
        ax : matplotlib Axes or None, default=None
            Where to draw; None makes a figure.
        **kwargs : dict
            For matplotlib's `scatter`.

        Returns
        -------
        display : PixelDisplay
        """
        ax = take_axes(self, ax)
        ax.spines[:].set_visible(False)
        image = np.zeros(self.importances.shape) if self.background is None else self.background
        ax.imshow(image, cmap="Greys", alpha=0.7)
        rows, columns = np.nonzero(self.importances)
        sizes = self.importances[rows, columns]
        areas = 4.0 + 140.0 * sizes / max(sizes.max(), 1e-300) if len(sizes) else sizes
        given = {
            "s": areas,
            "color": OTHER,
            "alpha": 0.75,
            "edgecolor": "white",
            "linewidth": 0.5,
        } | kwargs
        self.points_ = ax.scatter(columns, rows, **given)
        ax.set(xticks=[], yticks=[])
        ax.set_xlabel(f"{len(sizes)} of {self.importances.size} pixels used")
        return self


class InteractionDisplay:
    """Columns on a circle, products of two as lines between them: the wider, the more they matter.

    Use `from_estimator` with a metric of ``max_order=2`` or more. A ring round a column is its
    square. Products of three or more are drawn as lines between all their columns.

    Parameters
    ----------
    columns : dict of {str: float}
        Share of each column by itself.
    products : dict of {tuple of str: float}
        Share of each product.

    Attributes
    ----------
    ax_ : matplotlib Axes
        Axes with the graph.
    figure_ : matplotlib Figure
        Figure that holds them.
    places_ : dict of {str: ndarray}
        Where each column stands.

    See Also
    --------
    SDist : Learns the metric.

    References
    ----------
    Y. Ma and T. Zheng, "Boosted Sparse Non-linear Distance Metric Learning", arXiv:1512.03396,
    2015, section 3.

    Examples
    --------
    >>> import numpy as np
    >>> from tamis import InteractionDisplay, SDist
    >>> X = np.random.default_rng(0).normal(size=(400, 8))
    >>> y = (X[:, 2] * X[:, 5] > 0.2).astype(int)
    >>> model = SDist(max_order=2, max_iter=200, random_state=0).fit(X, y)
    >>> display = InteractionDisplay.from_estimator(model, n_terms=6)
    >>> max(display.products, key=display.products.get)
    ('x2', 'x5')
    """

    def __init__(self, *, columns, products):
        self.columns, self.products = dict(columns), dict(products)

    @classmethod
    def from_estimator(cls, estimator, *, n_terms=20, input_features=None, ax=None):
        """Draw for a fitted metric.

        Parameters
        ----------
        estimator : SDist or SDistClassifier
            A fitted model.
        n_terms : int, default=20
            Terms to show, those of largest share.
        input_features : array-like of str or None, default=None
            Names of the columns; None takes those of `fit`, or x0, x1, and so on.
        ax : matplotlib Axes or None, default=None
            Where to draw; None makes a figure.

        Returns
        -------
        display : InteractionDisplay
        """
        check_is_fitted(estimator)
        if not hasattr(estimator, "terms_"):
            raise lacks(
                cls,
                estimator,
                "products of columns",
                "Pass a fitted SDist or SDistClassifier with max_order=2.",
            )
        names = (
            input_features
            if input_features is not None
            else getattr(estimator, "feature_names_in_", None)
        )
        names = (
            [f"x{j}" for j in range(estimator.n_features_in_)]
            if names is None
            else [str(name) for name in names]
        )
        shares = estimator._term_shares()
        columns: dict = {}
        products: dict = {}
        for at in np.argsort(-shares)[:n_terms]:
            term = tuple(names[j] for j in estimator.terms_[at])
            for name in term:
                columns.setdefault(name, 0.0)
            if len(term) == 1:
                columns[term[0]] = float(shares[at])
            else:
                products[term] = float(shares[at])
        return cls(columns=columns, products=products).plot(ax=ax)

    def plot(self, ax=None):
        """Draw.

        Parameters
        ----------
        ax : matplotlib Axes or None, default=None
            Where to draw; None makes a figure.

        Returns
        -------
        display : InteractionDisplay
        """
        ax = take_axes(self, ax)
        ax.spines[:].set_visible(False)
        names = sorted(self.columns)
        turn = 2 * np.pi * np.arange(len(names)) / max(1, len(names))
        self.places_ = {
            name: np.array([np.cos(a), np.sin(a)]) for name, a in zip(names, turn, strict=True)
        }
        top = max([*self.columns.values(), *self.products.values(), 1e-300])
        for term, share in self.products.items():
            width = 0.6 + 7.0 * share / top
            if len(set(term)) == 1:
                ax.scatter(
                    *self.places_[term[0]],
                    s=380,
                    facecolor="none",
                    edgecolor=OTHER,
                    linewidth=width / 2,
                    zorder=2,
                )
            for a, b in {(a, b) for a in term for b in term if a < b}:
                ax.plot(
                    *zip(self.places_[a], self.places_[b], strict=True),
                    color=OTHER,
                    linewidth=width,
                    alpha=0.7,
                    zorder=1,
                )
        for name, place in self.places_.items():
            ax.scatter(*place, s=20 + 260 * self.columns[name] / top, color=ACCENT, zorder=3)
            side = "left" if place[0] > 0.05 else "right" if place[0] < -0.05 else "center"
            height = "bottom" if place[1] > 0.7 else "top" if place[1] < -0.7 else "center"
            ax.annotate(name, place * 1.14, ha=side, va=height)
        ax.set(xticks=[], yticks=[], xlim=(-1.6, 1.6), ylim=(-1.4, 1.4), aspect="equal")
        return self
