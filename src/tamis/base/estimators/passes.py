"""Passes of a fit: convergence, and scikit-learn's callbacks."""

import numpy as np

try:
    from sklearn.callback import CallbackSupportMixin, with_callbacks
except ImportError:  # before scikit-learn 1.9

    class CallbackSupportMixin:  # type: ignore[no-redef]
        """Stands in where scikit-learn has no callbacks."""

    def with_callbacks(method):
        """Leave the method as it is."""
        return method


class LossMonitor:
    """A test of convergence: `n_iter_no_change` values in a row improve the best one by less than
    `tol`.
    """

    def __init__(self, tol: float | None, n_iter_no_change: int):
        self.tol, self.n_iter_no_change = tol, n_iter_no_change
        self.best, self.n_stale = np.inf, 0

    def update(self, loss: float) -> bool:
        """Add the next value; return whether the loss has converged."""
        if self.tol is None:
            return False
        self.n_stale = 0 if loss < self.best - self.tol else self.n_stale + 1
        self.best = min(self.best, loss)
        return self.n_stale >= self.n_iter_no_change


class PassCallbacks:
    """Calls of scikit-learn's callbacks around the passes of one fit, if there are any."""

    def __init__(self, model, X, y, sample_weight):
        self.model, self.fit_context = model, None
        if hasattr(model, "_skl_callbacks"):
            self.fit_arguments = {
                "estimator": model,
                "X": X,
                "y": y,
                "metadata": {"sample_weight": sample_weight},
            }
            self.fit_context = model._init_callback_context(max_subtasks=model.max_iter)
            self.fit_context.call_on_fit_task_begin(**self.fit_arguments)

    @property
    def is_active(self) -> bool:
        """Whether callbacks read the model after each pass."""
        return self.fit_context is not None

    def begin(self) -> None:
        """Report the start of a pass."""
        if self.fit_context is not None:
            self.pass_context = self.fit_context.subcontext(task_name="pass")
            self.pass_context.call_on_fit_task_begin(**self.fit_arguments)

    def end_pass(self) -> bool:
        """Report the end of a pass; return whether a callback stops the fit."""
        return self.fit_context is not None and self.pass_context.call_on_fit_task_end(
            **self.fit_arguments, reconstruction_attributes=self._fitted_attributes
        )

    def end(self) -> None:
        """Report the end of the fit."""
        if self.fit_context is not None:
            self.fit_context.call_on_fit_task_end(
                **self.fit_arguments, reconstruction_attributes=self._fitted_attributes
            )

    def _fitted_attributes(self) -> dict:
        """Return the attributes that a copy of the model needs to predict."""
        parameters = self.model.get_params(deep=False)
        return {
            name: value
            for name, value in vars(self.model).items()
            if name not in parameters and not name.startswith(("_skl", "_callback"))
        }


__all__ = ["CallbackSupportMixin", "LossMonitor", "PassCallbacks", "with_callbacks"]
