"""Fields of records that encoders of scikit-learn read."""

from typing import Any

import numpy as np

from tamis.exporting.inputs.fields import LISTED, Field, Fields
from tamis.exporting.inputs.texts import is_vectoriser, vectoriser_text


def names_in(step: Any, count: int) -> Any:
    """Return the names of the input columns of a step."""
    return getattr(step, "feature_names_in_", [f"x{k}" for k in range(count)])


def affine_transform(step: Any, columns: np.ndarray) -> tuple[np.ndarray, np.ndarray] | None:
    """Return slope and offset of a scaler for each column; None if a step is no such scaler."""
    from sklearn.preprocessing import MaxAbsScaler, MinMaxScaler, RobustScaler, StandardScaler

    def fitted(name: str, default: float) -> np.ndarray:
        values = getattr(step, name, None)
        return np.full(len(columns), default) if values is None else np.asarray(values)[columns]

    if isinstance(step, MinMaxScaler) and not step.clip:
        return fitted("scale_", 1.0), fitted("min_", 0.0)
    if isinstance(step, StandardScaler | RobustScaler | MaxAbsScaler):
        if getattr(step, "clip", False):
            return None
        center = fitted("mean_" if isinstance(step, StandardScaler) else "center_", 0.0)
        if getattr(step, "with_mean", getattr(step, "with_centering", True)) is False:
            center = np.zeros(len(columns))
        scale = fitted("scale_", 1.0)
        return 1.0 / scale, -center / scale
    return None


def dict_vectoriser_fields(columns: np.ndarray, names: list[str], separator: str) -> Fields:
    """Return the fields of a DictVectorizer; a word follows the first separator."""
    numbers: dict[str, int] = {}
    words: dict[str, dict[str, int]] = {}
    for name, column in zip(names, columns.tolist(), strict=True):
        key, has_separator, word = name.partition(separator)
        if has_separator:
            words.setdefault(key, {})[word] = column
        else:
            numbers[name] = column
    fields = [Field(name, column, gap=-1) for name, column in numbers.items()]
    fields += [
        Field(name, words=columns_of_words, gap=-1) for name, columns_of_words in words.items()
    ]
    return Fields(LISTED, fields, separator=separator, gaps=(), records=True)


def one_hot_fields(
    encoder: Any, selected: set[int], names: Any = None, first: int = 0
) -> list[Field]:
    """Return the fields of a OneHotEncoder with selected columns; its first column is `first`."""
    count = len(encoder.categories_)
    names = names_in(encoder, count) if names is None else names
    infrequent = getattr(encoder, "infrequent_categories_", [None] * count)
    dropped = [None] * count if encoder.drop_idx_ is None else encoder.drop_idx_
    fields = []
    for k, categories in enumerate(encoder.categories_):
        values = categories.tolist()
        column_categories, shared = _category_columns(
            values, [] if infrequent[k] is None else infrequent[k].tolist()
        )
        category_columns: dict[int, int] = {}
        if dropped[k] is not None:
            removed = next(slot for slot in column_categories if dropped[k] in slot)
            column_categories.remove(removed)
            category_columns = dict.fromkeys(removed, -1)
        category_columns |= {
            category: column
            for column, slot in enumerate(column_categories, first)
            for category in slot
        }
        words: dict[str, int] = {}
        gap, other_column = (None if encoder.handle_unknown == "error" else -1), -1
        for category, column in category_columns.items():
            if _is_gap(values[category]):
                gap = column
            else:
                words |= dict.fromkeys(_spellings(values[category]), column)
        if shared in column_categories and encoder.handle_unknown == "infrequent_if_exist":
            other_column = first + column_categories.index(shared)
        first += len(column_categories)
        other_column = other_column if other_column in selected else -1
        if other_column < 0:
            words = {word: c for word, c in words.items() if c in selected}
        if words or gap in selected:
            fields.append(Field(str(names[k]), words=words, gap=gap, rest=other_column))
    return fields


def _category_columns(values: list, rare: list) -> tuple[list[list[int]], list[int]]:
    """Return the category indices of each column, and those that share the last column."""
    has_gap = any(map(_is_gap, rare))  # nan is not equal to itself
    shared = [k for k, value in enumerate(values) if value in rare or (has_gap and _is_gap(value))]
    return [[k] for k in range(len(values)) if k not in shared] + (
        [shared] if shared else []
    ), shared


def _is_gap(value: Any) -> bool:
    """Return whether a category is a missing value."""
    return value is None or value != value


def _spellings(value: Any) -> list[str]:
    """Return the spellings of a category: integers also with a point, booleans in two cases."""
    if isinstance(value, bool):
        return [str(value), str(value).lower()]
    if isinstance(value, int | float) and float(value).is_integer():
        return [str(int(value)), str(float(value))]
    return [str(value)]


# --------------------------------------------------------------------------- column transformers
def column_transformer_fields(transformer: Any, selected: set[int]) -> list[Field]:
    """Return the fields of a ColumnTransformer with selected columns."""
    names, fields = names_in(transformer, transformer.n_features_in_), []
    for name, step, columns in transformer.transformers_:
        output_slice = transformer.output_indices_[name]
        if output_slice.stop > output_slice.start:
            fields += _transformer_fields(
                step, _selected_names(columns, list(names)), output_slice.start, selected
            )
    repeated = [
        name for name in {f.name for f in fields} if sum(f.name == name for f in fields) > 1
    ]
    if repeated:
        raise TypeError(
            f"the column {repeated[0]!r} goes into two parts of the ColumnTransformer, which "
            "cannot be exported. Give it a second name."
        )
    return fields


def _selected_names(columns: Any, names: list[str]) -> list[str]:
    """Return the names of columns from names, indices, a slice or a mask."""
    if isinstance(columns, slice):
        first, last = columns.start, columns.stop
        first = names.index(first) if isinstance(first, str) else first
        last = (
            names.index(last) + 1 if isinstance(last, str) else last
        )  # slices of names include the last one
        return names[first : last : columns.step]
    listed = [columns] if isinstance(columns, str | int) else list(columns)
    if listed and all(isinstance(column, bool | np.bool_) for column in listed):
        return [name for name, is_selected in zip(names, listed, strict=True) if is_selected]
    return [column if isinstance(column, str) else str(names[int(column)]) for column in listed]


def _transformer_fields(step: Any, names: list[str], first: int, selected: set[int]) -> list[Field]:
    """Return the fields of one transformer: an imputer, then scalers or an encoder."""
    from sklearn.impute import SimpleImputer
    from sklearn.pipeline import Pipeline
    from sklearn.preprocessing import OneHotEncoder

    steps = [inner for _, inner in step.steps] if isinstance(step, Pipeline) else [step]
    steps = [inner for inner in steps if not _is_identity(inner)]
    indices, fills = np.arange(len(names)), [None] * len(names)
    if steps and isinstance(steps[0], SimpleImputer) and only_fills_gaps(steps[0]):
        fills = steps.pop(0).statistics_.tolist()
    last = steps[-1] if steps else None
    if len(steps) == 1 and isinstance(last, OneHotEncoder):
        fields = one_hot_fields(last, selected, names, first)
        fill_values = dict(zip(names, fills, strict=True))
        return [field._replace(fill=fill_values[field.name]) for field in fields]
    if len(steps) == 1 and is_vectoriser(last):
        text = vectoriser_text(last).shifted(first).restricted_to(selected)
        has_columns = text.hashing is not None or not selected.isdisjoint(text.words.values())
        return [Field(names[0], gap=-1, text=text)] if has_columns else []
    slopes, offsets = np.ones(len(names)), np.zeros(len(names))
    for inner in steps:
        line = affine_transform(inner, indices)
        if line is None:
            raise TypeError(
                f"a ColumnTransformer with a {type(inner).__name__} there cannot be exported. Its "
                "parts may be scalers, a OneHotEncoder, a SimpleImputer before them, a vectoriser "
                "of texts, or passthrough."
            )
        slopes, offsets = slopes * line[0], offsets * line[0] + line[1]
    centres, spreads = (-offsets / slopes).tolist(), (1.0 / slopes).tolist()
    return [
        Field(names[k], first + k, centre=centres[k], spread=spreads[k], fill=fills[k])
        for k in indices.tolist()
        if first + k in selected
    ]


def _is_identity(step: Any) -> bool:
    """Return whether a step leaves columns unchanged."""
    return step is None or step == "passthrough" or getattr(step, "func", step) is None


def only_fills_gaps(imputer: Any) -> bool:
    """Return whether an imputer fills gaps and changes nothing else."""
    has_empty = any(map(_is_gap, imputer.statistics_.tolist()))
    is_number = isinstance(imputer.missing_values, int | float | str)
    replaces_gaps = not is_number or imputer.missing_values != imputer.missing_values
    return replaces_gaps and not has_empty and not imputer.add_indicator
