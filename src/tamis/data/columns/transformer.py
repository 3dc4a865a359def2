"""A table as a transformer: what the command line does to a file, for a frame in a Pipeline."""

from collections.abc import Iterable
from typing import Any, ClassVar, Literal

import numpy as np
import scipy.sparse as sp
from sklearn.utils.validation import _check_feature_names, check_is_fitted

from tamis.base.estimators.estimator import Transformer
from tamis.base.fast_checks import dense, refuse_collection, validate_data
from tamis.base.parameters import at_least, estimator, one_of, parameter
from tamis.data.options import Options, check_kinds
from tamis.data.tables import frames
from tamis.data.tables.layout import Layout
from tamis.system.schema import plain
from tamis.system.threads import locked


@estimator
class Table(Transformer):
    """Transformer of tables as they are: words, dates, texts and numbers into sparse columns.

    Choose it for pandas and Polars frames, dicts of columns and lists of dicts that hold more than
    numbers; for files larger than memory `open_rows` does the same chunk by chunk, and `tamis fit`
    does it to a file.

    It finds what each column is and says so in `notes_`: numbers in units of their spread,
    categories as a column a level (rare ones share one), dates as parts and a trend, texts as
    weighted words; identifiers and columns that are empty or the same in all rows are left out.

    {parameters}

    {attributes}

    See Also
    --------
    open_rows : The same for files.
    sklearn.compose.ColumnTransformer : Another treatment for every column, by hand.

    References
    ----------
    G. Salton and C. Buckley, "Term-weighting approaches in automatic text retrieval", Information
    Processing and Management 24, 1988 (words of texts).

    Examples
    --------
    >>> from tamis import Table
    >>> people = {"age": [31, 47, 22], "city": ["Bonn", "Ulm", "Bonn"], "id": ["a1", "b2", "c3"]}
    >>> table = Table(units="none", kinds={"id": "skip"}).fit(people)
    >>> table.get_feature_names_out().tolist()
    ['age', 'city=Bonn', 'city=Ulm']
    >>> table.transform([{"age": 50, "city": "Ulm"}]).toarray().tolist()
    [[50.0, 0.0, 1.0]]
    >>> table.inverse(["city=Ulm"])
    ['city']
    """

    kinds: dict | None = parameter(
        None,
        [dict, None],
        'What columns are, where it is not as found: "number", "category", "date", "text" or '
        '"skip", by name.',
    )
    missing: Literal["error", "zero", "indicator"] = parameter(
        "error",
        [one_of("error", "zero", "indicator")],
        "What a gap means: an error, a zero, or a zero and a one in a column ``name=missing``.",
    )
    units: Literal["none", "spread"] = parameter(
        "spread",
        [one_of("none", "spread")],
        "Whether numbers are divided by the spread of their column, and centred where less than "
        "half of them are zero.",
    )
    hash_bits: int | None = parameter(
        None, [at_least(1), None], "Hash words into 2^hash_bits columns; None lists them."
    )
    ngrams: int = parameter(
        1, [at_least(1)], "Longest run of words of a text that has a column of its own."
    )
    rare: int | None = parameter(
        None,
        [at_least(1), None],
        'Levels in fewer rows share one called "rare". None: 5 in tables of 100 rows or more.',
    )
    _contents: ClassVar[dict] = {"layout_": plain(), "kinds_": plain(), "notes_": plain()}
    _attributes: ClassVar[str] = """\
        kinds_ : dict
            What each column was found or said to be.
        notes_ : list of str
            What was decided that you would want to know.
        layout_ : dict
            What the columns become, as plain data.
        n_features_in_ : int
            Number of columns of the table.
        feature_names_in_ : ndarray of str
            Their names, where the table had them."""

    @locked
    def fit(self, X, y=None):
        """Find what the columns are.

        Parameters
        ----------
        X : frame, dict of columns, list of dicts, or array of shape (n_samples, n_features)
            The table. A sparse matrix is made dense: it is for models as it is.
        y : None
            Not used.

        Returns
        -------
        self : object
        """
        self._validate_params()
        check_kinds(self.kinds)
        X = self._taken(X, reset=True)
        options = Options(
            "frame",
            target=False,
            hash_bits=self.hash_bits or 0,
            missing=self.missing,
            kinds=tuple((self.kinds or {}).items()),
            units=self.units,
            rare=self.rare,
            ngrams=self.ngrams,
        )
        made = frames.lay_out_frame(X, options)
        self.layout_ = made.layout().to_dict()
        self.notes_ = made.notes()
        self.kinds_ = {c.name: made.kind(c) for c in made.columns}
        return self

    def transform(self, X) -> sp.csr_array:
        """The table as sparse columns.

        Parameters
        ----------
        X : frame, dict of columns, list of dicts, or array of shape (n_samples, n_features)
            Rows of the same columns; more columns are left out. In pandas frames scikit-learn asks
            for the same columns in the same order.

        Returns
        -------
        X_new : CSR array of shape (n_samples, n_columns)
        """
        check_is_fitted(self)
        return frames.rows_of(self._taken(X, reset=False), Layout.from_dict(self.layout_))

    def get_feature_names_out(self, input_features=None) -> np.ndarray:
        """Names of the columns that come out.

        Parameters
        ----------
        input_features : None or array-like of str
            The names of the columns that went in, if at all.

        Returns
        -------
        names : ndarray of str
        """
        check_is_fitted(self)
        known = getattr(self, "feature_names_in_", None)
        if input_features is not None:
            if known is not None and list(input_features) != list(known):
                raise ValueError("input_features is not equal to feature_names_in_")
            if len(input_features) != self.n_features_in_:
                raise ValueError(
                    "input_features should have length equal to number of features "
                    f"({self.n_features_in_}), got {len(input_features)}"
                )
        return np.array(Layout.from_dict(self.layout_).names(), dtype=object)

    def inverse(self, columns: Iterable[str | int]) -> list[str]:
        """The columns of the table that columns of the result come from.

        Parameters
        ----------
        columns : iterable of str or int
            Names or numbers of columns that come out.

        Returns
        -------
        names : list of str
        """
        check_is_fitted(self)
        layout = Layout.from_dict(self.layout_)
        names, sources = layout.names(), layout.sources()
        places = {name: k for k, name in enumerate(names)}
        found = []
        for one in columns:
            at = places.get(one, -1) if isinstance(one, str) else int(one)
            if not 0 <= at < len(names):
                raise ValueError(f"{one!r} is no column that comes out of this table.")
            if at >= len(sources):
                raise ValueError(f"{names[at]!r} holds words of several columns.")
            found.append(sources[at])
        return found

    def _taken(self, X, *, reset: bool) -> Any:
        """The table with its names and width looked at, as scikit-learn does."""
        refuse_collection(type(self).__name__, X)
        if not frames.is_frame(X):
            options: dict[str, Any] = {"reset": reset, "dtype": None, "accept_sparse": "csr"}
            finite = "allow-nan" if self.missing != "error" else True
            with np.errstate(invalid="ignore", over="ignore"):
                whole = validate_data(self, X, **options, ensure_all_finite=False)
                if whole.dtype.kind in "fc":
                    validate_data(self, X, **options, ensure_all_finite=finite)
            return dense(whole, "X")
        names = list(frames.columns_of(X))
        if reset:
            self.n_features_in_ = len(names)
            self.feature_names_in_ = np.array(names, dtype=object)
        elif hasattr(X, "iloc") and all(isinstance(name, str) for name in X.columns):
            _check_feature_names(self, X, reset=False)
        return X

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = self.missing != "error"
        tags.input_tags.string = True
        tags.input_tags.categorical = True
        return tags
