"""The evaluation in words: error, that of guessing, whether the difference is more than noise, what
was kept, and how often it was.
"""

import math
from typing import Any, NamedTuple

import numpy as np

from tamis.base.scores import mean_with_error, paired_difference
from tamis.evaluation.evaluation import Evidence

SURE = 2.0  # standard errors by which a model must beat guessing


class Evaluation(NamedTuple):
    """The error on some rows with its standard error, that of the baseline, and the gain over it
    with the standard error of the gain: differences row by row, which are surer than either.
    """

    error: float
    standard_error: float
    baseline_error: float
    baseline: str
    gain: float
    gain_error: float
    rows: int | None  # that it was judged by; None for a model's own word
    classes: bool
    on_the_way: bool = False  # whether the rows were learnt afterwards

    @property
    def better(self) -> bool | None:
        """Whether the model beats guessing; None where nobody can tell."""
        if not math.isfinite(self.gain):
            return None
        # One row or none that differs says nothing: a gain without spread is no proof.
        return self.gain > SURE * self.gain_error and self.gain > 0.0

    def headline(self) -> str:
        """Error and baseline."""
        if not math.isfinite(self.error):
            return "The error is not known: no row was held out, and none was given to judge by."
        where = "on rows held out inside the method"
        if self.rows is not None:
            kind = "" if self.on_the_way else "test "
            where = f"on {self.rows:,} {kind}row{'s' if self.rows != 1 else ''}"
        if self.on_the_way:
            where += " before they were learnt"
        what = "Error" if self.classes else "Mean squared error"
        return (
            f"{what} {self.told(self.error)} ± {self.told(self.standard_error, unit=False)} "
            f"{where}; {self.baseline}: {self.told(self.baseline_error)}."
        )

    def judgement(self) -> str:
        """Better than guessing, or not."""
        if self.better is None:
            return ""
        amount = self.told(abs(self.gain), unit=False)
        unit = " points" if self.classes else ""
        noise = f"{amount}{unit} ± {self.told(self.gain_error, unit=False)}"
        if self.better:
            return f"Better than guessing, by {noise}."
        if self.gain < -SURE * self.gain_error:
            return f"Worse than guessing, by {noise}."
        return f"No better than guessing: the difference, {noise}, may be chance."

    def told(self, value: float, unit: bool = True) -> str:
        """An error as it is told: a share in percent, or a plain number."""
        if not self.classes:
            return f"{value:.4g}"
        spread = 100.0 * self.standard_error
        places = min(max(1, -math.floor(math.log10(spread))), 3) if spread > 0.0 else 1
        return f"{100.0 * value:.{places}f}{' %' if unit else ''}"


def evaluate(evidence: Evidence) -> Evaluation:
    """Judge by the rows where there are some, else by the model's own word, or by what was noted
    while it learnt.
    """
    classes = evidence.classes
    if evidence.losses is None and (noted := noted_errors(evidence.model)):
        return _on_the_way(noted, classes)
    if evidence.losses is None:
        error, spread, baseline = (
            float(np.mean(getattr(evidence.model, f"{name}error_", math.nan)))
            for name in ("", "standard_", "baseline_")
        )
        guess = "guessing by the shares of the classes" if classes else "guessing the mean"
        gain = baseline - error
        return Evaluation(error, spread, baseline, guess, gain, spread, None, classes)
    losses, others = evidence.losses, evidence.baseline_losses
    error, spread = mean_with_error(losses)
    gain, gain_error = paired_difference(others, losses)
    guess = _baseline_words(evidence)
    return Evaluation(
        error, spread, float(others.mean()), guess, gain, gain_error, len(losses), classes
    )


def noted_errors(model: Any) -> dict:
    """Errors of a model without a word of its own, as `train` noted them; empty if it did not."""
    noted = getattr(model, "train_history_", None) or [{}]
    return noted[-1] if "judged" in noted[-1] and not hasattr(model, "error_") else {}


def _on_the_way(noted: dict, classes: bool) -> Evaluation:
    """What `train` noted of rows before they were learnt, and of guessing by those before them."""
    names = ("error", "standard_error", "baseline_error", "gain_error")
    error, spread, baseline, gain_error = (float(noted[name]) for name in names)
    guess = f"always the {'most frequent class' if classes else 'mean'} so far"
    rows = int(noted["judged"])
    return Evaluation(
        error, spread, baseline, guess, baseline - error, gain_error, rows, classes, True
    )


def _baseline_words(evidence: Evidence) -> str:
    if not evidence.classes:
        return "always the mean"
    if np.ndim(evidence.baseline):
        return "always the most frequent of each label"
    value = evidence.baseline
    return f"always {int(value) if isinstance(value, float) and value.is_integer() else value!r}"


def kept_sentence(evidence: Evidence) -> str:
    """How many features, and how often they were selected."""
    if evidence.kept is None:
        return ""
    count = len(evidence.kept)
    said = f"{count:,} of {evidence.width:,} features kept"
    chances = getattr(evidence.model, "selection_probability_", None)
    if count and chances is not None and np.any(chances):
        mean = float(np.atleast_2d(chances).max(axis=0)[evidence.kept].mean())
        said += f", selected in {100 * mean:.0f} % of the runs inside the method on average"
    return f"{said}."


def claimed_sentence(evidence: Evidence) -> str:
    """How many of the kept columns may be claimed, where that was asked."""
    if evidence.claims is None or evidence.kept is None or not len(evidence.kept):
        return ""
    rate = float(evidence.claims.q)
    claims = [evidence.claim(int(j)) for j in evidence.kept]
    heads = [head for qvalue, head in claims if qvalue <= rate]
    found, groups, many = len(heads), len(set(heads)), len(evidence.kept)
    if not found:
        return f"None of them is a discovery at a false discovery rate of {rate:g}."
    rest = "" if found == many else "; the others are kept because they predict"
    stand = "" if groups == found else f"stand for {groups:,} group{'s'[: groups > 1]} that "
    return f"{found:,} of them {stand}may be claimed at a false discovery rate of {rate:g}{rest}."
