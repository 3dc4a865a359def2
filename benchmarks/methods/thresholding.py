"""Thresholding: what dropping and certifying cost beside a solve, whether a bound is ever violated,
and the planes of the robust models.
"""

import time
import warnings

import numpy as np
import scipy.sparse as sp
from sklearn.linear_model import LogisticRegression

from benchmarks.clock import interleaved
from benchmarks.pages import Goal, Page, Table, verdict
from tamis import RobustRegressor, RobustSVC
from tamis.datasets import make_text
from tamis.methods.data_thresholding.bounds import ThresholdProblem, balance, dual_start
from tamis.methods.data_thresholding.certificate import certify
from tamis.methods.data_thresholding.solver import solve
from tamis.methods.data_thresholding.thresholds import apply_threshold, threshold_for_fraction

SHARE = 0.15  # of one solve on the whole data
KEPT = (0.8, 0.5, 0.2)
RADII = {
    "l1": 0.2,
    "l2": 0.1,
    "linf": 0.02,
    "ellipsoid": 0.1,
    "deletion": 1,
    "labels": 20,
    "spectral": 1.0,
}


def text_problem(
    n: int, d: int, loss: str, strong: float, words: int
) -> tuple[sp.csr_array, ThresholdProblem]:
    """Text-like rows of unit norm, and a share of the least penalty that leaves no weight."""
    X, y, _ = make_text(n_samples=n, n_features=d, words=words, random_state=0)
    X = sp.csr_array(X, dtype=np.float64)
    signs, loads = np.where(y == np.unique(y)[-1], 1.0, -1.0), np.full(n, 1.0 / n)
    empty = ThresholdProblem(signs, loads, loss, 1.0, True)
    pulls = X.T @ (signs * balance(empty, dual_start(empty, np.zeros(n))))
    return X, empty._replace(strength=strong * float(np.abs(pulls).max()))


def liblinear(X, problem: ThresholdProblem) -> None:
    """The same objective (but for the intercept, which it penalises) by liblinear."""
    narrow = sp.csr_matrix(
        (X.data, X.indices.astype(np.int32), X.indptr.astype(np.int32)), shape=X.shape
    )
    LogisticRegression(
        l1_ratio=1.0, solver="liblinear", C=1.0 / (problem.strength * X.shape[0])
    ).fit(narrow, problem.signs)


def costs(quick: bool) -> tuple[Table, list[Goal]]:
    """Seconds of dropping, certifying and solving, contestants in turn."""
    sizes = {
        "logistic": (2_000, 5_000, 60) if quick else (20_000, 20_000, 100),
        "hinge": (300, 600, 40) if quick else (800, 2_000, 60),
    }
    rows, worst = [], {}
    for loss, (n, d, words) in sizes.items():
        X, problem = text_problem(n, d, loss, 0.05, words)
        for share in KEPT:
            threshold = threshold_for_fraction(X, share)
            kept = apply_threshold(X, threshold)
            fit = solve(problem, kept.matrix, 1e-4, 200)
            proof = certify(problem, X, kept, fit)
            actions = {
                "drop": lambda X=X, t=threshold: apply_threshold(X, t),
                "certify": lambda p=problem, X=X, k=kept, f=fit: certify(p, X, k, f),
                "thresholded": lambda p=problem, k=kept: solve(p, k.matrix, 1e-4, 200),
                "whole": lambda p=problem, X=X: solve(p, X, 1e-4, 200),
            }
            if loss == "logistic":
                actions["liblinear"] = lambda X=X, p=problem: liblinear(X, p)
            times = {
                name: taken.least
                for name, taken in interleaved(
                    actions, 3 if loss == "logistic" else 1, clock=time.thread_time
                ).items()
            }
            extra = times["drop"] + times["certify"]
            for name in ("whole", "liblinear"):
                if name in times:
                    worst[loss, name] = max(worst.get((loss, name), 0.0), extra / times[name])
            shown = [
                f"{1e3 * times[name]:.0f}" if name in times else "-"
                for name in ("drop", "certify", "thresholded", "whole", "liblinear")
            ]
            rows.append(
                [
                    f"{loss}, {n:,} x {d:,}",
                    f"{kept.share:.0%}",
                    *shown,
                    f"{extra / times['whole']:.0%}",
                    f"{proof.rel_gap:.2g}",
                ]
            )
    head = [
        "problem",
        "kept",
        "drop, ms",
        "certify, ms",
        "solve thresholded, ms",
        "solve whole, ms",
        "liblinear, ms",
        "extra / whole",
        "certified gap",
    ]
    words = {"whole": "the solver in tamis", "liblinear": "liblinear"}
    goals = [
        Goal(
            f"Thresholding and certificate take at most {SHARE:.0%} of a solve on the whole data "
            f"({loss}, {words[name]})",
            f"{found:.0%} at most",
            verdict(found <= SHARE),
        )
        for (loss, name), found in worst.items()
    ]
    note = """The gap is that on the whole data, as a share of the optimum. The hinge loss is a
    linear program, and its certificate is one too, over the columns in use and those whose
    condition is broken."""
    return Table("What a certificate costs", head, rows, note), goals


def random_problem(rng) -> tuple[np.ndarray, ThresholdProblem]:
    """A small problem of any kind."""
    n, d = int(rng.integers(20, 60)), int(rng.integers(3, 15))
    X = (
        rng.standard_t(3, size=(n, d))
        * rng.uniform(0.2, 2.0, d)
        * (rng.random((n, d)) < rng.uniform(0.3, 1.0))
    )
    signs = np.where(X[:, 0] + rng.normal(size=n) + rng.normal() > 0, 1.0, -1.0)
    signs[:2] = 1.0, -1.0
    loads = rng.uniform(0.1, 1.0, n)
    return X, ThresholdProblem(
        signs,
        loads / loads.sum(),
        str(rng.choice(["logistic", "hinge"])),
        float(10 ** rng.uniform(-3, -0.5)),
        bool(rng.integers(2)),
    )


def violations(quick: bool) -> tuple[Table, list[Goal]]:
    """Random problems, and how often a bound fell short of the truth."""
    rng, count = np.random.default_rng(0), 50 if quick else 1000
    broken, tight = 0, {"certificate": [], "known before": [], "one pass": []}
    for _ in range(count):
        X, problem = random_problem(rng)
        whole = apply_threshold(X, 0.0)
        plain = certify(problem, X, whole, solve(problem, X, 1e-8, 500))
        kept = apply_threshold(X, float(10 ** rng.uniform(-2, 0)))
        proof = certify(problem, X, kept, solve(problem, kept.matrix, 1e-8, 500))
        slack = plain.gap + 1e-9
        truth = proof.primal_original - plain.primal_original
        upper = (
            proof.gap,
            proof.aposteriori,
            proof.apriori_abs,
            proof.apriori_rel * plain.primal_original,
        )
        sound = truth >= -slack and all(truth <= one + slack for one in upper)
        sound &= (
            proof.dual_bound <= plain.primal_original + 1e-9
            and proof.upper_thresholded >= proof.primal_original - 1e-9
        )
        broken += not sound
        if truth > 1e-6:
            for name, bound in zip(
                tight, (proof.gap, proof.apriori_abs, proof.aposteriori), strict=True
            ):
                tight[name].append(bound / truth)
    rows = [
        [name, f"{np.median(found):.3g}", f"{np.quantile(found, 0.9):.3g}"]
        for name, found in tight.items()
    ]
    table = Table(
        f"Bounds over the truth, {count} random problems",
        ["bound", "median", "90 % of problems below"],
        rows,
    )
    return table, [
        Goal(
            f"No bound is violated on {count} random problems",
            f"{broken} violations",
            verdict(broken == 0),
        )
    ]


def planes(quick: bool) -> tuple[Table, list[Goal]]:
    """Planes and seconds of the robust models, set by set."""
    n, d = (200, 10) if quick else (2_000, 50)
    rng = np.random.default_rng(0)
    X = rng.normal(size=(n, d))
    scores = X @ rng.normal(size=d)
    y, target = np.where(scores + 3.0 * rng.normal(size=n) > 0, 1, -1), scores + rng.normal(size=n)
    rows, worst = [], 0.0
    for kind, radius in RADII.items():
        found = []
        for model, aim in (
            (RobustSVC(kind, radius=radius), y),
            *(((RobustRegressor(kind, radius=radius), target),) if kind != "labels" else ()),
        ):
            begin = time.thread_time()
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                model.fit(X, aim)
            found += [str(model.n_iter_), f"{time.thread_time() - begin:.2f}"]
            worst = max(worst, model.gap_)
        rows.append([kind, *found, *["-"] * (4 - len(found))])
    head = ["set", "planes, RobustSVC", "seconds", "planes, RobustRegressor", "seconds"]
    return Table(f"Cutting planes, {n:,} x {d} dense", head, rows), [
        Goal(
            "The robust models reach a relative gap of 1e-4",
            f"{worst:.1e} at most",
            verdict(worst <= 1e-4),
        )
    ]


def run(quick: bool) -> Page:
    """All of it."""
    tables, goals = zip(costs(quick), violations(quick), planes(quick), strict=True)
    opening = """A threshold drops small entries of the data before a fit, and a certificate says
    afterwards how far the model is from the optimum on the whole data. Both must cost little beside
    the fit itself. Times are those of the thread, the least of three, contestants in turn."""
    return Page(
        "thresholding",
        "Thresholding and robust models",
        opening,
        list(tables),
        [goal for part in goals for goal in part],
    )
