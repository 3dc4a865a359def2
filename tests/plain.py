"""Loops without Numba: every helper of a loop is replaced by its Python source, recursively.

Nothing is compiled, so hundreds of combinations of terms take milliseconds each. `settings`
replaces module constants, which compiled code has frozen.
"""

import types


def plain(function, **settings):
    """The function as Python runs it, with the named module constants replaced."""
    return _Plain(settings)(function)


class _Plain:
    def __init__(self, settings):
        self.settings, self.done = settings, {}

    def __call__(self, function):
        code = function.__code__
        if code not in self.done:
            names = dict(function.__globals__)
            copy = types.FunctionType(
                code, names, function.__name__, function.__defaults__, function.__closure__
            )
            self.done[code] = copy  # before its helpers: they may call each other
            for name, value in names.items():
                if hasattr(value, "py_func") and name in code.co_names:
                    names[name] = self(value.py_func)
            names.update({k: v for k, v in self.settings.items() if k in names})
        return self.done[code]


class Interpreter:
    """Stands in for `Loop.__call__`: runs the source of a loop in place of its machine code."""

    def __init__(self, **settings):
        self.settings, self.known = settings, {}

    def __call__(self, loop, *arguments):
        if loop.python_function not in self.known:
            self.known[loop.python_function] = plain(loop.python_function, **self.settings)
        return self.known[loop.python_function](*arguments)

    def method(self):
        """The function to put in the place of `Loop.__call__`."""
        return lambda loop, *arguments: self(loop, *arguments)
