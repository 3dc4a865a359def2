"""Who runs in the races and draws the curves: sparse linear classifiers, each with its penalties
and paces, all on the same rows.

A *strength* is the L1 penalty in a contestant's own units, a *pace* its step size. The units:
`alpha` is per row, so that C of LogisticRegression is 1 / (alpha rows); gravity and the two `--l1`
of Vowpal Wabbit have scales of their own.
"""

import functools
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

import numpy as np
from sklearn.linear_model import LogisticRegression, SGDClassifier
from sklearn.multiclass import OneVsRestClassifier

from benchmarks import peers, vw
from benchmarks.clock import timed
from tamis import (
    FOBOSClassifier,
    FTRLClassifier,
    OnlineClassifier,
    RDAClassifier,
    TruncatedGradientClassifier,
)

PASSES = 10  # of every online contestant, rows in one order for all


@dataclass(frozen=True)
class Fold:
    """Rows to learn from, rows to judge by, and a folder for contestants that need files."""

    X: object
    y: np.ndarray
    X_test: object
    y_test: np.ndarray
    folder: Path
    name: str

    @functools.cached_property
    def wabbit(self) -> vw.Cached:
        """The training rows in Vowpal Wabbit's cache."""
        return vw.cache(self.X, self.y, self.folder, self.name)


class Outcome(NamedTuple):
    """Seconds of training, share of test rows missed, number of columns kept."""

    seconds: float
    error: float
    kept: int


class Contestant(NamedTuple):
    """A way to train, and the settings it may be given."""

    name: str
    strengths: tuple[float, ...]  # strong to weak
    paces: tuple
    train: Callable  # (fold, strength, pace) -> seconds, scores, coef

    def run(self, fold: Fold, strength: float, pace) -> Outcome:
        """Train on the fold and judge by its other rows."""
        seconds, scores, coef = self.train(fold, strength, pace)
        classes = np.unique(fold.y)
        guesses = (
            classes[(scores.ravel() > 0).astype(int)]
            if len(classes) == 2
            else classes[scores.argmax(axis=1)]
        )
        return Outcome(
            seconds, float(np.mean(guesses != fold.y_test)), int((coef != 0).any(axis=0).sum())
        )

    def settings(self) -> list[tuple]:
        """All pairs of strength and pace."""
        return [(strength, pace) for strength in self.strengths for pace in self.paces]


# --------------------------------------------------------------------------- ways to train
def scikit(build: Callable) -> Callable:
    """Training of a scikit-learn estimator; `build` makes it from strength, pace and number of
    rows.
    """

    def train(fold: Fold, strength, pace):
        model = build(strength, pace, len(fold.y))
        with timed(f"{fold.name}: {type(model).__name__}") as taken:
            model.fit(fold.X, fold.y)
        coef = (
            np.vstack([part.coef_ for part in model.estimators_])
            if hasattr(model, "estimators_")
            else model.coef_
        )
        return taken.wall, model.decision_function(fold.X_test), coef

    return train


def wabbit(options: Callable) -> Callable:
    """Training of Vowpal Wabbit from its cache; `options` makes its arguments from strength and
    pace.
    """

    def train(fold: Fold, strength, pace):
        seconds, model = vw.weights(fold.wabbit, options(strength, pace), PASSES)
        return seconds, fold.X_test @ model.coef.T + model.intercept, model.coef

    return train


def batch(solver: str, **options) -> Callable:
    """Training of scikit-learn's L1 logistic regression, once a class where there are several."""

    def train(fold: Fold, strength, pace):
        model = LogisticRegression(
            solver=solver, l1_ratio=1.0, C=1.0 / (strength * len(fold.y)), random_state=0, **options
        )
        many = len(np.unique(fold.y)) > 2
        return scikit(lambda *_: OneVsRestClassifier(model) if many else model)(
            fold, strength, pace
        )

    return train


STILL = {"max_iter": PASSES, "tol": None, "shuffle": False}
QUIET = {**STILL, "verbose": 0}


def ladder(strong: float, weak: float, steps: int) -> tuple[float, ...]:
    """Strengths from strong to weak, in equal ratios."""
    return tuple(float(f"{x:.3g}") for x in np.geomspace(strong, weak, steps))


def contestants(steps: int) -> dict[str, Contestant]:
    """All that keep few features, with `steps` strengths each; the first pace is the one of the
    curves.
    """
    per_row = ladder(1e-2, 1e-6, steps)
    everyone = [
        Contestant("tamis FOBOS", per_row, ("auto", 1.0), scikit(fobos)),
        Contestant(
            "tamis truncated gradient", ladder(1e-2, 1e-6, steps), ("auto", 1.0), scikit(truncated)
        ),
        Contestant("tamis RDA", per_row, ("auto", 10.0), scikit(rda)),
        Contestant("tamis FTRL", per_row, ("auto", 2.0), scikit(ftrl)),
        Contestant("tamis AdaGrad", per_row, ("auto", 0.1), scikit(adagrad)),
        Contestant("SGDClassifier l1", per_row, ("optimal", "constant"), scikit(sgd)),
        Contestant("liblinear l1", per_row, ("",), batch("liblinear", tol=1e-3)),
        Contestant(
            "Vowpal Wabbit --l1",
            ladder(1e-2, 1e-7, steps),
            ("default", "--adaptive"),
            wabbit(truncating_wabbit),
        ),
        Contestant(
            "Vowpal Wabbit --ftrl", ladder(100.0, 0.01, steps), (2.0, 0.5), wabbit(leading_wabbit)
        ),
    ]
    there = peers.has("vowpalwabbit")
    return {one.name: one for one in everyone if there or "Wabbit" not in one.name}


def fobos(strength, pace, rows):
    """FOBOS of tamis."""
    return FOBOSClassifier(alpha=strength, eta=pace, **QUIET)


def truncated(strength, pace, rows):
    """Truncated gradient of tamis; its gravity is in units of the weights."""
    return TruncatedGradientClassifier(gravity=strength, eta=pace, **QUIET)


def rda(strength, pace, rows):
    """Dual averaging of tamis."""
    return RDAClassifier(alpha=strength, eta=pace, **QUIET)


def ftrl(strength, pace, rows):
    """Follow the regularized leader of tamis."""
    return FTRLClassifier(alpha=strength, eta=pace, **QUIET)


def adagrad(strength, pace, rows):
    """AdaGrad of tamis."""
    return OnlineClassifier(optimizer="adagrad", alpha=strength, eta=pace, **QUIET)


def plain(strength, pace, rows):
    """SGD of tamis without a penalty."""
    return OnlineClassifier(penalty=None, eta=pace, **QUIET)


def sgd(strength, pace, rows):
    """SGD of scikit-learn."""
    return SGDClassifier(
        loss="log_loss",
        penalty="l1" if strength else None,
        alpha=strength or 1e-4,
        learning_rate=pace,
        eta0=1.0,
        **STILL,
    )


def truncating_wabbit(strength, pace):
    """Options of Vowpal Wabbit's truncated gradient, with its default updates or with adaptive ones
    alone.
    """
    return ["--l1", str(strength), *([pace] if pace != "default" else [])]


def leading_wabbit(strength, pace):
    """Options of Vowpal Wabbit's FTRL; its l1 is for the whole run, not for a row."""
    return ["--ftrl", "--l1", str(strength), "--ftrl_alpha", str(pace)]
