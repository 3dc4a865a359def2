"""A group of paths that goes down the size path: run passes, rank features by the pooled mean
iterates, eliminate columns, repeat.
"""

from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from typing import ClassVar, NamedTuple

import numpy as np

from tamis.methods.sieve.loop import (
    PassOrder,
    PassRows,
    StepSettings,
    average_states,
    run_multi_output_passes,
    run_single_output_passes,
    select_columns,
    select_states,
    sum_column_squares,
    sum_row_norms,
)
from tamis.methods.sieve.table.standard_units import Table
from tamis.numerics.csr import (
    copy_selected_columns,
    count_selected_entries,
    decision_scores,
    largest_indices,
)
from tamis.system.progress import report_progress
from tamis.system.schema import array, count

MIN_SUM_OF_SQUARES = 1e-300  # initial value: a centred entry may be 0, and 0 / 0 is no step
FINAL_PENALTY_RATIO = 0.3  # strength of the final phase, relative to that of the size path
FINAL_PASSES = 3
FINAL_PATHS = 4


class Candidate(NamedTuple):
    """A base setting adapted to the outputs: step constants and strengths, one an output, and
    numbers of passes and paths.
    """

    name: str
    step_constants: tuple
    strengths: tuple
    first_passes: int
    passes: int
    n_paths: int
    n_fold_paths: int
    density_exponent: float  # of a feature's density, in its importance
    weakens_penalty: bool  # whether the strength falls when fewer columns than rows are left
    n_splits: int  # repetitions of the split into folds


class Objective(NamedTuple):
    """Objective of a path: the loss, its curvature where steps must be implicit (else 0), and
    whether there is an intercept (1 or 0).
    """

    loss: tuple
    curvature: float
    intercept: float


class InitialState(NamedTuple):
    """Models of level 0 that a group of paths starts from: states of the columns, intercepts, and
    the number of steps that their averages are over.
    """

    states: np.ndarray
    biases: np.ndarray
    n_steps: float

    def step_factors(self, rows: int) -> tuple[np.ndarray, np.ndarray]:
        """Return the step factors of a pass over `rows` rows, of the columns and of the intercept:
        the root of passes over sum of squares.
        """
        passes, squares = self.n_steps / max(rows, 1), (self.states[..., 0], self.biases[..., 0])
        states, biases = (
            np.sqrt(passes / np.where(values > 0.0, values, np.inf)) for values in squares
        )
        return states, biases


class PathPoint:
    """Point of a group of paths at one size: its columns, their pooled weights, the intercepts, and
    the number of passes so far.
    """

    _contents: ClassVar[dict] = {
        "columns": array("u4", "selected", below="columns", increasing=True),
        "weights": array("f4", "selected", "outputs"),
        "bias": array("f8", "outputs"),
        "passes": count(),
    }

    def __init__(self, columns: np.ndarray, weights: np.ndarray, bias: np.ndarray, passes: int):
        self.columns, self.weights = columns.astype(np.uint32), weights.astype(np.float32)
        self.bias, self.passes = bias.copy(), passes


class PathGroup:
    """Paths over the same rows, each in its own row orders, which share their columns."""

    weights: np.ndarray
    bias: np.ndarray
    rates: np.ndarray
    strengths: np.ndarray

    def __init__(
        self,
        table: Table,
        objective: Objective,
        candidate: Candidate,
        rows: np.ndarray,
        held_out: np.ndarray,
        keys: np.ndarray,
        initial: InitialState | None = None,
    ):
        self.table, self.objective, self.candidate = table, objective, candidate
        self.rows, self.held_out, self.keys = rows, held_out, keys
        self.n_unpenalized = table.n_unpenalized
        self.csr = (table.data, table.indices, table.indptr)
        self.columns = np.arange(len(table.density))
        width = 1 + 2 * table.outputs
        if initial is None:
            self.states = np.zeros((len(keys), len(self.columns), width))
            self.biases = np.zeros((len(keys), width))
            self.states[:, :, 0] = MIN_SUM_OF_SQUARES
            self.effective_passes = 0.0  # passes over as many rows, which set the step size
        else:
            self.states = np.repeat(initial.states[None], len(keys), axis=0)
            self.biases = np.repeat(initial.biases[None], len(keys), axis=0)
            self.effective_passes = initial.n_steps / max(len(rows), 1)
            self.states[..., 0], self.biases[..., 0] = initial.step_factors(len(rows))
        self.has_initial_state = initial is not None
        self.passes = 0  # so far, which set the row orders
        # Number of steps that the average in the state is over.
        self.n_steps = float(len(rows) if initial is None else initial.n_steps)

    @classmethod
    def from_point(
        cls,
        point: PathPoint,
        size: int,
        table: Table,
        objective: Objective,
        candidate: Candidate,
        rows: np.ndarray,
        held_out: np.ndarray,
        keys: np.ndarray,
        initial: InitialState | None = None,
    ) -> "PathGroup":
        """Return paths that start from the pooled weights of a point, with its `size` most
        important feature groups.
        """
        empty = table._replace(density=table.density[:0])
        group = cls(empty, objective, candidate, rows, held_out, keys)
        group.table, outputs = table, table.outputs
        group.load_point(point, size)
        group.csr = select_entries(group.csr, group.columns, len(table.density))
        n_columns = len(group.columns)
        group.states = np.zeros((len(keys), n_columns, 1 + 2 * outputs))
        group.biases = np.zeros((len(keys), 1 + 2 * outputs))
        if initial is None:
            squares, weight = np.zeros(n_columns), float(len(rows))
            sum_column_squares(*group.csr, table.weights, rows, squares)
            weight = table.weights[rows].sum() if len(table.weights) else weight
            group.states[:, :, 0] = 1.0 / np.sqrt(np.where(squares > 0.0, squares, np.inf))
            group.biases[:, 0] = 1.0 / np.sqrt(weight)
        else:
            factors, group.biases[:, 0] = initial.step_factors(len(rows))
            group.states[:, :, 0] = factors[group.columns]
            group.effective_passes += initial.n_steps / max(len(rows), 1)
        group.states[:, :, 1 : 1 + outputs] = group.weights
        group.biases[:, 1 : 1 + outputs] = group.bias
        return group

    def load_point(self, point: PathPoint, size: int) -> None:
        """Take columns, weights and passes from a point, with its `size` most important feature
        groups.
        """
        self.columns, self.weights = point.columns.astype(np.int64), point.weights.astype(float)
        self.n_unpenalized = int(np.count_nonzero(self.columns >= self.table.n_penalized))
        self.bias, self.passes = point.bias, point.passes
        self.effective_passes = float(point.passes)
        positions = self.most_important(size)
        self.columns, self.weights = self.columns[positions], self.weights[positions]

    def point(self) -> PathPoint:
        """Return columns, pooled weights, intercepts and passes."""
        return PathPoint(self.columns, self.weights, self.bias, self.passes)

    def keep_first_paths(self, n_paths: int) -> None:
        """Go on with the first paths alone."""
        self.keys, self.states = self.keys[:n_paths], self.states[:n_paths]
        self.biases = self.biases[:n_paths]

    def tune(self, penalty_ratio: float = 1.0) -> None:
        """Set step sizes and strengths for the present columns."""
        data, _, indptr = self.csr
        total, weight = sum_row_norms(data, indptr, self.table.weights, self.rows)
        self.set_steps(total, weight, len(self.rows), penalty_ratio)

    def set_steps(
        self, total: float, weight: float, n_rows: int, penalty_ratio: float = 1.0
    ) -> None:
        """Set step sizes and strengths from the sum of squared norms of `n_rows` rows, and the
        weight of those that have an entry.
        """
        mean_square = total / weight if weight > 0.0 else 1.0
        columns_per_row = len(self.columns) / max(n_rows, 1)
        penalty_scale = (
            np.sqrt(min(1.0, columns_per_row)) if self.candidate.weakens_penalty else 1.0
        )
        self.step_sizes = np.array(self.candidate.step_constants) / np.sqrt(mean_square)
        self.strengths = penalty_ratio * penalty_scale * np.array(self.candidate.strengths)

    def walks(self, passes: int) -> list:
        """Return the next passes of each path as calls that may run at the same time."""
        passes_before, effective_passes = self.passes, self.effective_passes
        self.n_steps = float(len(self.rows))
        self.passes, self.effective_passes = passes_before + passes, effective_passes + passes
        return [
            lambda path=path: self._run_path(path, passes, passes_before, effective_passes)
            for path in range(len(self.keys))
        ]

    def level_calls(self, level: int) -> list:
        """Return the passes of a level of the size path as calls; a group with an initial state
        skips those of level 0.
        """
        if level == 0:
            return [] if self.has_initial_state else self.walks(self.candidate.first_passes)
        return self.walks(self.candidate.passes)

    def _run_path(
        self, path: int, passes: int, passes_before: int, effective_passes: float
    ) -> None:
        # Every other path takes the orders of the previous one backwards, so that the effect of the
        # order cancels in their mean.
        key = np.uint64((int(self.keys[path - path % 2]) + (passes_before << 20)) % 2**64)
        table, objective = self.table, self.objective
        run_passes = run_single_output_passes if table.outputs == 1 else run_multi_output_passes
        n_penalized = len(self.columns) - self.n_unpenalized
        run_passes(
            PassRows(*self.csr, table.targets, table.weights, self.rows),
            self.states[path, : len(self.columns)],
            self.biases[path],
            objective.loss,
            StepSettings(
                self.step_sizes,
                self.strengths,
                objective.curvature,
                objective.intercept,
                effective_passes,
                np.uint64(n_penalized),
            ),
            PassOrder(np.uint64(passes), key, np.uint64(path % 2)),
        )

    def pool(self) -> None:
        """Average the mean iterates of the last pass over the paths."""
        n_steps = max(self.n_steps, 1.0)
        self.weights = np.empty((len(self.columns), self.table.outputs))
        bias = np.empty((1, self.table.outputs))
        average_states(self.states, n_steps, self.weights)
        average_states(self.biases[:, None], n_steps, bias)
        self.bias = bias[0]

    def score_held_out(self, scores: np.ndarray) -> None:
        """Fill the pooled scores of the rows that the group does not learn from."""
        decision_scores(*self.csr, self.held_out, self.weights, self.bias, scores)

    def most_important(self, size: int) -> np.ndarray:
        """Return the positions, ascending, of the columns of the `size` most important feature
        groups, and of the unpenalized columns.
        """
        density, exponent = self.table.density[self.columns], self.candidate.density_exponent
        importance = importance_of(self.weights, density, exponent)
        importance[len(importance) - self.n_unpenalized :] = np.inf
        if self.table.groups is None:
            return largest_indices(importance, size + self.n_unpenalized)
        ranks = self.table.column_ranks(self.columns, importance)
        return np.flatnonzero(ranks < size + (self.n_unpenalized > 0))

    def eliminate(self, size: int) -> None:
        """Keep the most important columns in the rows and in the state."""
        positions = self.most_important(size)
        self.weights = self.weights[positions]
        self.restrict_columns(positions)

    def restrict_columns(self, positions: np.ndarray) -> None:
        """Keep the columns at some positions in the rows and in the state."""
        if len(positions) == len(self.columns):
            return
        new_index = np.full(len(self.columns), len(positions), dtype=np.uint32)
        new_index[positions] = np.arange(len(positions), dtype=np.uint32)
        self.columns = self.columns[positions]
        select_states(self.states, positions)
        del positions
        output = data, indices, indptr = self.csr
        if data is self.table.data:  # other groups read it, so copy; later copies are overwritten
            output = (np.empty_like(data), np.empty_like(indices), np.empty_like(indptr))
        select_columns(*self.csr, new_index, np.uint32(len(self.columns)), *output)
        n_entries = int(output[2][-1])
        self.csr = (output[0][:n_entries], output[1][:n_entries], output[2])


def importance_of(weights: np.ndarray, density: np.ndarray, exponent: float) -> np.ndarray:
    """Return the norm of each feature's pooled weights, times a power of its density."""
    if weights.shape[1] == 1:
        size = np.abs(weights[:, 0])
    else:
        size = np.sqrt((weights**2).sum(axis=1))
    return size * density**exponent


def select_entries(csr: tuple, positions: np.ndarray, n_columns: int) -> tuple:
    """Return the entries of the columns at some positions, renumbered, as a CSR matrix."""
    data, indices, indptr = csr
    new_index = np.full(n_columns, len(positions), dtype=np.uint32)
    new_index[positions] = np.arange(len(positions), dtype=np.uint32)
    out_indptr = np.empty_like(indptr)
    count_selected_entries(indices, indptr, new_index, np.uint32(len(positions)), out_indptr)
    n_entries = int(out_indptr[-1])
    out_data, out_indices = np.empty(n_entries), np.empty(n_entries, dtype=np.uint32)
    copy_selected_columns(
        data, indices, indptr, new_index, np.uint32(len(positions)), out_data, out_indices
    )
    return out_data, out_indices, out_indptr


def descend(
    group: PathGroup,
    sizes: np.ndarray,
    run: Callable,
    observe: Callable | None = None,
    first: int = 0,
) -> None:
    """Take a group down the size path from level `first` on.

    `run` executes the calls of the paths; ``observe(group, level)`` is called after they are
    pooled.
    """
    if first:
        group.eliminate(int(sizes[first]))
    group.tune()
    for level in range(first, len(sizes)):
        report_progress(f"{int(sizes[level]):,} features on the size path")
        run(group.level_calls(level))
        group.pool()
        if observe is not None:
            observe(group, level)
        if level + 1 < len(sizes):
            group.eliminate(int(sizes[level + 1]))
            group.tune()


def finalize(groups: list[PathGroup], run: Callable) -> None:
    """Run the final phase of groups: passes under a weaker penalty, and means of the last pass."""
    for group in groups:
        group.tune(FINAL_PENALTY_RATIO)
    run([walk for group in groups for walk in group.walks(FINAL_PASSES)])
    for group in groups:
        group.pool()


def path_keys(seed: int, group: int, n_paths: int) -> np.ndarray:
    """Return a random key for the row orders of each path of a group."""
    return np.random.SeedSequence([seed, group]).generate_state(n_paths, np.uint64)


def run_serially(calls: list) -> None:
    """Run calls one after the other."""
    for call in calls:
        call()


@contextmanager
def thread_runner(n_threads: int) -> Iterator[Callable]:
    """Yield a function that runs calls on `n_threads` threads; the results do not depend on the
    number.
    """
    if n_threads == 1:
        yield run_serially
        return
    with ThreadPoolExecutor(n_threads) as pool:
        yield lambda calls: list(pool.map(lambda call: call(), calls))
