"""The one way to the terminal: every line that a command prints is made safe here."""

import sys

from tamis.system.terminal import for_terminal, without_secrets


def say(text: str) -> None:
    """A line of the result."""
    print(for_terminal(text))


def note(text: str) -> None:
    """A remark that is no result."""
    complain(f"tamis: {text}")


def complain(text: str) -> None:
    """A line on standard error."""
    print(for_terminal(without_secrets(text)), file=sys.stderr)
