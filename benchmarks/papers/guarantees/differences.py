"""Where `FDRSelector` differs from the description of the method: each difference taken back, and
what that does. The designs it was chosen on are named; the others are shown again.
"""

from unittest.mock import patch

import numpy as np

from benchmarks.pages import Table
from benchmarks.papers.guarantees import designs
from benchmarks.papers.guarantees.designs import NUMBERS, Design
from benchmarks.papers.guarantees.methods import EXACT, GROUPS, OURS
from tamis.selection.false_discovery import fit
from tamis.selection.false_discovery.screening import by_path

REFIT = "noise by least squares on what the path keeps"
HALF = "the penalty of balanced classes for all"
FACTORS = "every common factor a control"
NOTE = """Constants are those of the description, but for these. *Noise by least squares*: the level
    of noise, which sets the screen's penalty, is what the lasso leaves of the target; it was what
    least squares on the kept columns leaves, and takes noise for signal where columns are many
    (chosen on 200 x 20,000). *The penalty of balanced classes* is .4 u n; ours is .8 u n times the
    target's deviation, the same where classes are equal. *Every common factor*: one whose loadings
    lie to nine tenths in a column and its substitutes is no control of that column (chosen on twins
    among six columns, where it would hide both). Beside these, Newton steps go on to the optimum
    (50, not 15), a column that its controls make up entirely is tested without the weakest of them,
    and with several classes a feature counts by its best class."""


class Refitted(by_path.L1Path):
    """A path that knows what least squares on its columns leaves."""

    def solve_next(self, penalty: float):
        """The next solution."""
        step = super().solve_next(penalty)
        table = self.columns.dense_columns(step.columns)
        rest = self.target - self.target.mean()
        rest = rest - table @ np.linalg.lstsq(table, rest, rcond=None)[0]
        self.points[-1] = step._replace(squared_residuals=float(rest @ rest))
        return self.points[-1]


def _taken_back(claim: str, change):
    """A method under which a difference is taken back."""

    def select(X, y, classes: bool, seed: int):
        with change(y):
            return OURS[claim](X, y, classes, seed)

    return select


def _half(y):
    return patch.object(
        by_path, "NOISE_PENALTY_RATIO", by_path.NOISE_PENALTY_RATIO * 0.5 / np.std(y)
    )


METHODS = {
    REFIT: _taken_back(EXACT, lambda y: patch.object(by_path, "L1Path", Refitted)),
    HALF: _taken_back(EXACT, _half),
    FACTORS: _taken_back(GROUPS, lambda y: patch.object(fit, "MAX_GROUP_LOADING", np.inf)),
}


def asked() -> list[tuple[str, Design]]:
    """Which difference is looked at on which designs: where it does something."""
    small = list(designs.SMALL.values())
    own, other = designs.OWN, designs.OTHERS
    numbers = [one for one in small if one.kind == NUMBERS]
    many = own["independent 200/20,000, numbers"]
    weak = other["40 weak, independent 500/2,000, numbers"]
    found = [(REFIT, one) for one in [*numbers, many, weak]]
    found += [(HALF, one) for one in own.values() if "rare class" in one.name]
    alike = [one for one in small if "blocks" in one.name or "chain .8" in one.name]
    few = own["n > p, chain .8 1000/100, classes"]
    twins = other["twins .98 200/1,000, numbers"]
    return [*found, *((FACTORS, one) for one in [*alike, few, twins, *designs.FACTOR.values()])]


def table(figures) -> Table:
    """False share and power as it is, and with a difference taken back."""
    rows = []
    for name, one in asked():
        claim = GROUPS if name == FACTORS else EXACT
        own, other = (figures(one.name, method, claim == GROUPS) for method in (claim, name))
        if own and other:
            cells = [f"{f['false'][0]:.3f} / {f['power'][0]:.2f}" for f in (own, other)]
            rows.append([name, one.name, "groups" if claim == GROUPS else "single", *cells])
    head = ["taken back", "design", "claim", "false / power as it is", "taken back"]
    return Table("What differs from the description", head, rows, NOTE)
