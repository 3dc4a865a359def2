"""associations: the words that predict a word, by the low-rank lasso with one column of the corpus
as the target and the others as predictors.
"""

import difflib
from numbers import Integral

import numpy as np
import scipy.sparse as sp
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils._param_validation import StrOptions, validate_params

from tamis.base.estimators.estimator import validate_rows
from tamis.base.parameters import POSITIVE, POSITIVE_INTEGER, UNIT_INTERVAL
from tamis.base.validation import warn_user
from tamis.methods.low_rank_lasso.compression import CompressedTargets
from tamis.methods.low_rank_lasso.factorization import DTYPE, LowRankFactorization
from tamis.methods.low_rank_lasso.spg.solver import SPGOptions, solve
from tamis.system.threads import count_threads

MAX_ITER = 2000  # iterations of a query


class Corpus:
    """Factorisation of a corpus that answers queries; a query needs only its row of V and the norm
    of its column.
    """

    def __init__(
        self, X, terms, n_components=50, weighting="tfidf", *, dtype="float64", random_state=0
    ):
        self.factors = LowRankFactorization(
            n_components=n_components, dtype=dtype, random_state=random_state
        )
        matrix = validate_rows(self.factors, X, reset=True)
        self.terms = [str(term) for term in terms]
        if len(self.terms) != matrix.shape[1]:
            raise ValueError(
                f"terms has {len(self.terms)} words, but X has {matrix.shape[1]} columns. Pass one "
                "word for each column."
            )
        self.places = {term: column for column, term in reversed(list(enumerate(self.terms)))}
        self.factors._validate_params()
        self.document_counts = _count_documents(matrix)
        operator = self.factors._factorise(
            weighted(matrix, self.document_counts, dtype) if weighting == "tfidf" else matrix, None
        )
        self.squares = operator.column_squares()

    def column(self, query) -> int:
        """Return the column of a word; a ValueError for an unknown word names similar ones."""
        if query in self.places:
            return self.places[query]
        matches = difflib.get_close_matches(str(query), self.places, n=3)
        raise ValueError(
            f"the word {query!r} is not in the corpus of {len(self.terms):,} words."
            + (f" Near it: {', '.join(matches)}." if matches else "")
        )

    def answer(self, queries, top=10, radius=1.0, robustness=0.1, tol=1e-4, n_jobs=None) -> dict:
        """Return a list of (word, weight) for each query, in order of falling absolute weight."""
        columns = np.array([self.column(query) for query in queries], dtype=np.int64)
        factors = self.factors
        C = (factors.W_[columns] * factors.S_).astype(np.float64)
        residual_squares = np.maximum(self.squares[columns] - np.einsum("ij,ij->i", C, C), 0.0)
        targets = CompressedTargets(
            C, np.sqrt(residual_squares), np.sqrt(self.squares[columns]), columns
        )
        options = SPGOptions(robustness * factors.error_upper_, tol, MAX_ITER)
        radii = np.full(len(columns), float(radius))
        result = solve(
            factors.W_,
            factors.S_,
            targets,
            radii,
            options,
            dtype=np.dtype(factors.dtype),
            threads=count_threads(n_jobs),
        )
        self._warn(queries, result, robustness, tol)
        return {query: self._list(result.weights[[k]], top) for k, query in enumerate(queries)}

    def _list(self, row: sp.csr_array, top: int) -> list:
        """Return the (word, weight) pairs of one row of weights."""
        order = np.lexsort((row.indices, -np.abs(row.data)))[:top]
        return [(self.terms[row.indices[k]], float(row.data[k])) for k in order]

    def _warn(self, queries, result, robustness: float, tol: float) -> None:
        unexplained = [
            str(query) for query, is_zero in zip(queries, result.zero, strict=True) if is_zero
        ]
        if unexplained:
            warn_user(
                f"associations: {len(unexplained)} of {len(queries)} queries have no words "
                f"({', '.join(unexplained[:5])}): the {self.factors.n_components_} components "
                "explain less of them than the error that robustness protects against. Lower "
                f"robustness ({robustness:g}), or raise n_components.",
                UserWarning,
            )
        n_unconverged = int((result.figures["converged"] == 0).sum())
        if n_unconverged:
            warn_user(
                f"associations: {n_unconverged} of {len(queries)} queries have a duality gap above "
                f"{tol:g} after {MAX_ITER} iterations. Raise tol or robustness.",
                ConvergenceWarning,
            )


def _count_documents(matrix) -> np.ndarray:
    """Return the number of rows with a nonzero entry, for each column."""
    if sp.issparse(matrix):
        return np.bincount(matrix.indices, minlength=matrix.shape[1])
    return np.count_nonzero(matrix, axis=0)


def weighted(matrix, rows_with, dtype="float64"):
    """Return tf-idf weights: log(1 + count) times the log inverse document frequency, in rows of
    unit norm.
    """
    if not sp.issparse(matrix):
        matrix = sp.csr_array(matrix)
    if len(matrix.data) and matrix.data.min() < 0.0:
        raise ValueError(
            f"counts of words must not be negative; the smallest is {matrix.data.min():g}. Use "
            "weighting='none' for other numbers."
        )
    data = np.log1p(matrix.data, dtype=dtype)
    data *= np.log(matrix.shape[0] / np.maximum(rows_with, 1)).astype(dtype)[matrix.indices]
    norms = np.sqrt(
        np.add.reduceat(np.append(np.square(data), data.dtype.type(0)), matrix.indptr[:-1])
    )
    norms[np.diff(matrix.indptr) == 0] = 1.0
    data /= np.repeat(np.maximum(norms, np.finfo(data.dtype).tiny), np.diff(matrix.indptr))
    return sp.csr_array((data, matrix.indices, matrix.indptr), shape=matrix.shape)


@validate_params(
    {
        "X": ["array-like", "sparse matrix"],
        "terms": ["array-like"],
        "queries": ["array-like", str],
        "n_components": [POSITIVE_INTEGER],
        "top": [POSITIVE_INTEGER],
        "radius": [POSITIVE],
        "robustness": [UNIT_INTERVAL],
        "weighting": [StrOptions({"tfidf", "none"})],
        "tol": [POSITIVE],
        "dtype": [DTYPE],
        "n_jobs": [Integral, None],
        "random_state": ["random_state"],
    },
    prefer_skip_nested_validation=True,
)
def associations(
    X,
    terms,
    queries,
    n_components=50,
    top=10,
    *,
    radius=1.0,
    robustness=0.1,
    weighting="tfidf",
    tol=1e-4,
    dtype="float64",
    n_jobs=None,
    random_state=0,
):
    r"""Return a short list of words that predict each query word, from one factorisation of a
    corpus.

    The column of the word is the target and all other columns are predictors, in the robust
    low-rank lasso of `LowRankLasso`:

    .. math:: \min_{\|\beta\|_1 \le r,\ \beta_i = 0} \|x_i - \hat X \beta\|_2 + \eta \|\beta\|_2 .

    The words of a list complement one another, while those of largest correlation are often
    redundant. After the factorisation a query takes some milliseconds and does not use the corpus.

    Parameters
    ----------
    X : {array-like, sparse matrix} of shape (n_documents, n_words)
        Counts of the words in each document, or any other numbers with ``weighting="none"``.
    terms : sequence of str
        The words, one for each column.
    queries : str or sequence of str
        Words of `terms`.
    n_components : int, default=50
        Rank of the factorisation.
    top : int, default=10
        Maximum number of words in a list.
    radius : float, default=1.0
        Bound on the L1 norm of the weights; smaller gives shorter lists.
    robustness : float, default=0.1
        Fraction of the error of the factorisation to protect against, from 0 to 1.
    weighting : {"tfidf", "none"}, default="tfidf"
        Weighting of the counts: tf-idf with logarithmic counts and documents of unit norm, or none.
    tol : float, default=1e-4
        Duality gap at which the iterations of a query end, as a fraction of the norm of the centred
        column of the word.
    dtype : {"float64", "float32"}, default="float64"
        Precision of the products; "float32" halves the memory.
    n_jobs : int or None, default=None
        Number of threads, which solve for different queries.
    random_state : int, RandomState instance or None, default=0
        Seed of the factorisation.

    Returns
    -------
    lists : dict of {str: list of (str, float)}
        The words of each query with their weights, in order of falling absolute weight; empty if
        the factorisation explains too little of the word.

    See Also
    --------
    LowRankLasso : The same objective for any targets.
    write_association_page : Writes a page that shows the list of a word as the user types it.

    References
    ----------
    G. V. A. Pham, "Robust Optimization and Data Approximation in Machine Learning",
    UCB/EECS-2015-216, tables 4.1 and 4.2.

    Examples
    --------
    >>> import numpy as np
    >>> from tamis import associations
    >>> rng = np.random.default_rng(0)
    >>> topics = rng.integers(0, 3, size=300)
    >>> X = rng.poisson(np.where(np.arange(9) // 3 == topics[:, None], 3.0, 0.1))
    >>> terms = ["sea", "ship", "wave", "wood", "tree", "leaf", "star", "moon", "sun"]
    >>> lists = associations(X, terms, ["tree", "sun"], n_components=3, top=2)
    >>> {query: sorted(word for word, _ in words) for query, words in lists.items()}
    {'tree': ['leaf', 'wood'], 'sun': ['moon', 'star']}
    """
    queries = [queries] if isinstance(queries, str) else list(queries)
    corpus = Corpus(X, terms, n_components, weighting, dtype=dtype, random_state=random_state)
    return corpus.answer(queries, top, radius, robustness, tol, n_jobs)
