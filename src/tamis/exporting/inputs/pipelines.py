"""Pipelines of scikit-learn: their steps as fields, or folded into the weights of the model."""

from typing import Any, NamedTuple

import numpy as np

from tamis.data.columns.transformer import Table
from tamis.data.tables.layout import Layout
from tamis.exporting.inputs.encoders import (
    affine_transform,
    column_transformer_fields,
    dict_vectoriser_fields,
    one_hot_fields,
    only_fills_gaps,
)
from tamis.exporting.inputs.fields import LISTED, ONE_TEXT, Field, Fields, table_fields
from tamis.exporting.inputs.texts import is_vectoriser, vectoriser_text

TEXT_FIELD = "text"  # field of a record that is a text


class PipelineSteps(NamedTuple):
    """The steps of a Pipeline before the model; the first may read records."""

    first: Any  # reads records; None if the input has columns already
    tfidf: Any  # the tf-idf step after it, or None
    column_steps: list  # scalers and selectors, in their order
    input_step: Any  # the first step, which may know names of columns


def split_pipeline(model: Any) -> tuple[PipelineSteps | None, Any]:
    """Return the steps before the model, or None without a Pipeline, and the model."""
    from sklearn.feature_extraction.text import CountVectorizer, TfidfTransformer
    from sklearn.pipeline import Pipeline

    if not isinstance(model, Pipeline):
        return None, model
    steps = [step for _, step in model.steps if step is not None and step != "passthrough"]
    before = steps[:-1]
    first = before.pop(0) if before and _reads_records(before[0]) else None
    tfidf = None
    if before and isinstance(before[0], TfidfTransformer) and type(first) is CountVectorizer:
        tfidf = before.pop(0)
    unsupported = [type(step).__name__ for step in before if not _is_column_step(step)]
    if unsupported:
        raise TypeError(
            f"a Pipeline with a {unsupported[0]} cannot be exported. One can if its steps are a "
            "vectoriser, DictVectorizer, OneHotEncoder, SimpleImputer, ColumnTransformer of such "
            "or tamis.Table first, then scalers and selectors of columns, then a linear model of "
            "tamis. Export the last step alone, and give it the columns that the others make."
        )
    return PipelineSteps(first, tfidf, before, steps[0]), steps[-1]


def _reads_records(step: Any) -> bool:
    """Return whether a step turns records into columns."""
    from sklearn.compose import ColumnTransformer
    from sklearn.feature_extraction import DictVectorizer
    from sklearn.impute import SimpleImputer
    from sklearn.preprocessing import OneHotEncoder

    if isinstance(step, SimpleImputer):
        return only_fills_gaps(step)
    known = DictVectorizer | OneHotEncoder | ColumnTransformer | Table
    return is_vectoriser(step) or isinstance(step, known)


def _is_column_step(step: Any) -> bool:
    """Return whether a step selects columns, or scales each one separately."""
    return hasattr(step, "get_support") or affine_transform(step, np.arange(0)) is not None


def fold_transformers(
    steps: PipelineSteps,
    columns: np.ndarray,
    weights: np.ndarray,
    intercepts: np.ndarray,
    n_features: int,
) -> tuple[np.ndarray, np.ndarray, np.ndarray, int]:
    """Return columns, weights, intercepts and number of columns before scalers and selectors."""
    for step in reversed(steps.column_steps):
        if hasattr(step, "get_support"):
            columns = np.flatnonzero(step.get_support())[columns]
            n_features = len(step.get_support())
            continue
        scaling = affine_transform(step, columns)
        assert scaling is not None  # checked by `split_pipeline`
        intercepts = intercepts + scaling[1] @ weights
        weights = weights * scaling[0][:, None]
    return columns, weights, intercepts, n_features


def pipeline_names(steps: PipelineSteps, n_features: int) -> Any:
    """Return the names of all columns after the first step, or of the input of the Pipeline."""
    if steps.first is None:
        names = getattr(steps.input_step, "feature_names_in_", None)
        return [f"x{k}" for k in range(n_features)] if names is None else names
    if hasattr(steps.first, "get_feature_names_out"):
        return steps.first.get_feature_names_out()
    return _BucketNames()


class _BucketNames:
    """Names of hashed columns, without a list of them."""

    def __getitem__(self, column: int) -> str:
        return f"bucket {column}"


def pipeline_fields(steps: PipelineSteps, columns: np.ndarray, names: list[str]) -> Fields:
    """Return the fields of records that the first step reads, with selected columns."""
    first, selected = steps.first, {int(c) for c in columns}
    if first is None:
        fields = [Field(name, int(c)) for name, c in zip(names, columns, strict=True)]
        return Fields(LISTED, fields, gaps=())
    if isinstance(first, Table):
        return table_fields(Layout.from_dict(first.layout_), selected)
    if is_vectoriser(first):
        text = vectoriser_text(first, steps.tfidf).restricted_to(selected)
        return Fields(ONE_TEXT, [Field(TEXT_FIELD, gap=-1, text=text)], gaps=(), records=True)
    if hasattr(first, "statistics_"):  # a SimpleImputer
        pairs = zip(names, columns.tolist(), strict=True)
        fields = [Field(name, c, fill=first.statistics_.tolist()[c]) for name, c in pairs]
        return Fields(LISTED, fields, gaps=(), records=True)
    if hasattr(first, "vocabulary_"):  # a DictVectorizer
        return dict_vectoriser_fields(columns, names, first.separator)
    fields = (
        column_transformer_fields(first, selected)
        if hasattr(first, "transformers_")
        else one_hot_fields(first, selected)
    )
    return Fields(LISTED, fields, gaps=(), records=True)
