"""Lines for the terminal. Commands print text only by these functions, which escape it."""

import sys

from tamis.system.terminal import for_terminal, without_secrets


def print_line(text: str) -> None:
    """Print a line of the result on standard output."""
    print(for_terminal(text))


def print_note(text: str) -> None:
    """Print a remark on standard error, after the name of the program."""
    print_error(f"tamis: {text}")


def print_error(text: str) -> None:
    """Print a line on standard error, without secrets."""
    print(for_terminal(without_secrets(text)), file=sys.stderr)
