"""Checks of the options of `train` and `tamis fit`, before a row is read."""

from typing import Any

from tamis.system.spelling import format_option


def refuse_options(
    name: str,
    twice: bool,
    *,
    passes: int = 1,
    every: int = 1,
    memory: int | None = None,
    checkpoint: Any = None,
    validate: Any = None,
) -> None:
    """Refuse numbers below 1, and options that are only for models that learn chunk by chunk.

    `name` is that of the model; `twice` is whether it reads the rows twice and then fits them.
    """
    for parameter, value in (("passes", passes), ("every", every), ("memory", memory)):
        if value is not None and value < 1:
            raise ValueError(f"{format_option(parameter, value)} must be 1 or more.")
    if not twice:
        return
    uses_option = {
        format_option("passes", passes): passes > 1,
        format_option("checkpoint", ...): checkpoint is not None,
        format_option("validate", validate): isinstance(validate, str),
    }
    for option_text, is_used in uses_option.items():
        if is_used:
            raise ValueError(
                f"{option_text} is for models that learn chunk by chunk: {name} reads the rows "
                "twice and then fits them. Leave it out, or pass "
                f"{format_option('stream', True)} for "
                "one that learns from a stream."
            )
