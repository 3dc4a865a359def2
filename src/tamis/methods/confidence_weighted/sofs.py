"""Second-order online feature selection (SOFS): AROW that keeps the most precise weights."""

from tamis.base.estimators.selector import Selector
from tamis.base.parameters import POSITIVE, POSITIVE_INTEGER, estimator, parameter
from tamis.methods.confidence_weighted.estimator import WeightedConfidentClassifier
from tamis.terms.confidence_updates import AROWGain


@estimator
class SOFSClassifier(Selector, WeightedConfidentClassifier):
    r"""Second-order online feature selection: AROW with a diagonal covariance that keeps a fixed
    number of features.

    Choose it for a stream of rows with a hard limit on the number of weights. With as many
    features, `SieveClassifier`, `FTRLClassifier` and batch L1 choose better ones, much better if
    they are few. Scale the rows to unit length first.

    After every step, only the weights of the `n_features_to_select` smallest variances
    :math:`\sigma_j` stay; all others are 0. Since

    .. math:: \frac{1}{\sigma_j} = 1 + \frac{1}{r} \sum_s x_{sj}^2

    over the rows it learnt from, this chooses the columns of the largest sums of squares, whatever
    the labels: fast, in a single pass, and as stable as the frequencies of the columns. A heap
    finds the column to drop.

    {parameters}

    {attributes}

    See Also
    --------
    AROWClassifier : Keeps all features.
    SieveClassifier : Chooses features by their contribution, and their number too.

    References
    ----------
    Y. Wu, S. C. H. Hoi, T. Mei and N. Yu, "Large-Scale Online Feature Selection for Ultra-High
    Dimensional Sparse Data", ACM Transactions on Knowledge Discovery from Data 11(4), 2017,
    algorithm 2.

    Examples
    --------
    >>> from tamis import SOFSClassifier
    >>> from tamis.datasets import make_text
    >>> X, y, planted = make_text(n_samples=4000, n_features=1000, random_state=0)
    >>> model = SOFSClassifier(n_features_to_select=300, random_state=0).fit(X[:3000], y[:3000])
    >>> model.score(X[3000:], y[3000:]) > 0.7
    True
    >>> len(model.support_) <= 300
    True
    >>> model.transform(X).shape[1] == len(model.support_)
    True
    """

    n_features_to_select: int = parameter(
        100,
        [POSITIVE_INTEGER],
        "How many weights of each class may differ from 0.",
    )
    r: float = parameter(
        1.0,
        [POSITIVE],
        "How little a single row is trusted: the larger, the shorter the steps. Divided by the "
        "row's weight.",
    )

    _needs_sorted_rows = True  # of equally precise columns, the heap keeps the first ones

    def _model(self):
        return self._classifier_model(AROWGain(float(self.r)), n_kept=self.n_features_to_select)

    def _updated_state(self, solver_state, model, targets, n_features, is_fit):
        if solver_state.kept.shape[1] != min(self.n_features_to_select, n_features):
            raise ValueError(
                "SOFSClassifier: `n_features_to_select` changed since the model was fitted; call "
                "fit with warm_start=False."
            )
        return super()._updated_state(solver_state, model, targets, n_features, is_fit)
