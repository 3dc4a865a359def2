"""Summary of an evaluation: error, baseline error, their difference, and the selection."""

import math
from typing import Any, NamedTuple

import numpy as np

from tamis.base.scores import mean_with_error, paired_difference
from tamis.evaluation.evaluation import EvaluationData

MIN_GAIN_Z = 2.0  # standard errors by which a model must be better than the baseline


class Evaluation(NamedTuple):
    """Error with its standard error, baseline error, and the gain over the baseline with its
    standard error. The gain is a paired difference, so its standard error is smaller than theirs.
    """

    error: float
    standard_error: float
    baseline_error: float
    baseline: str
    gain: float
    gain_error: float
    rows: int | None  # number of test rows; None for the error that the model itself reports
    classes: bool
    progressive: bool = False  # whether the model learnt from each row after its prediction

    @property
    def better(self) -> bool | None:
        """Whether the model is better than the baseline; None if unknown."""
        if not math.isfinite(self.gain):
            return None
        # One row says nothing: a gain without a standard error is no evidence.
        return self.gain > MIN_GAIN_Z * self.gain_error and self.gain > 0.0

    def error_sentence(self) -> str:
        """Return a sentence with error and baseline."""
        if not math.isfinite(self.error):
            return "The error is not known: no row was held out, and none was given to judge by."
        where = "on rows held out inside the method"
        if self.rows is not None:
            kind = "" if self.progressive else "test "
            where = f"on {self.rows:,} {kind}row{'s' if self.rows != 1 else ''}"
        if self.progressive:
            where += " before they were learnt"
        what = "Error" if self.classes else "Mean squared error"
        margin = self.format_error(self.standard_error, unit=False)
        return (
            f"{what} {self.format_error(self.error)} ± {margin} "
            f"{where}; {self.baseline}: {self.format_error(self.baseline_error)}."
        )

    def gain_sentence(self) -> str:
        """Return a sentence about the gain over the baseline."""
        if self.better is None:
            return ""
        amount = self.format_error(abs(self.gain), unit=False)
        unit = " points" if self.classes else ""
        noise = f"{amount}{unit} ± {self.format_error(self.gain_error, unit=False)}"
        if self.better:
            return f"Better than guessing, by {noise}."
        if self.gain < -MIN_GAIN_Z * self.gain_error:
            return f"Worse than guessing, by {noise}."
        return f"No better than guessing: the difference, {noise}, may be chance."

    def format_error(self, value: float, unit: bool = True) -> str:
        """Format an error: in percent for classes, else as a number."""
        if not self.classes:
            return f"{value:.4g}"
        error_percent = 100.0 * self.standard_error
        decimals = (
            min(max(1, -math.floor(math.log10(error_percent))), 3) if error_percent > 0.0 else 1
        )
        return f"{100.0 * value:.{decimals}f}{' %' if unit else ''}"


def evaluate(evidence: EvaluationData) -> Evaluation:
    """Evaluate on the test rows if there are any, else by the errors that the model holds."""
    classes = evidence.classes
    if evidence.losses is None and (noted := recorded_errors(evidence.model)):
        return _progressive_evaluation(noted, classes)
    if evidence.losses is None:
        error, standard_error, baseline = (
            float(np.mean(getattr(evidence.model, f"{name}error_", math.nan)))
            for name in ("", "standard_", "baseline_")
        )
        baseline_name = "guessing by the shares of the classes" if classes else "guessing the mean"
        gain = baseline - error
        return Evaluation(
            error, standard_error, baseline, baseline_name, gain, standard_error, None, classes
        )
    losses, baseline_losses = evidence.losses, evidence.baseline_losses
    error, standard_error = mean_with_error(losses)
    gain, gain_error = paired_difference(baseline_losses, losses)
    baseline_name = _baseline_name(evidence)
    return Evaluation(
        error,
        standard_error,
        float(baseline_losses.mean()),
        baseline_name,
        gain,
        gain_error,
        len(losses),
        classes,
    )


def recorded_errors(model: Any) -> dict:
    """Return the errors that `train` recorded, for a model without `error_`; empty if none."""
    noted = getattr(model, "train_history_", None) or [{}]
    return noted[-1] if "judged" in noted[-1] and not hasattr(model, "error_") else {}


def _progressive_evaluation(noted: dict, classes: bool) -> Evaluation:
    """Return the evaluation of progressive validation by `train`."""
    names = ("error", "standard_error", "baseline_error", "gain_error")
    error, standard_error, baseline, gain_error = (float(noted[name]) for name in names)
    baseline_name = f"always the {'most frequent class' if classes else 'mean'} so far"
    rows = int(noted["judged"])
    return Evaluation(
        error,
        standard_error,
        baseline,
        baseline_name,
        baseline - error,
        gain_error,
        rows,
        classes,
        True,
    )


def _baseline_name(evidence: EvaluationData) -> str:
    if not evidence.classes:
        return "always the mean"
    if np.ndim(evidence.baseline):
        return "always the most frequent of each label"
    value = evidence.baseline
    return f"always {int(value) if isinstance(value, float) and value.is_integer() else value!r}"


def selection_sentence(evidence: EvaluationData) -> str:
    """Return a sentence about the number of features and their selection frequency."""
    if evidence.kept is None:
        return ""
    count = len(evidence.kept)
    sentence = f"{count:,} of {evidence.width:,} features kept"
    frequencies = getattr(evidence.model, "selection_probability_", None)
    if count and frequencies is not None and np.any(frequencies):
        mean = float(np.atleast_2d(frequencies).max(axis=0)[evidence.kept].mean())
        sentence += f", selected in {100 * mean:.0f} % of the runs inside the method on average"
    return f"{sentence}."


def discoveries_sentence(evidence: EvaluationData) -> str:
    """Return a sentence about how many selected columns are discoveries; empty without tests."""
    if evidence.claims is None or evidence.kept is None or not len(evidence.kept):
        return ""
    rate = float(evidence.claims.q)
    claims = [evidence.find_claim(int(j)) for j in evidence.kept]
    heads = [head for qvalue, head in claims if qvalue <= rate]
    n_claimed, n_groups, n_selected = len(heads), len(set(heads)), len(evidence.kept)
    if not n_claimed:
        return f"None of them is a discovery at a false discovery rate of {rate:g}."
    remainder = "" if n_claimed == n_selected else "; the others are kept because they predict"
    group_phrase = (
        "" if n_groups == n_claimed else f"stand for {n_groups:,} group{'s'[: n_groups > 1]} that "
    )
    return (
        f"{n_claimed:,} of them {group_phrase}may be claimed at a false discovery rate of {rate:g}"
        f"{remainder}."
    )
