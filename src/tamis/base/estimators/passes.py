"""Around the passes of a fit: when to stop, and scikit-learn's callbacks."""

import numpy as np

try:
    from sklearn.callback import CallbackSupportMixin, with_callbacks
except ImportError:  # before scikit-learn 1.9

    class CallbackSupportMixin:  # type: ignore[no-redef]
        """Stands in where scikit-learn has no callbacks."""

    def with_callbacks(method):
        """Leave the method as it is."""
        return method


class Patience:
    """Says when a falling figure no longer falls: less than `slack` gained for `turns` looks."""

    def __init__(self, slack: float | None, turns: int):
        self.slack, self.turns = slack, turns
        self.best, self.idle = np.inf, 0

    def ended(self, figure: float) -> bool:
        """Look at the next figure."""
        if self.slack is None:
            return False
        self.idle = 0 if figure < self.best - self.slack else self.idle + 1
        self.best = min(self.best, figure)
        return self.idle >= self.turns


class Passes:
    """The passes of one fit as scikit-learn's callbacks see them; nothing where there are none."""

    def __init__(self, model, X, y, sample_weight):
        self.model, self.root = model, None
        if hasattr(model, "_skl_callbacks"):
            self.given = {
                "estimator": model,
                "X": X,
                "y": y,
                "metadata": {"sample_weight": sample_weight},
            }
            self.root = model._init_callback_context(max_subtasks=model.max_iter)
            self.root.call_on_fit_task_begin(**self.given)

    @property
    def watched(self) -> bool:
        """Whether anybody looks at the model after each pass."""
        return self.root is not None

    def begin(self) -> None:
        """A pass starts."""
        if self.root is not None:
            self.turn = self.root.subcontext(task_name="pass")
            self.turn.call_on_fit_task_begin(**self.given)

    def stopped(self) -> bool:
        """A pass has ended; whether a callback wants it to be the last."""
        return self.root is not None and self.turn.call_on_fit_task_end(
            **self.given, reconstruction_attributes=self._fitted
        )

    def end(self) -> None:
        """The fit has ended."""
        if self.root is not None:
            self.root.call_on_fit_task_end(**self.given, reconstruction_attributes=self._fitted)

    def _fitted(self) -> dict:
        """What a copy of the model needs to predict."""
        parameters = self.model.get_params(deep=False)
        return {
            name: value
            for name, value in vars(self.model).items()
            if name not in parameters and not name.startswith(("_skl", "_callback"))
        }


__all__ = ["CallbackSupportMixin", "Passes", "Patience", "with_callbacks"]
