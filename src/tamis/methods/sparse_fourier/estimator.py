"""SparseFourierFeatures: random Fourier features with sparse frequencies, by reversible-jump Markov
chain Monte Carlo.
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

from tamis.base.estimators.classifier import SupervisedTransformer
from tamis.base.estimators.estimator import validate_rows, validate_training
from tamis.base.parameters import (
    BOOL,
    NON_NEGATIVE,
    POSITIVE,
    POSITIVE_INTEGER,
    RANDOM_STATE,
    UNIT_INTERVAL,
    Seed,
    at_least,
    estimator,
    parameter,
)
from tamis.base.targets import ClassTargets
from tamis.base.validation import inconsistent_state_error, warn_user
from tamis.methods.sparse_fourier.chain import ChainSchedule
from tamis.methods.sparse_fourier.loop import PriorConstants
from tamis.methods.sparse_fourier.posterior import (
    divide_by_deviations,
    fourier_features,
    resample_frequencies,
    sample_posterior,
)
from tamis.solvers.standard import mean_and_std
from tamis.system.progress import Progress
from tamis.system.schema import array, count, plain_data, rows
from tamis.system.threads import count_threads, locked

MAX_R_HAT = 1.2  # split R-hat of the log-likelihood above which fit warns


@estimator(kw_only=True)
class SamplerParameters(SupervisedTransformer):
    """Base class with the parameters of the chains."""

    scale: float = parameter(
        1.0,
        [POSITIVE],
        "Prior standard deviation of the values of a frequency, for columns of unit deviation.",
    )
    mean_frequencies: float = parameter(
        20.0,
        [POSITIVE],
        "Mean of the Poisson prior of the number of frequencies, before it is truncated to 1 .. "
        "`max_frequencies`.",
    )
    max_frequencies: int = parameter(100, [POSITIVE_INTEGER], "Maximum number of frequencies.")
    concentration: float = parameter(
        1.0, [POSITIVE], "Prior weight of a new first column, against 1 for each one in use."
    )
    stop: float = parameter(
        0.5,
        # below 0.1 nearly all walks would exceed the maximum length
        [Interval(Real, 0.1, 1.0, closed="both")],
        "Prior probability, from 0.1 to 1, that a new step of a walk ends it. The larger it is, "
        "the fewer columns a frequency uses.",
    )
    sharpness: float = parameter(
        8.0,
        [NON_NEGATIVE],
        "The factor a of the likelihood. With 0 the labels have no effect, and the chain draws "
        "from the prior.",
    )
    max_iter: int = parameter(
        20000, [POSITIVE_INTEGER], "Number of moves of each chain, in each round."
    )
    burn_in: float = parameter(0.5, [UNIT_INTERVAL], "Fraction of the moves that is discarded.")
    thin: int = parameter(20, [POSITIVE_INTEGER], "Number of moves between two records of a chain.")
    n_chains: int = parameter(
        2,
        [POSITIVE_INTEGER],
        "Number of chains with different starts; `diagnostics_` compares them.",
    )
    n_refreshes: int = parameter(
        1,
        [at_least(0)],
        "Number of further rounds: each finds the neighbours in the learnt kernel, and runs the "
        "chains again.",
    )
    standardize: bool = parameter(
        True, [BOOL], "Whether to divide the columns by their standard deviations."
    )
    random_state: Seed = parameter(
        None, [RANDOM_STATE], "Seed of the draws. The result does not depend on `n_jobs`."
    )
    n_jobs: int | None = parameter(
        None, [Integral, None], "Number of threads, which run different chains."
    )

    def _prior(self) -> PriorConstants:
        """Return the constants of the prior and of the likelihood; the standard deviation of a
        random-walk step is half of `scale`.
        """
        return PriorConstants(
            float(self.mean_frequencies),
            float(self.concentration),
            float(self.stop),
            float(self.scale),
            0.5 * float(self.scale),
            float(self.sharpness),
        )


@estimator
class SparseFourierFeatures(ClassNamePrefixFeaturesOutMixin, SamplerParameters):
    r"""Random Fourier features with frequencies that use few columns, learnt from labels.

    Use it for up to a few thousand rows with classes that differ by a nonlinear pattern in a few of
    up to some hundred columns, and to see which columns matter. It is slow: the cost of a chain is
    the number of moves times the number of rows. Use `SDist` for wide data and for named
    interactions.

    The kernel is a mean of cosines, :math:`k(x, x') = \frac{1}{D} \sum_l \cos(\omega_l \cdot (x -
    x'))`, where each frequency :math:`\omega_l` uses the columns of a random walk: its first column
    and its steps from column to column are drawn under a first-order Markov prior that favours
    columns and pairs already in use, and its values are normal. The likelihood of a label is

    .. math:: P(y_i) = \operatorname{sigmoid}\bigl(a\,[k(x_i, x_{s(i)}) - k(x_i, x_{o(i)})]\bigr)

    with s(i) and o(i) the nearest other row of the same class and the nearest row of another class.
    Reversible-jump Markov chain Monte Carlo draws the number of frequencies and the frequencies
    from the posterior. `transform` returns cosines and sines; their inner products are the
    posterior mean of the kernel.

    {parameters}

    {attributes}

    See Also
    --------
    SDist : Sparse metric learning, for wide data.

    Notes
    -----
    The source defines a model, but no algorithm and no results. Nine corrections make it well
    defined, among them: cosine and sine in place of a cosine without its phase, a proper prior of
    the number of frequencies, a separate draw of the first column, and a sharpness that allows
    probabilities beyond .12 to .88. Tested: without labels the chain returns the prior; the kernel
    depends only on differences of rows, and its diagonal is 1; on synthetic problems the planted
    columns rank first. Not validated: data of other kinds, many columns, and the mixing of long
    chains; see `diagnostics_`.

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
        [POSITIVE_INTEGER, None],
        "Maximum number of columns of `transform`: half as many frequencies are drawn from all, in "
        "proportion to their weights. None uses all frequencies.",
    )
    _contents: ClassVar[dict] = {
        "frequencies_": rows("frequencies", "columns"),
        "frequency_weights_": array("f8", "frequencies", minimum=0.0),
        "inclusion_probability_": array("f8", "columns", minimum=0.0, maximum=1.0),
        "inclusion_share_": array("f8", "columns", minimum=0.0),
        "trace_": plain_data(),
        "diagnostics_": plain_data(),
        "n_iter_": count(),
        "_n_features_out": count(),
    }
    _attributes: ClassVar[str] = """\
        frequencies_ : sparse array of shape (n_frequencies, n_features)
            Distinct frequencies of the draws after the burn-in, for columns that are not
            standardised.
        frequency_weights_ : ndarray of shape (n_frequencies,)
            Weight of each in the mean kernel; they sum to 1.
        inclusion_probability_ : ndarray of shape (n_features,)
            Posterior probability that some frequency uses the column.
        inclusion_share_ : ndarray of shape (n_features,)
            Posterior mean of the fraction of frequencies that use the column: the better ranking,
            since with many frequencies most columns are used by one in some draws.
        trace_ : dict
            `n_frequencies` and `log_likelihood` of the last round, of shape (chains, records),
            burn-in included.
        diagnostics_ : dict
            After the burn-in: `acceptance` rate of each kind of move, `r_hat` and `effective_size`
            of both arrays of `trace_`.
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
        training = validate_training(self, X, y, None)
        targets, deviations = cast(ClassTargets, training.targets), np.ones(training.rows.shape[1])
        if self.standardize:
            deviations = mean_and_std(training.rows, training.weights)[1]
        seeds = check_random_state(self.random_state).randint(
            0, 2**62, size=(1 + self.n_refreshes, self.n_chains), dtype=np.int64
        )
        schedule = ChainSchedule(self.max_frequencies, self.max_iter, self.burn_in, self.thin)
        with Progress("drawing frequencies", self.max_iter * seeds.size) as progress:
            result = sample_posterior(
                divide_by_deviations(training.rows, deviations),
                targets.class_indices(training.columns),
                self._prior(),
                schedule,
                seeds,
                count_threads(self.n_jobs),
                progress.advance,
            )
        # One update, so that a thread that transforms meanwhile never sees half a fit.
        self.__dict__.update(
            _targets=targets,
            frequencies_=sp.csr_array(result.frequencies @ sp.diags_array(1.0 / deviations)),
            frequency_weights_=result.weights,
            inclusion_probability_=result.inclusion_probability,
            inclusion_share_=result.inclusion_share,
            trace_=result.trace,
            diagnostics_=result.diagnostics,
            n_iter_=schedule.n_records() * schedule.thin,
            _n_features_out=2 * len(resample_frequencies(result.weights, self._n_pairs())[0]),
        )
        self._warn_not_converged()
        return self

    def _warn_not_converged(self) -> None:
        """Warn if the chains do not agree, or if too few records show whether they do."""
        r_hat = self.diagnostics_["r_hat"]["log_likelihood"]
        if np.isnan(r_hat):
            warn_user(
                f"SparseFourierFeatures: max_iter={self.max_iter} gives too few records to compare "
                "the chains: r_hat is nan in diagnostics_. Raise max_iter, or lower thin.",
                ConvergenceWarning,
            )
        elif r_hat > MAX_R_HAT:
            warn_user(
                "SparseFourierFeatures: the chains do not agree yet: split R-hat of the "
                f"log-likelihood is {r_hat:.2f}, above {MAX_R_HAT}. Raise max_iter, or lower "
                "sharpness; see diagnostics_.",
                ConvergenceWarning,
            )

    # ------------------------------------------------------------------ transformation
    def _n_pairs(self) -> int | None:
        """Return the maximum number of frequencies of `transform`."""
        return None if self.n_components is None else max(1, self.n_components // 2)

    def transform(self, X):
        """Return cosines and sines, with inner products equal to the learnt kernel.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features)
            Rows.

        Returns
        -------
        features : ndarray of shape (n_samples, n_features_out)
            All cosines, then all sines. Rows have norm 1, so the squared distance of two rows is
            2 - 2 k(x, x').
        """
        check_is_fitted(self)
        matrix = validate_rows(self, X)
        frequencies, weights = self.frequencies_, self.frequency_weights_
        if frequencies.shape != (len(weights), self.n_features_in_):
            raise inconsistent_state_error(self)
        return fourier_features(matrix, frequencies, weights, self._n_pairs())

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.target_tags.one_d_labels = True
        return tags
