"""Messages about targets that are no classes, one each. They load without scikit-learn, as the
readers of files do.
"""

from typing import Any

import numpy as np

MAX_CLASSES = 10_000  # of so many different targets more are numbers


def one_class_message(name: str, value: Any) -> str:
    """What a model of that name says of targets that are all of one class."""
    return (
        f"{name} needs samples of at least 2 classes in the data, but y holds only one class: "
        f"{plain_value(value)!r}."
    )


def plain_value(value: Any) -> Any:
    """A target as messages show it: without NumPy's type, whole numbers without a point."""
    value = value.item() if isinstance(value, np.generic) else value
    return int(value) if isinstance(value, float) and value.is_integer() else value


def no_class_message(value: Any) -> str:
    """What is said of a fraction among classes."""
    return (
        f"target {float(value)!r} is no class; classes are whole numbers or words. Use a regressor "
        "for numbers."
    )


def too_many_classes_message(way_out: str = "Use a regressor.") -> str:
    """What is said of targets that are too many to be classes."""
    return f"more than {MAX_CLASSES:,} different targets are no classes. {way_out}"
