"""Messages about targets that are not classes.

They load without scikit-learn, as the readers of files do.
"""

from typing import Any

import numpy as np

MAX_CLASSES = 10_000  # targets with more different values are taken for numbers


def one_class_message(name: str, value: Any) -> str:
    """Return the message for targets of one class only; `name` is the estimator."""
    return (
        f"{name} needs samples of at least 2 classes in the data, but y holds only one class: "
        f"{display_value(value)!r}."
    )


def display_value(value: Any) -> Any:
    """Return a target for messages: without NumPy's type, integers without a decimal point."""
    value = value.item() if isinstance(value, np.generic) else value
    return int(value) if isinstance(value, float) and value.is_integer() else value


def no_class_message(value: Any) -> str:
    """Return the message for a fraction among classes."""
    return (
        f"target {float(value)!r} is no class; classes are whole numbers or words. Use a regressor "
        "for numbers."
    )


def too_many_classes_message(way_out: str = "Use a regressor.") -> str:
    """Return the message for too many different targets."""
    return f"more than {MAX_CLASSES:,} different targets are no classes. {way_out}"
