"""scikit-learn's Pipelines: the steps before a model, as fields, and folded into its weights."""

from typing import Any, NamedTuple

import numpy as np

from tamis.data.columns.transformer import Table
from tamis.data.tables.layout import Layout
from tamis.exporting.inputs.encoders import fills_all, line_of, of_columns, of_encoder, of_keys
from tamis.exporting.inputs.fields import LISTED, ONE_TEXT, Field, Fields, fields_of_table
from tamis.exporting.inputs.texts import is_vectoriser, text_of

WORD = "text"  # field of a record that is a text


class Steps(NamedTuple):
    """The steps of a Pipeline that are taken apart: the first may read records."""

    first: Any  # reads records; None where the rows of the Pipeline are columns already
    weighing: Any  # tf-idf behind it, or None
    between: list  # scalers and selectors, in their order
    raw: Any  # the first step of all, which may know names of columns


def steps_of(model: Any) -> tuple[Steps | None, Any]:
    """The steps before a model, if it stands in a Pipeline, and the model."""
    from sklearn.feature_extraction.text import CountVectorizer, TfidfTransformer
    from sklearn.pipeline import Pipeline

    if not isinstance(model, Pipeline):
        return None, model
    steps = [step for _, step in model.steps if step is not None and step != "passthrough"]
    before = steps[:-1]
    first = before.pop(0) if before and _reads_records(before[0]) else None
    weighing = None
    if before and isinstance(before[0], TfidfTransformer) and type(first) is CountVectorizer:
        weighing = before.pop(0)
    wrong = [type(step).__name__ for step in before if not _is_between(step)]
    if wrong:
        raise TypeError(
            f"a Pipeline with a {wrong[0]} cannot be exported. One can if its steps are a "
            "vectoriser, DictVectorizer, OneHotEncoder, SimpleImputer, ColumnTransformer of such "
            "or tamis.Table first, then scalers and selectors of columns, then a linear model of "
            "tamis. Export the last step alone, and give it the columns that the others make."
        )
    return Steps(first, weighing, before, steps[0]), steps[-1]


def _reads_records(step: Any) -> bool:
    """Whether a step makes columns of records."""
    from sklearn.compose import ColumnTransformer
    from sklearn.feature_extraction import DictVectorizer
    from sklearn.impute import SimpleImputer
    from sklearn.preprocessing import OneHotEncoder

    if isinstance(step, SimpleImputer):
        return fills_all(step)
    known = DictVectorizer | OneHotEncoder | ColumnTransformer | Table
    return is_vectoriser(step) or isinstance(step, known)


def _is_between(step: Any) -> bool:
    """Whether a step chooses columns, or moves and stretches each by itself."""
    return hasattr(step, "get_support") or line_of(step, np.arange(0)) is not None


def folded(
    steps: Steps, columns: np.ndarray, weights: np.ndarray, intercepts: np.ndarray, width: int
) -> tuple[np.ndarray, np.ndarray, np.ndarray, int]:
    """Columns, weights and intercepts before the scalers and selectors, and how many columns."""
    for step in reversed(steps.between):
        if hasattr(step, "get_support"):
            columns = np.flatnonzero(step.get_support())[columns]
            width = len(step.get_support())
            continue
        line = line_of(step, columns)
        assert line is not None  # steps_of has looked
        intercepts = intercepts + line[1] @ weights
        weights = weights * line[0][:, None]
    return columns, weights, intercepts, width


def names_before(steps: Steps, width: int) -> Any:
    """Names of all columns that the first step makes, or that the rows of the Pipeline have."""
    if steps.first is None:
        known = getattr(steps.raw, "feature_names_in_", None)
        return [f"x{k}" for k in range(width)] if known is None else known
    if hasattr(steps.first, "get_feature_names_out"):
        return steps.first.get_feature_names_out()
    return _Buckets()


class _Buckets:
    """Names of hashed columns, however many."""

    def __getitem__(self, column: int) -> str:
        return f"bucket {column}"


def fields_before(steps: Steps, columns: np.ndarray, names: list[str]) -> Fields:
    """The fields of records that the first step reads, as far as columns were kept."""
    first, kept = steps.first, {int(c) for c in columns}
    if first is None:
        found = [Field(name, int(c)) for name, c in zip(names, columns, strict=True)]
        return Fields(LISTED, found, gaps=())
    if isinstance(first, Table):
        return fields_of_table(Layout.from_dict(first.layout_), kept)
    if is_vectoriser(first):
        text = text_of(first, steps.weighing).pruned(kept)
        return Fields(ONE_TEXT, [Field(WORD, gap=-1, text=text)], gaps=(), records=True)
    if hasattr(first, "statistics_"):  # a SimpleImputer
        pairs = zip(names, columns.tolist(), strict=True)
        found = [Field(name, c, fill=first.statistics_.tolist()[c]) for name, c in pairs]
        return Fields(LISTED, found, gaps=(), records=True)
    if hasattr(first, "vocabulary_"):  # a DictVectorizer
        return of_keys(columns, names, first.separator)
    found = of_columns(first, kept) if hasattr(first, "transformers_") else of_encoder(first, kept)
    return Fields(LISTED, found, gaps=(), records=True)
