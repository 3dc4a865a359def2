"""The command line: options, messages and tables; the work is done by the other folders.

- `main`: the entry point, exit codes and signals.
- `parser`, `options`: the options of every command.
- `commands/`: one file a command.
- `data`: the files that a command names.
- `methods`: methods by their names on the command line.
- `columns`, `output`, `messages`: what is printed.
"""
