"""`fit`: learn where the partitions lie."""

import copy
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from typing import Any, Literal, TypeVar

import numpy as np
from sklearn.base import clone

from tamis.base.validation import warn_user
from tamis.distributed.agreement import TABLES, Agreed, agree, schema_of_tables
from tamis.distributed.checkpoint import Rounds
from tamis.distributed.executors import Executor, Inline
from tamis.distributed.merging import MERGES, has_mean, mean_of
from tamis.distributed.parts import FILE, Part, blocks_of, named_files
from tamis.distributed.placing import Places, replayed
from tamis.distributed.rounds import Schedule
from tamis.distributed.staged import learn, objection
from tamis.distributed.summing import models as summed
from tamis.distributed.visits import Path, list_files, schema_of
from tamis.system.files import StrPath, made_from, refuse_inputs
from tamis.system.threads import locked

Model = TypeVar("Model")
HOW = ("walk", "mix", "sum", "stages")
MOST_PATHS = 8  # by default
FEW = 4  # sweeps below which a mix is worse than a walk


@locked
def fit(
    model: Model,
    rows: Any,
    client: Any = None,
    *,
    sweeps: int = 1,
    how: Literal["walk", "mix", "sum", "stages"] = "walk",
    paths: int | None = None,
    merge: Literal["mean", "precision"] = "mean",
    target: str | None = None,
    checkpoint: StrPath | None = None,
    segment: int = 2,
    stages: int | None = None,
    timeout: float = 600.0,
    progress: bool | Literal["auto"] = "auto",
    **reading: Any,
) -> Model:
    """Train a model on partitions where they lie, on a Dask cluster or here, to the same bits.

    First all partitions are surveyed, and agree on columns and classes; then models go from
    partition to partition. What comes of it depends on the partitions and their order, not on how
    many workers there are, which of them die, or what is done first.

    ``how="walk"``: in round r path m of M visits partition (mK // M + r) modulo their number K, so
    that all paths learn every row `sweeps` times, each in another order; path 0 is the pass that
    one machine would make. Several paths give one model of their mean score. ``how="mix"``: all
    partitions are learnt apart from one start, and the mean of what they have learnt is the next
    start; less work, and a larger error below four sweeps or so. ``how="sum"``: what partitions
    find is added by a tree. Models that learn from all rows at once become those of their own
    `fit`, but for rounding (and, where that shuffles rows, for another shuffle): `BCWClassifier` by
    its Gram matrix; `LowRankFactorization`, `LowRankLasso`, `LowRankClassifier` and `RankOneLasso`
    by products with all rows. Dual averaging (RDA) makes 64 steps a sweep: each adds the gradients
    of the next 64th of every partition at common weights, and is as long as the curvature of so
    many rows allows. ``how="stages"``, for stabilized models and sieves, is
    their `fit` on rows that lie apart: what all paths decide together (votes and purges; the
    features of a rung of the ladder) is a round.

    Parameters
    ----------
    model : estimator
        Any model with `partial_fit`, fitted or not; a fitted one goes on. `mix` takes first-order
        models (FTRL, RDA, FOBOS, plain SGD) and confidence-weighted ones of diagonal covariance,
        `sum` those named above.
    rows : glob, list of files, dask DataFrame, (X, y) of dask arrays, or iterable of blocks
        A file is a partition, opened by workers, which all must see it. Blocks are `Rows`, (X, y)
        or (X, y, weights), or delayed ones.
    client : distributed.Client or None, default=None
        None does everything here, through the same rounds.
    sweeps : int, default=1
        How often every row is learnt; 1 for the sums of models that take all rows at once.
    how : {"walk", "mix", "sum", "stages"}, default="walk"
        See above.
    paths : int or None, default=None
        Paths of a walk, at most as many as partitions. None: 8, or as many as there are
        partitions, and 1 for models without a mean of paths.
    merge : {"mean", "precision"}, default="mean"
        How a mix of confidence-weighted models goes: a plain mean, or means weighted by precision,
        and precisions that add up.
    target : str or None, default=None
        Column of the target, in frames and tables.
    checkpoint : path or None, default=None
        Folder of this machine for checkpoints, and for nothing else. If it holds one of the same
        task, the run goes on from there.
    segment : int, default=2
        Rounds of a walk between two checkpoints; so many are replayed where a worker is lost.
    stages : int or None, default=None
        Rounds of a stabilized model in a visit of a partition, with ``how="stages"``. None: as many
        as make parts of 100 rows, which is near to `fit`; fewer cost less, and features leave under
        a rejection that is out of date.
    timeout : float, default=600.0
        Seconds without any task done that are an error.
    progress : bool or "auto", default="auto"
        Progress bar.
    **reading
        What `open_rows` is told of files.

    Returns
    -------
    model : estimator
        The same model, trained. Of several paths: `paths_` are their models,
        `selection_probability_` the share of them that keep a weight, and `partial_fit` is refused.

    See Also
    --------
    train : The same for one machine, with validation.

    Examples
    --------
    >>> import tamis.distributed
    >>> from tamis import FTRLClassifier
    >>> from tamis.datasets import make_text
    >>> X, y, _ = make_text(n_samples=2000, n_features=5000, random_state=0)
    >>> blocks = [(X[k : k + 500], y[k : k + 500]) for k in range(0, 2000, 500)]
    >>> model = tamis.distributed.fit(FTRLClassifier(alpha=5e-4), blocks)
    >>> len(model.paths_), model.t_
    (4, 2000)
    """
    _check(model, how, merge, sweeps, segment, paths, stages)
    if how == "sum":
        summed.check(model, sweeps, checkpoint)
    if how == "stages" and (said := objection(model, sweeps, paths, checkpoint)):
        raise ValueError(said)
    with executing(client, timeout) as executor:
        # What begins anew, or goes on.
        begun = {"sum": summed.begun, "stages": clone}.get(how, lambda given: given)(model)
        places, agreed = _plan(begun, rows, executor, target, checkpoint, reading)
        made_from(model, [part.name for part in places.parts if part.kind == FILE])
        if how == "stages":
            found = learn(begun, places, sweeps, stages, segment, progress)
            return _finished(model, found, agreed, sweeps)
        count = _count(model, paths, len(places.parts), how)
        task = _task(model, places.parts, agreed, how, sweeps, count, merge)
        if how == "sum":
            found = summed.learn(model, places, sweeps, checkpoint, task, progress)
            return _finished(model, found, agreed, sweeps)
        schedule = Schedule(places, sweeps, segment, merge if how == "mix" else None)
        start = [Path(copy.deepcopy(model)) for _ in range(count)]
        with nullcontext() if checkpoint is None else Rounds(checkpoint, count) as folder:
            ended = schedule.run(start, folder, task, progress)
    found = mean_of([path.model for path in ended])
    if hasattr(found, "refine") and count == 1:
        found.refine()
    return _finished(model, found, agreed, sweeps)


@contextmanager
def executing(client: Any, timeout: float) -> Iterator[Executor]:
    """Who does the work; however it ends, nothing of it is held or under way afterwards."""
    if client is None:
        yield Inline()
        return
    from tamis.distributed.cluster import DaskExecutor

    executor = DaskExecutor(client, float(timeout))
    try:
        yield executor
    finally:
        executor.cancel(list(executor.pinned))


def _check(model: Any, how: str, merge: str, sweeps: int, segment: int, paths: Any, stages) -> None:
    """Refuse what has no meaning."""
    for name, value, choices in (("how", how, HOW), ("merge", merge, MERGES)):
        if value not in choices:
            listed = ", ".join(map(repr, choices))
            raise ValueError(f"{name} must be one of {listed}. Got {value!r}.")
    numbers = {"sweeps": sweeps, "segment": segment, "stages": stages, "paths": paths}
    for name, value in numbers.items():
        if name in ("stages", "paths") and value is None:
            continue
        if not isinstance(value, int) or value < 1:
            raise ValueError(f"{name} must be a whole number from 1 on. Got {value!r}.")
    if how != "sum" and not hasattr(model, "partial_fit"):
        raise TypeError(
            f"{type(model).__name__} has no partial_fit: it learns from all rows at once, on one "
            "machine. Use an online model, such as FTRLClassifier, or how='sum' where it has one."
        )
    if how == "mix" and sweeps < FEW:
        warn_user(
            f"sweeps={sweeps}: below {FEW} sweeps how='mix' most often has a larger error than "
            f"how='walk'. Pass sweeps={FEW}, or walk.",
            UserWarning,
        )


def _plan(
    model: Any,
    rows: Any,
    executor: Executor,
    target: str | None,
    checkpoint: StrPath | None,
    reading: dict,
) -> tuple[Places, Agreed]:
    """The partitions where they lie, and what they agree on."""
    names, schema = named_files(rows), None
    if names is not None:
        reading = {**reading} if target is None else {**reading, "target": target}
        files, options = _first(executor, list_files, names, reading)
        if checkpoint is not None:
            refuse_inputs(checkpoint, files)
        schema = reading.pop("schema", None)
        reading |= {"format": options.format}
        parts = [Part(FILE, name, name) for name in files]
    elif reading:
        raise TypeError(f"{', '.join(reading)}: these are for files, and there are none.")
    else:
        parts = blocks_of(rows, target)
    places = Places(executor, parts, target)
    if names is not None and options.format in TABLES:
        schema = schema or schema_of_tables(files, options, places.asked)
    seen = places.look(reading, schema, checkpoint is not None)
    agreed = agree(model, seen, [part.name for part in parts], names is not None)
    places.agreed = agreed
    if names is not None:
        some = parts[agreed.full[0]].what
        agreed.schema = _first(executor, schema_of, some, reading, schema, agreed.survey)
        agreed.reading = reading
    return places, agreed


def _first(executor: Executor, task: Any, *given: Any) -> Any:
    """What the first worker says."""

    def attempt() -> Any:
        return executor.gather([executor.submit(task, *given, home=executor.homes()[0])])[0]

    return replayed(attempt, lambda: None)


def _count(model: Any, paths: int | None, partitions: int, how: str) -> int:
    """How many paths there are."""
    if how != "walk":
        if paths not in (None, 1):
            raise ValueError(f"how={how!r} has one path; paths is for how='walk'.")
        return 1
    name = type(model).__name__
    if paths is not None and paths > partitions:
        raise ValueError(
            f"paths={paths} for {partitions} partitions: no two paths may be at one of them. Pass "
            "at most as many, or cut the data into more files or blocks."
        )
    if not has_mean(model):
        if paths not in (None, 1):
            raise ValueError(
                f"several paths of {name} have no mean that is such a model again. Pass paths=1."
            )
        return 1
    return min(partitions, MOST_PATHS) if paths is None else paths


def _task(model: Any, parts: list, agreed: Agreed, how, sweeps, count, merge) -> dict:
    """What is learnt from what and how, as plain data."""
    chosen = {
        name: repr(value)
        for name, value in sorted(model.get_params(deep=True).items())
        if name not in ("n_jobs", "verbose")
    }
    fitted = hasattr(model, "n_features_in_")
    return {
        "model": type(model).__name__,
        "parameters": chosen,
        "how": how,
        "sweeps": sweeps,
        "paths": count,
        "merge": merge,
        "columns": agreed.survey.features,
        "classes": repr(agreed.survey.classes),
        "reading": {name: repr(value) for name, value in sorted(agreed.reading.items())},
        "parts": [
            {"name": part.name, "rows": one.survey.rows, **one.digest}
            for part, one in zip(parts, agreed.seen, strict=True)
        ],
        "begun": repr(getattr(model, "t_", None)) if fitted else None,
    }


def _finished(user_model: Any, model: Any, agreed: Agreed, sweeps: int) -> Any:
    """The user's model, in the state of the one that was trained, with what both say about the
    training.
    """
    names = agreed.seen[agreed.full[0]].names
    line = {"pass": sweeps, "rows": sweeps * agreed.survey.rows}
    if hasattr(model, "support_"):
        line["nonzeros"] = len(model.support_)
    model.train_history_ = [line]
    if agreed.schema is not None:
        model.reading_ = agreed.schema
    if names is not None:
        model.feature_names_in_ = np.array(names, dtype=object)
    state = model.__getstate__()
    for name in vars(user_model).keys() - state.keys():
        delattr(user_model, name)  # of an earlier fit
    user_model.__setstate__(state)
    return user_model
