"""`export`: write a model in a format that runs without tamis."""

import os
from pathlib import Path
from typing import Any

from tamis.base.validation import validate_matrix
from tamis.exporting.forms.onnx import to_onnx
from tamis.exporting.forms.plain import to_json
from tamis.exporting.forms.python import to_python
from tamis.exporting.forms.scorecard import to_scorecard
from tamis.exporting.forms.sql import to_sql
from tamis.exporting.inputs.pipelines import split_pipeline
from tamis.exporting.linear import extract_linear
from tamis.system.files import StrPath, atomic_writer, get_sources, refuse_overwriting

SUFFIXES = {
    ".json": "json",
    ".py": "python",
    ".sql": "sql",
    ".onnx": "onnx",
    ".md": "scorecard",
}
FORMS = tuple(SUFFIXES.values())


def export(
    model: Any,
    path: StrPath,
    to: str | None = None,
    *,
    names: Any = None,
    task: Any = None,
    dialect: str = "sqlite",
    table: str = "rows",
    inputs: str | None = None,
    points: int = 10,
    X: Any = None,
) -> None:
    """Write a linear model for use without tamis, with its selected columns only.

    Use JSON for a program of your own, Python to predict without tamis or NumPy, SQL to predict in
    a database, ONNX for a runtime, and a scorecard for use on paper. `save` stores any model with
    its full state.

    Parameters
    ----------
    model : estimator
        A fitted linear model, or a scikit-learn Pipeline that ends in one: first a vectoriser of
        texts, DictVectorizer, OneHotEncoder, SimpleImputer, ColumnTransformer of such or `Table`,
        if any, then scalers and selectors of columns. Names and the parsing of gaps, dates and
        texts are exported too.
    path : str or os.PathLike
        File to write; not the one that the model was loaded or trained from.
    to : {"json", "python", "sql", "onnx", "scorecard"} or None, default=None
        Format. None is the one of the suffix: .json, .py, .sql, .onnx or .md.
    names : array-like of str, default=None
        Names of all columns, if X was neither a DataFrame nor a file.
    task : object, default=None
        Task, for a model with several.
    dialect : {"sqlite", "postgresql", "duckdb"}, default="sqlite"
        SQL dialect.
    table : str, default="rows"
        Table that the SQL query reads.
    inputs : {"fields", "all", "kept"} or None, default=None
        Inputs of the ONNX graph: one per field of a table, a tensor of all columns, or one of the
        selected columns. None is fields for a model that was trained from a table or in a Pipeline
        that reads records, and all columns otherwise.
    points : int, default=10
        Largest number of points of a feature on a scorecard.
    X : {array-like, sparse matrix} of shape (n_samples, n_features), default=None
        Rows in the form of `predict`. They determine the points of a scorecard and its rounding
        error; without them the scorecard holds only a bound.

    See Also
    --------
    save : Save a model, for tamis.
    live : A model in service, in Python.

    Examples
    --------
    >>> import runpy
    >>> import tamis
    >>> from pathlib import Path
    >>> from tempfile import TemporaryDirectory
    >>> X, y, planted = tamis.datasets.make_text(n_samples=500, n_features=3000, random_state=0)
    >>> model = tamis.SieveClassifier(random_state=0).fit(X, y)
    >>> with TemporaryDirectory() as folder:
    ...     path = Path(folder, "model.py")
    ...     tamis.export(model, path)
    ...     alone = runpy.run_path(str(path))
    >>> len(alone["WEIGHTS"]) == len(model.support_)
    True
    >>> row = X[[0]].toarray()[0].tolist()
    >>> bool(abs(alone["predict_proba"](row)[1] - model.predict_proba(X[[0]])[0, 1]) < 1e-12)
    True
    """
    refuse_overwriting(path, get_sources(model))
    form = resolve_form(path, to)
    content = export_bytes(
        model,
        form,
        names=names,
        task=task,
        dialect=dialect,
        table=table,
        inputs=inputs,
        points=points,
        X=X,
    )
    with atomic_writer(path, "write") as file:
        file.write(content)


def resolve_form(path: StrPath, to: str | None) -> str:
    """Return the format `to`, or that of the suffix."""
    if to is None:
        suffix = Path(os.fsdecode(path)).suffix.lower()
        if suffix not in SUFFIXES:
            raise ValueError(
                f"{os.fsdecode(path)}: the suffix {suffix!r} names no form. Use one of "
                f"{', '.join(SUFFIXES)}, or pass to, one of {', '.join(FORMS)}."
            )
        return SUFFIXES[suffix]
    if to not in FORMS:
        raise ValueError(f"to={to!r} is none of {', '.join(FORMS)}.")
    return to


def export_bytes(
    model: Any,
    form: str,
    *,
    names: Any = None,
    task: Any = None,
    dialect: str = "sqlite",
    table: str = "rows",
    inputs: str | None = None,
    points: int = 10,
    X: Any = None,
) -> bytes:
    """Return a model in a format, as bytes."""
    linear = extract_linear(model, task, names)
    try:
        if form == "onnx":
            return to_onnx(linear, inputs)
        if form == "sql":
            return to_sql(linear, dialect, table).encode()
        if form == "scorecard":
            return to_scorecard(linear, points, _model_rows(model, X)).encode()
        return (to_json if form == "json" else to_python)(linear).encode()
    except UnicodeEncodeError as error:
        raise ValueError(
            f"a name holds {error.object[error.start]!r}, half a character, which {form} cannot "
            "hold. Rename it, or export to json or python."
        ) from None


def _model_rows(model: Any, X: Any) -> Any:
    """Return rows with the columns of the model; records pass the first steps of a Pipeline."""
    steps, last = split_pipeline(model)
    if X is None or (steps is not None and steps.first is None):
        return X
    if steps is not None:
        X = steps.first.transform(X)
        return X if steps.tfidf is None else steps.tfidf.transform(X)
    validate = getattr(last, "_state_and_rows", None)
    return (
        validate_matrix(last, X, reset=False) if validate is None else validate(X)[1]
    ).to_scipy()
