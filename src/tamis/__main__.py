"""``python -m tamis``: the command line."""

from tamis.cli.main import command

command()
