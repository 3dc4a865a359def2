"""`export`: a model in a form that others run."""

import os
from pathlib import Path
from typing import Any

from tamis.base.validation import take_matrix
from tamis.exporting.forms.onnx import onnx_of
from tamis.exporting.forms.plain import json_of
from tamis.exporting.forms.python import python_of
from tamis.exporting.forms.scorecard import scorecard_of
from tamis.exporting.forms.sql import sql_of
from tamis.exporting.inputs.pipelines import steps_of
from tamis.exporting.linear import linear_of
from tamis.system.files import StrPath, refuse_inputs, replacing, sources_of

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
    """Write a linear model for use outside of Python, as the few columns that it kept.

    Choose JSON for a program of your own, Python to predict without tamis or NumPy, SQL to predict
    where the rows lie, ONNX for a runtime, and a scorecard for paper. `save` keeps any model, with
    all that it needs to learn on.

    Parameters
    ----------
    model : estimator
        A fitted linear model, or a scikit-learn Pipeline that ends in one: first a vectoriser of
        texts, DictVectorizer, OneHotEncoder, SimpleImputer, ColumnTransformer of such or `Table`,
        if any, then scalers and selectors of columns. Its names and how gaps, dates and texts are
        read come along.
    path : str or os.PathLike
        Where to write; not over the file that the model was loaded or trained from.
    to : {"json", "python", "sql", "onnx", "scorecard"} or None, default=None
        None goes by the suffix: .json, .py, .sql, .onnx or .md.
    names : array-like of str, default=None
        Names of all columns, where X was neither a DataFrame nor a file.
    task : object, default=None
        Which task, of a model of several.
    dialect : {"sqlite", "postgresql", "duckdb"}, default="sqlite"
        Of SQL.
    table : str, default="rows"
        Table that SQL reads.
    inputs : {"fields", "all", "kept"} or None, default=None
        What ONNX takes: an input a field of a table, a tensor of all columns, or one of the kept
        ones. None takes fields where the model was trained from a table or in a Pipeline that
        reads records, and all columns elsewhere.
    points : int, default=10
        Most points of a feature on a scorecard.
    X : {array-like, sparse matrix} of shape (n_samples, n_features), default=None
        Rows, as the model's `predict` takes them, by which the points of a scorecard are chosen,
        and on which the cost of rounding is told. Without them only a bound is.

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
    refuse_inputs(path, sources_of(model))
    form = form_of(path, to)
    content = exported(
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
    with replacing(path, "write") as file:
        file.write(content)


def form_of(path: StrPath, to: str | None) -> str:
    """The form that is asked for, or that a suffix names."""
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


def exported(
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
    """A model in a form, as bytes."""
    linear = linear_of(model, task, names)
    try:
        if form == "onnx":
            return onnx_of(linear, inputs)
        if form == "sql":
            return sql_of(linear, dialect, table).encode()
        if form == "scorecard":
            return scorecard_of(linear, points, _taken(model, X)).encode()
        return (json_of if form == "json" else python_of)(linear).encode()
    except UnicodeEncodeError as error:
        raise ValueError(
            f"a name holds {error.object[error.start]!r}, half a character, which {form} cannot "
            "hold. Rename it, or export to json or python."
        ) from None


def _taken(model: Any, X: Any) -> Any:
    """Rows as the kept columns are counted: records go through what reads them before the model."""
    steps, last = steps_of(model)
    if X is None or (steps is not None and steps.first is None):
        return X
    if steps is not None:
        X = steps.first.transform(X)
        return X if steps.weighing is None else steps.weighing.transform(X)
    asked = getattr(last, "_asked", None)
    return (take_matrix(last, X, reset=False) if asked is None else asked(X)[1]).scipy()
