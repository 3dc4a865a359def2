"""Settings of the sieve: the options of the user, feature groups, the two base settings, and the
candidates made from them.
"""

from numbers import Integral
from typing import ClassVar, NamedTuple

import numpy as np
from sklearn.utils import check_random_state

from tamis.base.feature_groups import parse_columns, parse_feature_groups
from tamis.base.model_terms import is_smooth, resolve_loss
from tamis.base.parameters import is_auto
from tamis.methods.sieve.paths import Candidate, Objective
from tamis.methods.sieve.table.standard_units import N_SPLITS, Table
from tamis.system.schema import array, flag, size
from tamis.system.threads import count_threads

# Mean density of the columns above which the aggressive setting has a weaker penalty and three
# passes a level.
MIN_DENSE_DENSITY = 0.15
# Rows are split into folds several times where the rarer class has less than this fraction of the
# rows, or where there are fewer rows.
RARE_CLASS_FRACTION, MIN_ROWS_ONE_SPLIT = 0.2, 250


class FeatureGroups:
    """Feature groups, and unpenalized columns.

    `labels` has the group of each column, -1 for unpenalized ones; `has_groups` says whether the
    user gave groups.
    """

    _contents: ClassVar[dict] = {
        "n_columns": size("columns"),
        "labels": array("i8", "columns", minimum=-1),
        "has_groups": flag(),
    }

    def __init__(self, labels: np.ndarray, grouped: bool):
        self.n_columns, self.labels, self.has_groups = len(labels), labels, grouped

    @property
    def n_groups(self) -> int:
        """Number of penalized groups."""
        return int(np.count_nonzero(np.unique(self.labels) >= 0))

    def expand_to_groups(self, selected: np.ndarray) -> np.ndarray:
        """Return a mask of the selected columns with all columns of their groups, and the
        unpenalized columns.
        """
        is_present = np.zeros(int(self.labels.max(initial=-1)) + 2, dtype=bool)
        is_present[self.labels[selected] + 1] = is_present[0] = True
        return is_present[self.labels + 1]


def make_feature_groups(model, n_columns: int) -> FeatureGroups | None:
    """Return the feature groups that the parameters `feature_groups` and `keep` of a model define,
    or None if both are None.
    """
    groups, keep = model.feature_groups, model.keep
    names = getattr(model, "feature_names_in_", None)
    if groups is None and keep is None:
        return None
    blocks = parse_feature_groups(groups, n_columns, names)
    if len(blocks.members) > n_columns:
        column = int(np.argmax(np.bincount(blocks.members.astype(np.int64))))
        raise ValueError(
            f"column {column} is in more than one group, but a column of the sieve is in one. Join "
            "the groups that overlap, or give each of them a copy of the columns they share."
        )
    members, starts = blocks.members.astype(np.int64), blocks.starts.astype(np.int64)
    group_sizes = starts[1:] - starts[:-1]
    labels, column_group_sizes = np.empty((2, n_columns), dtype=np.int64)
    labels[members], column_group_sizes[members] = (
        np.repeat(np.arange(len(group_sizes)), group_sizes),
        np.repeat(group_sizes, group_sizes),
    )
    unpenalized = unpenalized_columns(keep, n_columns, names)
    conflicting = unpenalized[column_group_sizes[unpenalized] > 1]
    if len(conflicting):
        raise ValueError(
            f"column {conflicting[0]} is in keep and, with others, in a group. Take it out of the "
            "group, or keep all columns of the group and leave the group out."
        )
    labels[members[np.repeat(blocks.weights == 0.0, group_sizes)]] = -1
    labels[unpenalized] = -1
    return FeatureGroups(labels, groups is not None)


def unpenalized_columns(keep, n_columns: int, names) -> np.ndarray:
    """Return the numbers of the columns that `keep` names."""
    requested = np.zeros(0, dtype=np.int64) if keep is None else np.asarray(keep)
    if requested.dtype.kind == "b":
        if requested.shape != (n_columns,):
            raise ValueError(
                f"keep is a mask of shape {requested.shape}, but X has {n_columns} columns."
            )
        return np.flatnonzero(requested)
    if not requested.size:
        return requested.astype(np.int64)
    return parse_columns("keep", requested, n_columns, names, noun="keep")


class SieveOptions(NamedTuple):
    """Parameters of the user as numbers; None means automatic."""

    size: int | None
    se: float
    strength: float | None
    n_paths: int | None
    n_folds: int
    tolerance: float
    is_classification: bool
    per_class: bool
    seed: int
    n_threads: int
    feature_groups: FeatureGroups | None = None


def make_options(model, n_columns: int, is_classification: bool, stream=None) -> SieveOptions:
    """Return the options of a model; a generator as `random_state` advances.

    The feature groups are those of the stream, if there is one.
    """
    groups = make_feature_groups(model, n_columns) if stream is None else stream.feature_groups
    size = model.n_features_to_select
    if not is_auto(size) and not isinstance(size, Integral):
        size = max(1, round(size * (n_columns if groups is None else groups.n_groups)))
    return SieveOptions(
        size=None if is_auto(size) else int(size),
        se=float(model.se),
        strength=requested_strength(model),
        n_paths=None if is_auto(model.n_paths) else int(model.n_paths),
        n_folds=int(model.n_folds),
        tolerance=float(model.tolerance),
        is_classification=is_classification,
        per_class=model.per_class,
        seed=int(check_random_state(model.random_state).randint(2**31 - 1)),
        n_threads=count_threads(model.n_jobs),
        feature_groups=groups,
    )


def requested_strength(model) -> float | None:
    """Return the strength of the penalty that the user asks for, or None."""
    return None if is_auto(model.strength) else float(model.strength)


def make_objective(model) -> Objective:
    """Return the objective of a model's paths."""
    loss = resolve_loss(model)
    curvature = loss.hessian_bound()
    # Losses with an unbounded gradient (curvature above that of the logistic loss) would overshoot
    # with long explicit steps.
    return Objective(
        loss, float(curvature) if 0.25 < curvature < np.inf else 0.0, float(model.fit_intercept)
    )


# --------------------------------------------------------------------------- bases
class BaseSetting(NamedTuple):
    """Step constant, strength and passes of a base setting, and whether step and strength depend on
    the fraction of the rarer class.
    """

    name: str
    step: float
    strength: float
    scales_with_rarity: bool
    density_exponent: float
    n_paths: int
    n_fold_paths: int = 2
    first_passes: int = 5
    passes: int = 1
    weakens_penalty: bool = True  # whether the strength falls when fewer columns than rows are left


def base_settings(
    loss, strength: float | None, is_dense: bool = False
) -> tuple[BaseSetting, BaseSetting]:
    """Return the conservative setting (short steps, strong penalty) and the aggressive one (long
    steps, weak penalty, weaker still where most entries are stored).
    """
    # The gradient of the hinge does not vanish near the margin, so its steps are shorter.
    step_ratio = 1.0 if is_smooth(loss) else 0.5
    conservative, aggressive = (
        (0.1, 0.005 if is_dense else 0.02) if strength is None else (strength, strength)
    )
    passes = 3 if is_dense else 1
    return (
        BaseSetting("conservative", 0.5 * step_ratio, conservative, False, 0.25, 8),
        BaseSetting(
            "aggressive", 2.0 * step_ratio, aggressive, True, 0.5, 40, passes=passes,
            weakens_penalty=is_dense,
        ),
    )  # fmt: skip


def class_fractions(table: Table) -> np.ndarray:
    """Return the fraction of +1 in each output."""
    if table.targets.shape[1] > 1 or table.outputs == 1:
        is_positive = (table.targets > 0.0).astype(float)
    else:
        is_positive = np.equal.outer(table.targets[:, 0], np.arange(table.outputs)).astype(float)
    return np.average(is_positive, axis=0, weights=table.weights if len(table.weights) else None)


def make_candidates(table: Table, loss, options: SieveOptions) -> list[Candidate]:
    """Return the candidates for a table."""
    fraction = class_fractions(table) if options.is_classification else np.full(table.outputs, 0.5)
    rarity = 4.0 * fraction * (1.0 - fraction)
    has_both = rarity > 0.0
    is_rare = bool(
        has_both.any()
        and np.minimum(fraction, 1.0 - fraction)[has_both].mean() < RARE_CLASS_FRACTION
    )
    is_dense = len(table.density) > 0 and float(table.density.mean()) > MIN_DENSE_DENSITY
    n_splits = N_SPLITS if is_rare or table.n_rows < MIN_ROWS_ONE_SPLIT else 1
    settings = base_settings(loss, options.strength, is_dense)
    if not options.is_classification:
        conservative, aggressive = settings
        settings = (
            conservative._replace(density_exponent=0.5),
            aggressive._replace(density_exponent=0.5),
        )
    return [make_candidate(setting, rarity, options.n_paths, n_splits) for setting in settings]


def make_candidate(setting: BaseSetting, rarity, n_paths: int | None, n_splits: int) -> Candidate:
    """Return a base setting adapted to the outputs."""
    rarity = np.where((rarity > 0.0) & setting.scales_with_rarity, rarity, 1.0)
    return Candidate(
        setting.name,
        step_constants=tuple(setting.step / rarity),
        strengths=tuple(setting.strength * rarity),
        first_passes=setting.first_passes,
        passes=setting.passes,
        n_paths=n_paths or setting.n_paths,
        n_fold_paths=setting.n_fold_paths,
        density_exponent=setting.density_exponent,
        weakens_penalty=setting.weakens_penalty,
        n_splits=n_splits,
    )
