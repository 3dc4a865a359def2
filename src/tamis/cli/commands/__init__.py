"""One file a command, named as the command; `cluster` serves the option ``--cluster``."""
