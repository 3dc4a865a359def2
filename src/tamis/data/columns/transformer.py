"""`Table`: encode frames like files of tables, as a transformer for pipelines."""

from collections.abc import Iterable
from typing import Any, ClassVar, Literal

import numpy as np
import scipy.sparse as sp
from sklearn.utils.validation import _check_feature_names, check_is_fitted

from tamis.base.estimators.estimator import Transformer
from tamis.base.fast_checks import refuse_dask_collection, to_dense, validate_data
from tamis.base.parameters import at_least, estimator, one_of_strings, parameter
from tamis.data.options import Options, check_kinds
from tamis.data.tables import frames
from tamis.data.tables.layout import Layout
from tamis.system.schema import plain_data
from tamis.system.threads import locked


@estimator
class Table(Transformer):
    """Transformer of tables with words, dates, texts and numbers into sparse columns.

    Choose it for pandas and Polars frames, dicts of columns and lists of dicts that hold more than
    numbers; for files larger than memory `open_rows` does the same chunk by chunk, and `tamis fit`
    does it to a file.

    It detects the kind of each column and reports it in `notes_`: numbers in units of their
    standard deviation, categories as one column per level (rare levels share one), dates as parts
    and a trend, texts as TF-IDF values of words; identifiers and columns that are empty or constant
    are left out.

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
        'Kinds of columns, by name, that replace the detected ones: "number", "category", '
        '"date", "text" or "skip".',
    )
    missing: Literal["error", "zero", "indicator"] = parameter(
        "error",
        [one_of_strings("error", "zero", "indicator")],
        "Meaning of a gap: an error, a zero, or a zero and a one in a column ``name=missing``.",
    )
    units: Literal["none", "spread"] = parameter(
        "spread",
        [one_of_strings("none", "spread")],
        "Whether numbers are divided by the standard deviation of their column, and centred if "
        "less than half of them are zero.",
    )
    hash_bits: int | None = parameter(
        None, [at_least(1), None], "Hash words into 2^hash_bits columns; None lists them."
    )
    ngrams: int = parameter(
        1, [at_least(1)], "Longest sequence of words of a text that has a column."
    )
    rare: int | None = parameter(
        None,
        [at_least(1), None],
        'Levels in fewer rows share one called "rare". None: 5 in tables of 100 rows or more.',
    )
    _contents: ClassVar[dict] = {
        "layout_": plain_data(),
        "kinds_": plain_data(),
        "notes_": plain_data(),
    }
    _attributes: ClassVar[str] = """\
        kinds_ : dict
            Kind of each column, detected or given.
        notes_ : list of str
            Notes about the decisions.
        layout_ : dict
            Columns of the result, as plain data.
        n_features_in_ : int
            Number of columns of the table.
        feature_names_in_ : ndarray of str
            Their names, if the table has names."""

    @locked
    def fit(self, X, y=None):
        """Detect the kinds of the columns.

        Parameters
        ----------
        X : frame, dict of columns, list of dicts, or array of shape (n_samples, n_features)
            The table. A sparse matrix is made dense; models take it without this class.
        y : None
            Not used.

        Returns
        -------
        self : object
        """
        self._validate_params()
        check_kinds(self.kinds)
        X = self._checked_table(X, reset=True)
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
        builder = frames.build_frame_layout(X, options)
        self.layout_ = builder.layout().to_dict()
        self.notes_ = builder.notes()
        self.kinds_ = {c.name: builder.kind(c) for c in builder.columns}
        return self

    def transform(self, X) -> sp.csr_array:
        """Return the table as sparse columns.

        Parameters
        ----------
        X : frame, dict of columns, list of dicts, or array of shape (n_samples, n_features)
            Rows of the same columns; further columns are left out. For pandas frames scikit-learn
            requires the same columns in the same order.

        Returns
        -------
        X_new : CSR array of shape (n_samples, n_columns)
        """
        check_is_fitted(self)
        return frames.encode_frame(
            self._checked_table(X, reset=False), Layout.from_dict(self.layout_)
        )

    def get_feature_names_out(self, input_features=None) -> np.ndarray:
        """Return the names of the columns of the result.

        Parameters
        ----------
        input_features : None or array-like of str
            Names of the columns of the table.

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
        """Return the columns of the table that columns of the result come from.

        Parameters
        ----------
        columns : iterable of str or int
            Names or numbers of columns of the result.

        Returns
        -------
        names : list of str
        """
        check_is_fitted(self)
        layout = Layout.from_dict(self.layout_)
        names, sources = layout.names(), layout.sources()
        indices = {name: k for k, name in enumerate(names)}
        source_names = []
        for column in columns:
            index = indices.get(column, -1) if isinstance(column, str) else int(column)
            if not 0 <= index < len(names):
                raise ValueError(f"{column!r} is no column that comes out of this table.")
            if index >= len(sources):
                raise ValueError(f"{names[index]!r} holds words of several columns.")
            source_names.append(sources[index])
        return source_names

    def _checked_table(self, X, *, reset: bool) -> Any:
        """Return the table after scikit-learn's checks of names and width."""
        refuse_dask_collection(type(self).__name__, X)
        if not frames.is_frame(X):
            options: dict[str, Any] = {"reset": reset, "dtype": None, "accept_sparse": "csr"}
            finite = "allow-nan" if self.missing != "error" else True
            with np.errstate(invalid="ignore", over="ignore"):
                validated = validate_data(self, X, **options, ensure_all_finite=False)
                if validated.dtype.kind in "fc":
                    validate_data(self, X, **options, ensure_all_finite=finite)
            return to_dense(validated, "X")
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
