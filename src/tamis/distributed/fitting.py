"""`fit`: train a model on partitions, on the workers that hold them."""

from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from typing import Any, Literal, TypeVar

import numpy as np
from sklearn.base import clone

from tamis.base.estimators.stream import encoder_of
from tamis.base.validation import warn_user
from tamis.distributed import staged
from tamis.distributed.checkpoint import PathCheckpoints
from tamis.distributed.executors import Executor, LocalExecutor
from tamis.distributed.inputs import FILE, PartitionSource, block_sources, file_names
from tamis.distributed.merging import MERGES, has_mean, mean_of
from tamis.distributed.placement import Placement, with_replays
from tamis.distributed.schedule import Schedule
from tamis.distributed.schema import TABLES, SharedSchema, shared_schema, table_schema
from tamis.distributed.summing import models as summing
from tamis.distributed.worker_tasks import PathState, file_schema, list_files
from tamis.system.files import StrPath, record_sources, refuse_overwriting
from tamis.system.threads import locked

Model = TypeVar("Model")
HOW = ("walk", "mix", "sum", "stages")
MAX_AUTO_PATHS = 8
MIN_MIX_SWEEPS = 4  # with fewer, a mix has a larger error than a walk


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

    First every partition is surveyed, and columns and classes are settled for all of them; then
    models go from partition to partition. The result depends on the partitions and their order, not
    on how many workers there are, which of them die, or which task ends first.

    ``how="walk"``: in round r path m of M learns partition (mK // M + r) modulo their number K, so
    that all paths learn every row `sweeps` times, each in another order; path 0 is the pass that
    one machine would make. Several paths give one model of their mean score. ``how="mix"``: every
    partition is learnt apart from one common start, and the mean of these models is the next start;
    less work, and a larger error below four sweeps or so. ``how="sum"``: sums over the rows of each
    partition are added in a tree. Models that learn from all rows at once become those of their own
    `fit`, but for rounding (and, where that shuffles rows, for another shuffle): `BCWClassifier` by
    its Gram matrix; `LowRankFactorization`, `LowRankLasso`, `LowRankClassifier` and `RankOneLasso`
    by products with all rows. Dual averaging (RDA) makes 64 steps a sweep: each adds the gradients
    of the next 64th of every partition at common weights, and is as long as the curvature of so
    many rows allows. ``how="stages"``, for stabilized models and sieves, is their `fit` on rows
    that lie in partitions; each decision of all paths (votes and purges; the features of a step of
    the size path) is a round.

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
        None does everything in this process, through the same rounds.
    sweeps : int, default=1
        How often every row is learnt; 1 for the sums of models that take all rows at once.
    how : {"walk", "mix", "sum", "stages"}, default="walk"
        See above.
    paths : int or None, default=None
        Paths of a walk, at most as many as partitions. None: 8, or as many as there are
        partitions, and 1 for models without a mean of paths.
    merge : {"mean", "precision"}, default="mean"
        How a mix of confidence-weighted models is made: a plain mean, or means weighted by
        precision, and precisions that add up.
    target : str or None, default=None
        Column of the target, in frames and tables.
    checkpoint : path or None, default=None
        Folder of this machine for checkpoints, and for nothing else. If it holds one of the same
        task, the run goes on from there.
    segment : int, default=2
        Rounds of a walk between two checkpoints; so many are replayed where a worker is lost.
    stages : int or None, default=None
        Rounds of a stabilized model for each partition, with ``how="stages"``. None: as many as
        make pieces of 100 rows, which is near to `fit`; fewer cost less, and features leave under
        a rejection that is out of date.
    timeout : float, default=600.0
        Seconds without any finished task that are an error.
    progress : bool or "auto", default="auto"
        Progress bar.
    **reading
        Further parameters of `open_rows`, for files.

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
        summing.check(model, sweeps, checkpoint)
    if how == "stages" and (reason := staged.refuse_stages(model, sweeps, paths, checkpoint)):
        raise ValueError(reason)
    with executor_of(client, timeout) as executor:
        # The model before its first row: a copy that has forgotten all rows, or one that goes on.
        starts = {"sum": summing.unfitted, "stages": clone}
        start = starts[how](model) if how in starts else model
        placement = plan(start, rows, executor, target, checkpoint, reading)
        schema = placement.schema
        assert schema is not None
        record_sources(model, [source.name for source in placement.sources if source.kind == FILE])
        if how == "stages":
            trained = staged.learn(start, placement, sweeps, stages, segment, progress)
            return _finished(model, trained, schema, sweeps)
        count = _count_paths(model, paths, len(placement.sources), how)
        task = _task(model, placement.sources, schema, how, sweeps, count, merge)
        if how == "sum":
            trained = summing.learn(model, placement, sweeps, checkpoint, task, progress)
            return _finished(model, trained, schema, sweeps)
        placement.encoder = encoder_of(model)
        schedule = Schedule(placement, sweeps, segment, merge if how == "mix" else None)
        # No copies: the task that learns a partition leaves the path that it starts from unchanged.
        states = [PathState(model) for _ in range(count)]
        checkpoints = nullcontext() if checkpoint is None else PathCheckpoints(checkpoint, count)
        with checkpoints as folder:
            ended = schedule.run(states, folder, task, progress)
    trained = mean_of([path.model for path in ended])
    if hasattr(trained, "refine") and count == 1:
        trained.refine()
    return _finished(model, trained, schema, sweeps)


@contextmanager
def executor_of(client: Any, timeout: float) -> Iterator[Executor]:
    """The engine of a client, None for this process; at the end its tasks and results are
    dropped.
    """
    if client is None:
        yield LocalExecutor()
        return
    from tamis.distributed.cluster import DaskExecutor

    executor = DaskExecutor(client, float(timeout))
    try:
        yield executor
    finally:
        executor.cancel(list(executor.pinned))


def _check(model: Any, how: str, merge: str, sweeps: int, segment: int, paths: Any, stages) -> None:
    """Refuse invalid parameters."""
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
    if how == "mix" and sweeps < MIN_MIX_SWEEPS:
        warn_user(
            f"sweeps={sweeps}: below {MIN_MIX_SWEEPS} sweeps how='mix' most often has a larger "
            f"error than how='walk'. Pass sweeps={MIN_MIX_SWEEPS}, or walk.",
            UserWarning,
        )


def plan(
    model: Any,
    rows: Any,
    executor: Executor,
    target: str | None,
    checkpoint: StrPath | None,
    reading: dict,
) -> Placement:
    """Place the partitions of `rows` and settle the schema that they share."""
    names, schema = file_names(rows), None
    if names is not None:
        reading = {**reading} if target is None else {**reading, "target": target}
        files, options = _on_first_worker(executor, list_files, names, reading)
        if checkpoint is not None:
            refuse_overwriting(checkpoint, files)
        schema = reading.pop("schema", None)
        reading |= {"format": options.format}
        sources = [PartitionSource(FILE, name, name) for name in files]
    elif reading:
        raise TypeError(f"{', '.join(reading)}: these are for files, and there are none.")
    else:
        sources = block_sources(rows, target)
    placement = Placement(executor, sources, target)
    if names is not None and options.format in TABLES:
        schema = schema or table_schema(files, options, placement.run_on_all)
    summaries = placement.summarize(reading, schema, checkpoint is not None)
    source_names = [source.name for source in sources]
    shared = placement.schema = shared_schema(model, summaries, source_names, names is not None)
    if names is not None:
        args = (sources[shared.nonempty[0]].value, reading, schema, shared.survey)
        shared.file_schema = _on_first_worker(executor, file_schema, *args)
        shared.reading = reading
    return placement


def _on_first_worker(executor: Executor, task: Any, *args: Any) -> Any:
    """Result of a task that any worker can run."""

    def attempt() -> Any:
        handle = executor.submit(task, *args, worker=executor.workers()[0])
        return executor.gather([handle])[0]

    return with_replays(attempt, lambda: None)


def _count_paths(model: Any, paths: int | None, n_partitions: int, how: str) -> int:
    """Number of paths."""
    if how != "walk":
        if paths not in (None, 1):
            raise ValueError(f"how={how!r} has one path; paths is for how='walk'.")
        return 1
    name = type(model).__name__
    if paths is not None and paths > n_partitions:
        raise ValueError(
            f"paths={paths} for {n_partitions} partitions: no two paths may be at one of them. "
            "Pass at most as many, or cut the data into more files or blocks."
        )
    if not has_mean(model):
        if paths not in (None, 1):
            raise ValueError(
                f"several paths of {name} have no mean that is such a model again. Pass paths=1."
            )
        return 1
    return min(n_partitions, MAX_AUTO_PATHS) if paths is None else paths


def _task(
    model: Any, sources: list[PartitionSource], schema: SharedSchema, how, sweeps, count, merge
) -> dict:
    """The task as plain data: a checkpoint of another task is refused."""
    params = {
        name: repr(value)
        for name, value in sorted(model.get_params(deep=True).items())
        if name not in ("n_jobs", "verbose")
    }
    is_fitted = hasattr(model, "n_features_in_")
    return {
        "model": type(model).__name__,
        "parameters": params,
        "how": how,
        "sweeps": sweeps,
        "paths": count,
        "merge": merge,
        "columns": schema.survey.features,
        "classes": repr(schema.survey.classes),
        "reading": {name: repr(value) for name, value in sorted(schema.reading.items())},
        "parts": [
            {"name": source.name, "rows": one.survey.rows, **one.digest}
            for source, one in zip(sources, schema.summaries, strict=True)
        ],
        "begun": repr(getattr(model, "t_", None)) if is_fitted else None,
    }


def _finished(user_model: Any, trained: Any, schema: SharedSchema, sweeps: int) -> Any:
    """The user's model, with the state of the trained one and the attributes of a training."""
    names = schema.summaries[schema.nonempty[0]].names
    entry = {"pass": sweeps, "rows": sweeps * schema.survey.rows}
    if hasattr(trained, "support_"):
        entry["nonzeros"] = len(trained.support_)
    trained.train_history_ = [entry]
    if schema.file_schema is not None:
        trained.reading_ = schema.file_schema
    if names is not None:
        trained.feature_names_in_ = np.array(names, dtype=object)
    state = trained.__getstate__()
    for name in vars(user_model).keys() - state.keys():
        delattr(user_model, name)  # of an earlier fit
    user_model.__setstate__(state)
    return user_model
