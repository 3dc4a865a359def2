"""The settings of a sieve: the user's options, the two base settings, and the candidates that these
make for a table.
"""

from numbers import Integral
from typing import ClassVar, NamedTuple

import numpy as np
from sklearn.utils import check_random_state

from tamis.base.feature_groups import take_columns, take_groups
from tamis.base.model_parts import is_smooth, loss_of
from tamis.base.parameters import is_auto
from tamis.methods.sieve.paths import Candidate, Task
from tamis.methods.sieve.table.columns import SPLITS, Table
from tamis.system.schema import array, flag, size
from tamis.system.threads import count_threads

# Mean density of the columns above which the aggressive base is gentler and makes three passes.
DENSE = 0.15
RARE_CLASS_SHARE = 0.2  # share of the rarer class, or
FEW_ROWS = 250  # number of rows, below which rows are dealt out to folds several times


class FeatureGroups:
    """Columns that stay or leave together, and columns that always stay: the label of each one's
    group, -1 of those that always stay; and whether any groups were given.
    """

    _contents: ClassVar[dict] = {
        "n_columns": size("columns"),
        "labels": array("i8", "columns", least=-1),
        "grouped": flag(),
    }

    def __init__(self, labels: np.ndarray, grouped: bool):
        self.n_columns, self.labels, self.grouped = len(labels), labels, grouped

    @property
    def n_groups(self) -> int:
        """Number of the groups that may leave."""
        return int(np.count_nonzero(np.unique(self.labels) >= 0))

    def closed(self, chosen: np.ndarray) -> np.ndarray:
        """Columns (a mask), with each all of its group, and those that always stay."""
        present = np.zeros(int(self.labels.max(initial=-1)) + 2, dtype=bool)
        present[self.labels[chosen] + 1] = present[0] = True
        return present[self.labels + 1]


def feature_groups_of(model, n_columns: int) -> FeatureGroups | None:
    """What a model's parameters `feature_groups` and `keep` say of its columns; None if nothing."""
    groups, keep, names = (
        model.feature_groups,
        model.keep,
        getattr(model, "feature_names_in_", None),
    )
    if groups is None and keep is None:
        return None
    blocks = take_groups(groups, n_columns, names)
    if len(blocks.members) > n_columns:
        twice = int(np.argmax(np.bincount(blocks.members.astype(np.int64))))
        raise ValueError(
            f"column {twice} is in more than one group, but a column of the sieve is in one. Join "
            "the groups that overlap, or give each of them a copy of the columns they share."
        )
    members, starts = blocks.members.astype(np.int64), blocks.starts.astype(np.int64)
    many = starts[1:] - starts[:-1]
    labels, sizes = np.empty((2, n_columns), dtype=np.int64)
    labels[members], sizes[members] = np.repeat(np.arange(len(many)), many), np.repeat(many, many)
    kept = take_keep(keep, n_columns, names)
    shared = kept[sizes[kept] > 1]
    if len(shared):
        raise ValueError(
            f"column {shared[0]} is in keep and, with others, in a group. Take it out of the "
            "group, or keep all columns of the group and leave the group out."
        )
    labels[members[np.repeat(blocks.weights == 0.0, many)]] = -1
    labels[kept] = -1
    return FeatureGroups(labels, groups is not None)


def take_keep(keep, n_columns: int, names) -> np.ndarray:
    """Numbers of the columns that always stay."""
    given = np.zeros(0, dtype=np.int64) if keep is None else np.asarray(keep)
    if given.dtype.kind == "b":
        if given.shape != (n_columns,):
            raise ValueError(
                f"keep is a mask of shape {given.shape}, but X has {n_columns} columns."
            )
        return np.flatnonzero(given)
    if not given.size:
        return given.astype(np.int64)
    return take_columns("keep", given, n_columns, names, noun="keep")


class Options(NamedTuple):
    """The user's parameters as numbers; None is for automatic ones."""

    size: int | None
    se: float
    strength: float | None
    paths: int | None
    folds: int
    tolerance: float
    classes: bool
    per_class: bool
    seed: int
    threads: int
    feature_groups: FeatureGroups | None = None


def options_of(model, n_columns: int, classes: bool, stream=None) -> Options:
    """The parameters of a model as a run takes them; a generator as `random_state` moves on. Groups
    and what to keep are those of the stream, if there is one.
    """
    groups = feature_groups_of(model, n_columns) if stream is None else stream.feature_groups
    wanted = model.n_features_to_select
    if not is_auto(wanted) and not isinstance(wanted, Integral):
        wanted = max(1, round(wanted * (n_columns if groups is None else groups.n_groups)))
    return Options(
        size=None if is_auto(wanted) else int(wanted),
        se=float(model.se),
        strength=strength_of(model),
        paths=None if is_auto(model.n_paths) else int(model.n_paths),
        folds=int(model.n_folds),
        tolerance=float(model.tolerance),
        classes=classes,
        per_class=model.per_class,
        seed=int(check_random_state(model.random_state).randint(2**31 - 1)),
        threads=count_threads(model.n_jobs),
        feature_groups=groups,
    )


def strength_of(model) -> float | None:
    """The strength of the penalty, where the user gave one."""
    return None if is_auto(model.strength) else float(model.strength)


def task_of(model) -> Task:
    """What the paths of a model minimise."""
    loss = loss_of(model)
    bend = loss.hessian_bound()
    # Losses whose slope is unbounded (curvature above the logistic one's) would overshoot with long
    # steps.
    return Task(loss, float(bend) if 0.25 < bend < np.inf else 0.0, float(model.fit_intercept))


# --------------------------------------------------------------------------- bases
class Base(NamedTuple):
    """Step constant, strength, and whether both follow the share of the rarer class."""

    name: str
    step: float
    strength: float
    follows: bool
    density_exponent: float
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
    gentle = 1.0 if is_smooth(loss) else 0.5
    conservative, aggressive = (
        (0.1, 0.005 if full else 0.02) if strength is None else (strength, strength)
    )
    passes = 3 if full else 1
    return (
        Base("conservative", 0.5 * gentle, conservative, False, 0.25, 8),
        Base("aggressive", 2.0 * gentle, aggressive, True, 0.5, 40, passes=passes, eases=full),
    )


def class_shares(table: Table) -> np.ndarray:
    """Share of +1 in each output."""
    if table.targets.shape[1] > 1 or table.outputs == 1:
        positive = (table.targets > 0.0).astype(float)
    else:
        positive = np.equal.outer(table.targets[:, 0], np.arange(table.outputs)).astype(float)
    return np.average(positive, axis=0, weights=table.weights if len(table.weights) else None)


def candidates_for(table: Table, loss, options: Options) -> list[Candidate]:
    """The candidates that compete on a table."""
    share = class_shares(table) if options.classes else np.full(table.outputs, 0.5)
    rarity = 4.0 * share * (1.0 - share)
    mixed = rarity > 0.0
    rare = bool(mixed.any() and np.minimum(share, 1.0 - share)[mixed].mean() < RARE_CLASS_SHARE)
    full = len(table.density) > 0 and float(table.density.mean()) > DENSE
    splits = SPLITS if rare or table.n_rows < FEW_ROWS else 1
    bases = bases_of(loss, options.strength, full)
    if not options.classes:
        conservative, aggressive = bases
        bases = (
            conservative._replace(density_exponent=0.5),
            aggressive._replace(density_exponent=0.5),
        )
    return [_candidate(base, rarity, options.paths, splits) for base in bases]


def _candidate(base: Base, rarity, paths: int | None, splits: int) -> Candidate:
    """A base for the outputs at hand."""
    rarity = np.where((rarity > 0.0) & base.follows, rarity, 1.0)
    return Candidate(
        base.name,
        steps=tuple(base.step / rarity),
        strengths=tuple(base.strength * rarity),
        first_passes=base.first_passes,
        passes=base.passes,
        paths=paths or base.paths,
        fold_paths=base.fold_paths,
        density_exponent=base.density_exponent,
        eases=base.eases,
        splits=splits,
    )
