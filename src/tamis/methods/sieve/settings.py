"""The sieve's two base settings, and which of them compete on a table."""

from typing import NamedTuple

import numpy as np

from tamis.methods.sieve.paths import Setting, Table

# mean density of the columns above which the bold base has a weaker penalty and walks a level three
# times
FULL = 0.15
RARE = 0.2  # share of the rarer class below which only the bold base runs, and errors are balanced


class Base(NamedTuple):
    """Step constant, strength, and whether both follow the share of the rarer class."""

    name: str
    step: float
    strength: float
    follows: bool
    tilt: float
    paths: int
    fold_paths: int = 2
    first_passes: int = 5
    passes: int = 1
    eases: bool = True  # whether the penalty weakens as features leave


def bases_of(loss, strength: float | None, full: bool = False) -> tuple[Base, Base]:
    """Short steps under a strong penalty, and long ones under a weak penalty, weaker yet where most
    entries are filled.
    """
    # A slope that does not fade near the margin (hinge) wants shorter steps.
    gentle = 0.5 if loss.bend() == np.inf else 1.0
    calm, bold = (0.1, 0.005 if full else 0.02) if strength is None else (strength, strength)
    return Base("calm", 0.5 * gentle, calm, False, 0.25, 8), Base(
        "bold", 2.0 * gentle, bold, True, 0.5, 40, passes=3 if full else 1, eases=full
    )


def class_shares(table: Table) -> np.ndarray:
    """Share of +1 in each output."""
    if table.targets.shape[1] > 1 or table.outputs == 1:
        positive = (table.targets > 0.0).astype(float)
    else:
        positive = np.equal.outer(table.targets[:, 0], np.arange(table.outputs)).astype(float)
    return np.average(positive, axis=0, weights=table.weights if len(table.weights) else None)


def settings_for(
    table: Table, loss, strength: float | None, paths: int | None, classes: bool
) -> tuple[list[Setting], bool]:
    """The settings that compete, and whether errors are to be balanced over the classes."""
    share = class_shares(table) if classes else np.full(table.outputs, 0.5)
    rarity = 4.0 * share * (1.0 - share)
    mixed = rarity > 0.0
    rare = bool(mixed.any() and np.minimum(share, 1.0 - share)[mixed].mean() < RARE)
    calm, bold = bases_of(
        loss, strength, len(table.density) > 0 and float(table.density.mean()) > FULL
    )
    if rare:
        return [_setting(bold, rarity, paths)], True
    return [_setting(calm, rarity, paths), _setting(bold, rarity, paths)], False


def _setting(base: Base, rarity, paths: int | None) -> Setting:
    """A base for the outputs at hand."""
    rarity = np.where((rarity > 0.0) & base.follows, rarity, 1.0)
    steps, strengths = base.step / rarity, base.strength * rarity
    many = paths or base.paths
    return Setting(
        base.name,
        tuple(steps),
        tuple(strengths),
        base.first_passes,
        base.passes,
        many,
        base.fold_paths,
        base.tilt,
        base.eases,
    )
