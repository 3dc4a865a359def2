"""Random Fourier features with sparse frequencies, learnt by reversible-jump Markov chain Monte
Carlo.
"""

from concurrent.futures import ThreadPoolExecutor
from numbers import Integral, Real
from typing import Any, ClassVar

import numpy as np
import scipy.sparse as sp
from sklearn.base import ClassNamePrefixFeaturesOutMixin, TransformerMixin
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils import check_random_state
from sklearn.utils._param_validation import Interval
from sklearn.utils.validation import check_is_fitted, column_or_1d

from tamis.base.border import check_classes, half_fitted, take_blocks, warn_user
from tamis.base.contents import array, count, early, labels, plain, rows
from tamis.base.estimator import Estimator
from tamis.base.machine.progress import Progress
from tamis.base.machine.threads import count_threads
from tamis.base.parameters import ABOVE, COUNT, NUMBER, SHARE
from tamis.methods.fourier.chain import MOVES, Rows, Sample, effective_size, run_chain, split_r_hat
from tamis.methods.fourier.loop import Prior
from tamis.solvers.neighbours import class_edges
from tamis.solvers.standard import standard_units

REFRESH = 512  # frequencies that a search for neighbours in the learnt kernel looks at
AGREED = 1.2  # split R-hat of the likelihood up to which chains count as agreed


class SparseFourierFeatures(ClassNamePrefixFeaturesOutMixin, TransformerMixin, Estimator):
    r"""Random Fourier features whose frequencies use few columns, learnt from labels.

    The kernel is a mean of cosines, :math:`k(x, x') = \frac{1}{D} \sum_l \cos(\omega_l \cdot (x -
    x'))`, where each frequency :math:`\omega_l` uses the columns that a random walk meets: its
    first column and its steps from column to column are drawn under a first-order Markov prior that
    favours columns and pairs already in use, and its numbers are normal. A row's label has the
    chance

    .. math:: P(y_i) = \operatorname{sigmoid}\bigl(a\,[k(x_i, x_{s(i)}) - k(x_i, x_{o(i)})]\bigr)

    with s(i) and o(i) the nearest other row of its own class and the nearest row of another class.
    Reversible-jump Markov chain Monte Carlo draws the number of frequencies and the frequencies
    from the posterior; `transform` gives the cosines and sines whose inner products are the
    posterior mean of the kernel.

    Choose it for up to a few thousand rows where classes differ by a nonlinear pattern in a few of
    up to some hundred columns, and to see which columns carry it. It is a slow learner: a chain
    costs the number of moves times the number of rows. For wide data and for named interactions
    choose `SDist`.

    Parameters
    ----------
    n_components : int or None, default=1000
        Most columns that `transform` gives: half as many frequencies are drawn from all, evenly by
        their weights. None uses all.
    scale : float, default=1.0
        Prior standard deviation of a frequency's numbers, for columns of unit deviation.
    mean_frequencies : float, default=20.0
        Mean of the Poisson prior of the number of frequencies, before it is cut to 1 ..
        `max_frequencies`.
    max_frequencies : int, default=100
        Most frequencies at a time.
    concentration : float, default=1.0
        Weight of a fresh first column against those in use.
    stop : float, default=0.5
        From 0.1 to 1. Prior chance that a fresh step of a walk ends it: the larger, the fewer
        columns a frequency uses.
    sharpness : float, default=8.0
        The factor a of the likelihood. 0 ignores the labels: the chain then draws from the prior.
    n_iter : int, default=20000
        Moves of each chain, in each round.
    burn_in : float, default=0.5
        Share of the moves that is left out.
    thin : int, default=20
        Moves between two looks at a chain.
    n_chains : int, default=2
        Chains from different starts; their agreement is the diagnosis.
    n_refreshes : int, default=1
        How often the neighbours are sought again, in the learnt kernel, and the chains are run
        anew.
    standardize : bool, default=True
        Whether columns are divided by their standard deviation.
    random_state : int, RandomState instance or None, default=None
        Decides the draws. The result does not depend on `n_jobs`.
    n_jobs : int or None, default=None
        Threads over the chains.

    Attributes
    ----------
    frequencies_ : sparse array of shape (n_frequencies, n_features)
        Distinct frequencies met after the burn-in, for columns as they come.
    frequency_weights_ : ndarray of shape (n_frequencies,)
        Weight of each in the mean kernel; they sum to 1.
    inclusion_probability_ : ndarray of shape (n_features,)
        Posterior chance that some frequency uses the column.
    inclusion_share_ : ndarray of shape (n_features,)
        Posterior mean of the share of frequencies that use the column: the better ranking, since
        with many frequencies most columns are used by one now and then.
    trace_ : dict
        By look (chains, looks): `n_frequencies` and `log_likelihood`, burn-in included, of the last
        round.
    diagnostics_ : dict
        After the burn-in: `acceptance` of each kind of move, `r_hat` and `effective_size` of the
        two courses of `trace_`.
    classes_ : ndarray
        Labels.
    n_features_in_ : int
        Number of columns.
    feature_names_in_ : ndarray
        Their names, if X had names.

    See Also
    --------
    SDist : Sparse metric learning, for wide data.

    Notes
    -----
    The source gives a model, and neither an algorithm nor results. Nine corrections make it well
    defined, among them: cosine and sine in place of a cosine without its phase, a proper prior of
    the number of frequencies, a first column drawn apart, and a sharpness that lets chances leave
    .12 to .88. Tested: without labels the chain returns the prior; the kernel depends on
    differences of rows alone, and its diagonal is 1; on made-up problems the planted columns rank
    first. Not validated: data of other kinds, many columns, and the mixing of long chains; look at
    `diagnostics_`.

    References
    ----------
    A. Rahimi and B. Recht, "Random Features for Large-Scale Kernel Machines", Advances in Neural
    Information Processing Systems 20, 2007. P. J. Green, "Reversible Jump Markov Chain Monte Carlo
    Computation and Bayesian Model Determination", Biometrika 82(4), 1995.

    Examples
    --------
    >>> import numpy as np
    >>> from tamis import SparseFourierFeatures
    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(300, 10))
    >>> y = X[:, 2] * X[:, 5] > 0
    >>> model = SparseFourierFeatures(n_iter=4000, random_state=0).fit(X, y)
    >>> sorted(np.argsort(model.inclusion_share_)[-2:].tolist())
    [2, 5]
    >>> Z = model.transform(X)
    >>> bool(np.allclose((Z * Z).sum(axis=1), 1.0))
    True
    """

    _parameter_constraints = {  # noqa: RUF012
        "n_components": [COUNT, None],
        "scale": [ABOVE],
        "mean_frequencies": [ABOVE],
        "max_frequencies": [COUNT],
        "concentration": [ABOVE],
        "stop": [
            Interval(Real, 0.1, 1.0, closed="both")
        ],  # below, nearly all walks would be longer than the longest
        "sharpness": [NUMBER],
        "n_iter": [COUNT],
        "burn_in": [SHARE],
        "thin": [COUNT],
        "n_chains": [COUNT],
        "n_refreshes": [Interval(Integral, 0, None, closed="left")],
        "standardize": ["boolean"],
        "random_state": ["random_state"],
        "n_jobs": [Integral, None],
    }

    def __init__(
        self,
        n_components=1000,
        *,
        scale=1.0,
        mean_frequencies=20.0,
        max_frequencies=100,
        concentration=1.0,
        stop=0.5,
        sharpness=8.0,
        n_iter=20000,
        burn_in=0.5,
        thin=20,
        n_chains=2,
        n_refreshes=1,
        standardize=True,
        random_state=None,
        n_jobs=None,
    ):
        self.n_components, self.scale = n_components, scale
        self.mean_frequencies, self.max_frequencies = mean_frequencies, max_frequencies
        self.concentration, self.stop, self.sharpness = concentration, stop, sharpness
        self.n_iter, self.burn_in, self.thin = n_iter, burn_in, thin
        self.n_chains, self.n_refreshes = n_chains, n_refreshes
        self.standardize, self.random_state, self.n_jobs = standardize, random_state, n_jobs

    # ------------------------------------------------------------------ learning
    def fit(self, X, y):
        """Draw frequencies from their posterior given the labels.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features)
            Rows.
        y : array-like of shape (n_samples,)
            Labels, two classes or more.

        Returns
        -------
        self : SparseFourierFeatures
            The fitted transformer.
        """
        self._validate_params()
        X = self._taken(X, reset=True)
        y = column_or_1d(y, warn=True)
        check_classes(y)
        if len(y) != X.shape[0]:
            raise ValueError(
                "Found input variables with inconsistent numbers of samples: "
                f"{[X.shape[0], len(y)]}"
            )
        self.classes_, labels = np.unique(y, return_inverse=True)
        if len(self.classes_) < 2:
            raise ValueError(
                "SparseFourierFeatures needs samples of at least 2 classes in the data, but the "
                "data contains only one class."
            )
        deviations = (
            standard_units(X, np.ones(len(y)))[1] if self.standardize else np.ones(X.shape[1])
        )
        scaled = _scaled(X, deviations)
        seeds = check_random_state(self.random_state).randint(
            0, 2**62, size=(1 + self.n_refreshes, self.n_chains), dtype=np.int64
        )
        place, total = scaled, self.n_iter * seeds.size
        with Progress("drawing frequencies", total) as progress:
            for turn in range(len(seeds)):
                rows = self._rows(scaled, place, labels)
                samples = self._run(rows, seeds[turn], progress)
                frequencies = sp.vstack([sample.frequencies for sample in samples], format="csr")
                weights = np.concatenate([sample.weights for sample in samples]) / len(samples)
                if turn + 1 < len(seeds):
                    place = _features(scaled, frequencies, weights, REFRESH)
        # In a single step, at the end: a thread that transforms meanwhile never sees a draft.
        vars(self).update(
            frequencies_=sp.csr_array(frequencies @ sp.diags_array(1.0 / deviations)),
            frequency_weights_=weights,
            _n_features_out=2 * len(_drawn(weights, self._pairs())[0]),
        )
        self._pool(samples)
        self._judge(samples)
        return self

    _contents: ClassVar[dict] = {
        "classes_": early(labels("classes", least=2)),
        "frequencies_": rows("frequencies", "columns"),
        "frequency_weights_": array("f8", "frequencies", least=0.0),
        "inclusion_probability_": array("f8", "columns", least=0.0, most=1.0),
        "inclusion_share_": array("f8", "columns", least=0.0),
        "trace_": plain(),
        "diagnostics_": plain(),
        "_n_features_out": count(),
    }

    def _taken(self, X, reset: bool):
        """X as a dense array or as SciPy's CSR, checked."""
        X = take_blocks(self, X, reset=reset)
        return X if isinstance(X, np.ndarray) else X.scipy()

    def _rows(self, scaled, place, labels) -> Rows:
        """Neighbours in `place`, columns of `scaled`; rows alone in their class have no neighbour
        and no say.
        """
        edges = class_edges(place, labels, 1)
        own, other = edges.nearest[:, 0], edges.nearest[:, 1]
        columns = sp.csc_array(scaled, dtype=np.float64)
        alone = own == np.arange(len(own))
        if alone.all():
            raise ValueError(
                "SparseFourierFeatures needs a class of at least 2 rows; every row is alone in its "
                "class."
            )
        parts = (columns.data, columns.indices.astype(np.int64), columns.indptr.astype(np.int64))
        return Rows(parts, own, other, 1.0 - alone, scaled.shape[1])

    def _run(self, rows: Rows, seeds, progress) -> list[Sample]:
        """All chains of a round."""
        prior = Prior(
            float(self.mean_frequencies),
            float(self.concentration),
            float(self.stop),
            float(self.scale),
            0.5 * float(self.scale),
            float(self.sharpness),
        )

        def one(seed):
            return run_chain(
                rows,
                prior,
                self.max_frequencies,
                self.n_iter,
                self.burn_in,
                self.thin,
                int(seed),
                progress.advance,
            )

        with ThreadPoolExecutor(min(len(seeds), count_threads(self.n_jobs))) as pool:
            return list(pool.map(one, seeds))

    def _pool(self, samples: list[Sample]) -> None:
        """The mean over chains."""
        self.inclusion_probability_ = np.mean([sample.used for sample in samples], axis=0)
        self.inclusion_share_ = np.mean([sample.share for sample in samples], axis=0)
        courses: dict[str, Any] = {
            "n_frequencies": np.array([sample.counts for sample in samples]),
            "log_likelihood": np.array([sample.likelihoods for sample in samples]),
        }
        self.trace_ = courses

    def _judge(self, samples: list[Sample]) -> None:
        """Agreement of the chains, and a warning where they disagree."""
        kept = samples[0].kept
        tried, taken = (
            np.sum([getattr(sample, name) for sample in samples], axis=0)
            for name in ("tried", "taken")
        )
        courses = {name: course[:, -kept:].astype(float) for name, course in self.trace_.items()}
        self.diagnostics_ = {
            "acceptance": {
                move: float(taken[k] / tried[k]) if tried[k] else 0.0
                for k, move in enumerate(MOVES)
            },
            "r_hat": {name: split_r_hat(course) for name, course in courses.items()},
            "effective_size": {name: effective_size(course) for name, course in courses.items()},
        }
        apart = self.diagnostics_["r_hat"]["log_likelihood"]
        if np.isnan(apart):
            warn_user(
                f"SparseFourierFeatures: n_iter={self.n_iter} leaves too few looks at the chains "
                "to tell whether they agree: r_hat is nan in "
                "diagnostics_. Raise n_iter.",
                ConvergenceWarning,
            )
        elif apart > AGREED:
            warn_user(
                "SparseFourierFeatures: the chains do not agree yet: split R-hat of the "
                f"log-likelihood is {apart:.2f}, above {AGREED}. "
                "Raise n_iter, or lower sharpness; see diagnostics_.",
                ConvergenceWarning,
            )

    # ------------------------------------------------------------------ using
    def _pairs(self) -> int | None:
        """Number of frequencies that `transform` may use."""
        return None if self.n_components is None else max(1, self.n_components // 2)

    def transform(self, X):
        """Cosines and sines whose inner products are the learnt kernel.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features)
            Rows.

        Returns
        -------
        features : ndarray of shape (n_samples, n_features_out)
            All cosines, then all sines. Rows have length 1, so the squared distance of two is 2 - 2
            k(x, x').
        """
        check_is_fitted(self)
        X, frequencies, weights = (
            self._taken(X, reset=False),
            self.frequencies_,
            self.frequency_weights_,
        )
        if frequencies.shape != (len(weights), X.shape[1]):
            raise half_fitted(self)
        return _features(X, frequencies, weights, self._pairs())

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        tags.target_tags.required = True
        tags.target_tags.one_d_labels = True
        return tags


# --------------------------------------------------------------------------- rows and columns
def _drawn(weights: np.ndarray, n: int | None) -> tuple[np.ndarray, np.ndarray]:
    """At most n frequencies, drawn evenly by weight, and their weights.

    (The heaviest would be those that the chain got stuck at.)
    """
    if n is None or n >= len(weights):
        return np.arange(len(weights)), weights
    reached = np.cumsum(weights)
    places = np.searchsorted(reached, (np.arange(n) + 0.5) / n * reached[-1])
    drawn, times = np.unique(places, return_counts=True)
    return drawn, times / n


def _features(X, frequencies, weights: np.ndarray, n: int | None) -> np.ndarray:
    """Cosines and sines of at most n frequencies, side by side; each row has length 1."""
    drawn, shares = _drawn(weights, n)
    angles = X @ frequencies[drawn].T
    angles = angles.toarray() if sp.issparse(angles) else angles
    heights = np.sqrt(shares)
    return np.hstack([np.cos(angles) * heights, np.sin(angles) * heights])


def _scaled(X, deviations):
    """Columns divided by their deviations; not centred, since differences of rows are all that
    matters.
    """
    return sp.csr_array(X @ sp.diags_array(1.0 / deviations)) if sp.issparse(X) else X / deviations
