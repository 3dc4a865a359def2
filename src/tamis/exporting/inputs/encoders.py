"""scikit-learn's encoders of records: what their fields become."""

from typing import Any

import numpy as np

from tamis.exporting.inputs.fields import LISTED, Field, Fields
from tamis.exporting.inputs.texts import is_vectoriser, text_of


def names_in(step: Any, count: int) -> Any:
    """Names of the columns that a step was given."""
    return getattr(step, "feature_names_in_", [f"x{k}" for k in range(count)])


def line_of(step: Any, columns: np.ndarray) -> tuple[np.ndarray, np.ndarray] | None:
    """What a scaler multiplies columns by, and adds then; None where a step is no such scaler."""
    from sklearn.preprocessing import MaxAbsScaler, MinMaxScaler, RobustScaler, StandardScaler

    def own(name: str, otherwise: float) -> np.ndarray:
        values = getattr(step, name, None)
        return np.full(len(columns), otherwise) if values is None else np.asarray(values)[columns]

    if isinstance(step, MinMaxScaler) and not step.clip:
        return own("scale_", 1.0), own("min_", 0.0)
    if isinstance(step, StandardScaler | RobustScaler | MaxAbsScaler):
        if getattr(step, "clip", False):
            return None
        middle = own("mean_" if isinstance(step, StandardScaler) else "center_", 0.0)
        if getattr(step, "with_mean", getattr(step, "with_centering", True)) is False:
            middle = np.zeros(len(columns))
        scale = own("scale_", 1.0)
        return 1.0 / scale, -middle / scale
    return None


def of_keys(columns: np.ndarray, names: list[str], separator: str) -> Fields:
    """Fields of a DictVectorizer: what stands behind the first separator is a word."""
    numbers: dict[str, int] = {}
    words: dict[str, dict[str, int]] = {}
    for name, column in zip(names, columns.tolist(), strict=True):
        key, parted, word = name.partition(separator)
        if parted:
            words.setdefault(key, {})[word] = column
        else:
            numbers[name] = column
    found = [Field(name, column, gap=-1) for name, column in numbers.items()]
    found += [Field(name, words=own, gap=-1) for name, own in words.items()]
    return Fields(LISTED, found, separator=separator, gaps=(), records=True)


def of_encoder(encoder: Any, kept: set[int], names: Any = None, at: int = 0) -> list[Field]:
    """Fields of a OneHotEncoder whose first column is `at`, as far as columns were kept."""
    count = len(encoder.categories_)
    names = names_in(encoder, count) if names is None else names
    rare = getattr(encoder, "infrequent_categories_", [None] * count)
    dropped = [None] * count if encoder.drop_idx_ is None else encoder.drop_idx_
    found = []
    for k, categories in enumerate(encoder.categories_):
        values = categories.tolist()
        slots, few = _slots(values, [] if rare[k] is None else rare[k].tolist())
        known: dict[int, int] = {}
        if dropped[k] is not None:
            gone = next(slot for slot in slots if dropped[k] in slot)
            slots.remove(gone)
            known = dict.fromkeys(gone, -1)
        known |= {one: place for place, slot in enumerate(slots, at) for one in slot}
        words: dict[str, int] = {}
        gap, rest = (None if encoder.handle_unknown == "error" else -1), -1
        for one, place in known.items():
            if _is_gap(values[one]):
                gap = place
            else:
                words |= dict.fromkeys(_spellings(values[one]), place)
        if few in slots and encoder.handle_unknown == "infrequent_if_exist":
            rest = at + slots.index(few)
        at += len(slots)
        rest = rest if rest in kept else -1
        if rest < 0:
            words = {word: c for word, c in words.items() if c in kept}
        if words or gap in kept:
            found.append(Field(str(names[k]), words=words, gap=gap, rest=rest))
    return found


def _slots(values: list, rare: list) -> tuple[list[list[int]], list[int]]:
    """Numbers of the categories of each column, and of those that share the last one."""
    gaps = any(map(_is_gap, rare))  # nan equals nothing
    few = [k for k, one in enumerate(values) if one in rare or (gaps and _is_gap(one))]
    return [[k] for k in range(len(values)) if k not in few] + ([few] if few else []), few


def _is_gap(value: Any) -> bool:
    """Whether a category is a missing value."""
    return value is None or value != value


def _spellings(value: Any) -> list[str]:
    """A category as words: whole numbers with a point and without, truth in both cases."""
    if isinstance(value, bool):
        return [str(value), str(value).lower()]
    if isinstance(value, int | float) and float(value).is_integer():
        return [str(int(value)), str(float(value))]
    return [str(value)]


# --------------------------------------------------------------------------- several at once
def of_columns(transformer: Any, kept: set[int]) -> list[Field]:
    """Fields of a ColumnTransformer, as far as columns were kept."""
    names, found = names_in(transformer, transformer.n_features_in_), []
    for name, step, columns in transformer.transformers_:
        place = transformer.output_indices_[name]
        if place.stop > place.start:
            found += _of_part(step, _chosen(columns, list(names)), place.start, kept)
    several = [name for name in {f.name for f in found} if sum(f.name == name for f in found) > 1]
    if several:
        raise TypeError(
            f"the column {several[0]!r} goes into two parts of the ColumnTransformer, which cannot "
            "be exported. Give it a second name."
        )
    return found


def _chosen(columns: Any, names: list[str]) -> list[str]:
    """Names of columns that are given by names, numbers, a slice or a mask."""
    if isinstance(columns, slice):
        first, last = columns.start, columns.stop
        first = names.index(first) if isinstance(first, str) else first
        last = names.index(last) + 1 if isinstance(last, str) else last  # names count to the last
        return names[first : last : columns.step]
    listed = [columns] if isinstance(columns, str | int) else list(columns)
    if listed and all(isinstance(one, bool | np.bool_) for one in listed):
        return [name for name, own in zip(names, listed, strict=True) if own]
    return [one if isinstance(one, str) else str(names[int(one)]) for one in listed]


def _of_part(step: Any, names: list[str], at: int, kept: set[int]) -> list[Field]:
    """Fields of a part: gaps filled, then numbers moved and stretched, or words encoded."""
    from sklearn.impute import SimpleImputer
    from sklearn.pipeline import Pipeline
    from sklearn.preprocessing import OneHotEncoder

    steps = [one for _, one in step.steps] if isinstance(step, Pipeline) else [step]
    steps = [one for one in steps if not _does_nothing(one)]
    places, fills = np.arange(len(names)), [None] * len(names)
    if steps and isinstance(steps[0], SimpleImputer) and fills_all(steps[0]):
        fills = steps.pop(0).statistics_.tolist()
    last = steps[-1] if steps else None
    if len(steps) == 1 and isinstance(last, OneHotEncoder):
        found = of_encoder(last, kept, names, at)
        known = dict(zip(names, fills, strict=True))
        return [field._replace(fill=known[field.name]) for field in found]
    if len(steps) == 1 and is_vectoriser(last):
        text = text_of(last).moved(at).pruned(kept)
        inside = text.hashing is not None or not kept.isdisjoint(text.words.values())
        return [Field(names[0], gap=-1, text=text)] if inside else []
    slopes, offsets = np.ones(len(names)), np.zeros(len(names))
    for one in steps:
        line = line_of(one, places)
        if line is None:
            raise TypeError(
                f"a ColumnTransformer with a {type(one).__name__} there cannot be exported. Its "
                "parts may be scalers, a OneHotEncoder, a SimpleImputer before them, a vectoriser "
                "of texts, or passthrough."
            )
        slopes, offsets = slopes * line[0], offsets * line[0] + line[1]
    centres, spreads = (-offsets / slopes).tolist(), (1.0 / slopes).tolist()
    return [
        Field(names[k], at + k, centre=centres[k], spread=spreads[k], fill=fills[k])
        for k in places.tolist()
        if at + k in kept
    ]


def _does_nothing(step: Any) -> bool:
    """Whether a step hands columns on as they are."""
    return step is None or step == "passthrough" or getattr(step, "func", step) is None


def fills_all(imputer: Any) -> bool:
    """Whether an imputer fills gaps and does nothing else to columns."""
    empty = any(map(_is_gap, imputer.statistics_.tolist()))
    number = isinstance(imputer.missing_values, int | float | str)
    gap = not number or imputer.missing_values != imputer.missing_values
    return gap and not empty and not imputer.add_indicator
