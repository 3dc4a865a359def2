"""Results to look at: figures (`Display` classes), one self-contained page, and the verdict.

The package is `tamis.report` and can be called by that name: ``tamis.report(model, X, y)``.
"""

import sys
from types import ModuleType
from typing import Any


class _Callable(ModuleType):
    """A package that is a function too."""

    def __call__(self, *given: Any, **named: Any) -> Any:
        """Judge a fitted model; see `tamis.report.verdict.report.report`."""
        from tamis.report.verdict.report import report

        return report(*given, **named)


sys.modules[__name__].__class__ = _Callable
