"""Random Fourier features with sparse frequencies, learnt by reversible-jump Markov chain Monte
Carlo.
"""

from numbers import Integral, Real
from typing import ClassVar, cast

import numpy as np
import scipy.sparse as sp
from sklearn.base import ClassNamePrefixFeaturesOutMixin
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils import check_random_state
from sklearn.utils._param_validation import Interval
from sklearn.utils.validation import check_is_fitted

from tamis.base.estimators.classifier import ClassTransformer
from tamis.base.estimators.estimator import plain_rows, take
from tamis.base.parameters import (
    ABOVE,
    BOOL,
    COUNT,
    NUMBER,
    RANDOM,
    SHARE,
    Seed,
    at_least,
    estimator,
    parameter,
)
from tamis.base.targets import ClassTargets
from tamis.base.validation import half_fitted, warn_user
from tamis.methods.sparse_fourier.chain import Course
from tamis.methods.sparse_fourier.loop import Prior
from tamis.methods.sparse_fourier.posterior import evenly_drawn, features, posterior_of, scaled
from tamis.solvers.standard import standard_units
from tamis.system.progress import Progress
from tamis.system.schema import array, count, plain, rows
from tamis.system.threads import count_threads, locked

AGREED = 1.2  # split R-hat of the likelihood up to which chains count as agreed


@estimator(kw_only=True)
class Sampled(ClassTransformer):
    """What is asked of the chains by name."""

    scale: float = parameter(
        1.0,
        [ABOVE],
        "Prior standard deviation of a frequency's numbers, for columns of unit deviation.",
    )
    mean_frequencies: float = parameter(
        20.0,
        [ABOVE],
        "Mean of the Poisson prior of the number of frequencies, before it is cut to 1 .. "
        "`max_frequencies`.",
    )
    max_frequencies: int = parameter(100, [COUNT], "Most frequencies at a time.")
    concentration: float = parameter(
        1.0, [ABOVE], "Weight of a fresh first column against those in use."
    )
    stop: float = parameter(
        0.5,
        # below, nearly all walks would be longer than the longest
        [Interval(Real, 0.1, 1.0, closed="both")],
        "From 0.1 to 1. Prior chance that a fresh step of a walk ends it: the larger, the fewer "
        "columns a frequency uses.",
    )
    sharpness: float = parameter(
        8.0,
        [NUMBER],
        "The factor a of the likelihood. 0 ignores the labels: the chain then draws from the "
        "prior.",
    )
    max_iter: int = parameter(20000, [COUNT], "Moves of each chain, in each round.")
    burn_in: float = parameter(0.5, [SHARE], "Share of the moves that is left out.")
    thin: int = parameter(20, [COUNT], "Moves between two looks at a chain.")
    n_chains: int = parameter(
        2, [COUNT], "Chains from different starts; their agreement is the diagnosis."
    )
    n_refreshes: int = parameter(
        1,
        [at_least(0)],
        "How often the neighbours are sought again, in the learnt kernel, and the chains are run "
        "anew.",
    )
    standardize: bool = parameter(
        True, [BOOL], "Whether columns are divided by their standard deviation."
    )
    random_state: Seed = parameter(
        None, [RANDOM], "Decides the draws. The result does not depend on `n_jobs`."
    )
    n_jobs: int | None = parameter(None, [Integral, None], "Threads over the chains.")

    def _prior(self) -> Prior:
        """Constants of the prior and of the likelihood; a step of a walk is half a deviation."""
        return Prior(
            float(self.mean_frequencies),
            float(self.concentration),
            float(self.stop),
            float(self.scale),
            0.5 * float(self.scale),
            float(self.sharpness),
        )


@estimator
class SparseFourierFeatures(ClassNamePrefixFeaturesOutMixin, Sampled):
    r"""Random Fourier features whose frequencies use few columns, learnt from labels.

    Choose it for up to a few thousand rows where classes differ by a nonlinear pattern in a few of
    up to some hundred columns, and to see which columns carry it. It is a slow learner: a chain
    costs the number of moves times the number of rows. For wide data and for named interactions
    choose `SDist`.

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

    {parameters}

    {attributes}

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
    >>> model = SparseFourierFeatures(max_iter=6000, random_state=0).fit(X, y)
    >>> sorted(np.argsort(model.inclusion_share_)[-2:].tolist())
    [2, 5]
    >>> Z = model.transform(X)
    >>> bool(np.allclose((Z * Z).sum(axis=1), 1.0))
    True
    """

    n_components: int | None = parameter(
        1000,
        [COUNT, None],
        "Most columns that `transform` gives: half as many frequencies are drawn from all, evenly "
        "by their weights. None uses all.",
    )
    _contents: ClassVar[dict] = {
        "frequencies_": rows("frequencies", "columns"),
        "frequency_weights_": array("f8", "frequencies", least=0.0),
        "inclusion_probability_": array("f8", "columns", least=0.0, most=1.0),
        "inclusion_share_": array("f8", "columns", least=0.0),
        "trace_": plain(),
        "diagnostics_": plain(),
        "n_iter_": count(),
        "_n_features_out": count(),
    }
    _attributes: ClassVar[str] = """\
        frequencies_ : sparse array of shape (n_frequencies, n_features)
            Distinct frequencies met after the burn-in, for columns as they come.
        frequency_weights_ : ndarray of shape (n_frequencies,)
            Weight of each in the mean kernel; they sum to 1.
        inclusion_probability_ : ndarray of shape (n_features,)
            Posterior chance that some frequency uses the column.
        inclusion_share_ : ndarray of shape (n_features,)
            Posterior mean of the share of frequencies that use the column: the better ranking,
            since with many frequencies most columns are used by one now and then.
        trace_ : dict
            By look (chains, looks): `n_frequencies` and `log_likelihood`, burn-in included, of the
            last round.
        diagnostics_ : dict
            After the burn-in: `acceptance` of each kind of move, `r_hat` and `effective_size` of
            the two courses of `trace_`.
        n_iter_ : int
            Moves of each chain in the last round.
        n_features_in_ : int
            Number of columns.
        feature_names_in_ : ndarray
            Their names, if X had names."""

    # ------------------------------------------------------------------ learning
    @locked
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
        taken = take(self, X, y, None)
        targets, deviations = cast(ClassTargets, taken.targets), np.ones(taken.rows.shape[1])
        if self.standardize:
            deviations = standard_units(taken.rows, taken.weights)[1]
        seeds = check_random_state(self.random_state).randint(
            0, 2**62, size=(1 + self.n_refreshes, self.n_chains), dtype=np.int64
        )
        course = Course(self.max_frequencies, self.max_iter, self.burn_in, self.thin)
        with Progress("drawing frequencies", self.max_iter * seeds.size) as progress:
            found = posterior_of(
                scaled(taken.rows, deviations),
                targets.codes_of(taken.columns),
                self._prior(),
                course,
                seeds,
                count_threads(self.n_jobs),
                progress.advance,
            )
        # In a single step, at the end: a thread that transforms meanwhile never sees a draft.
        self.__dict__.update(
            _targets=targets,
            frequencies_=sp.csr_array(found.frequencies @ sp.diags_array(1.0 / deviations)),
            frequency_weights_=found.weights,
            inclusion_probability_=found.used,
            inclusion_share_=found.share,
            trace_=found.trace,
            diagnostics_=found.diagnostics,
            n_iter_=course.looks() * course.thin,
            _n_features_out=2 * len(evenly_drawn(found.weights, self._pairs())[0]),
        )
        self._warn_apart()
        return self

    def _warn_apart(self) -> None:
        """Say where the chains disagree."""
        apart = self.diagnostics_["r_hat"]["log_likelihood"]
        if np.isnan(apart):
            warn_user(
                f"SparseFourierFeatures: max_iter={self.max_iter} leaves too few looks at the "
                "chains to tell whether they agree: r_hat is nan in diagnostics_. Raise max_iter.",
                ConvergenceWarning,
            )
        elif apart > AGREED:
            warn_user(
                "SparseFourierFeatures: the chains do not agree yet: split R-hat of the "
                f"log-likelihood is {apart:.2f}, above {AGREED}. Raise max_iter, or lower "
                "sharpness; see diagnostics_.",
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
        matrix = plain_rows(self, X)
        frequencies, weights = self.frequencies_, self.frequency_weights_
        if frequencies.shape != (len(weights), self.n_features_in_):
            raise half_fitted(self)
        return features(matrix, frequencies, weights, self._pairs())

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.target_tags.one_d_labels = True
        return tags
