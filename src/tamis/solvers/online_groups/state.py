"""State of online models with group penalties on columns or on the outputs of a column.

It validates nothing and does not depend on scikit-learn.
"""

from typing import Any, ClassVar

import numpy as np

from tamis.numerics.csr import Csr
from tamis.numerics.targets import NO_TASKS, EncodedTargets
from tamis.solvers.first_order.loop import INTERCEPT_STEP_RATIO
from tamis.solvers.first_order.state import (
    CELL_SIZE_BINDING,
    LEARNING_RATE_SCHEMA,
    SINGLE_ROW_SPAN,
    FirstOrderState,
    RowCalls,
)
from tamis.solvers.online_groups.loop import GroupArrays, GroupIndex, GroupOptions
from tamis.solvers.online_groups.loop_passes import (
    count_group_weights,
    learn_groups,
    score_groups,
    write_group_weights,
    write_squares,
)
from tamis.solvers.path.loop import CoefBlocks
from tamis.system.schema import array, number, term, tuple_of
from tamis.terms.group_penalties import GroupL2, SparseGroup
from tamis.terms.losses import Logistic
from tamis.terms.optimizers import DualAveraging

NO_SQUARES = np.zeros(0)  # scores of a fitted model compute the norms of groups from the cells


class OnlineGroupState(FirstOrderState):
    """State of dual averaging under a group penalty, as in `tamis.solvers.online_groups.loop`."""

    _can_split_outputs = can_pack_columns = False
    _contents: ClassVar[dict] = {
        "terms": tuple_of(
            term("value", "gradient"),
            term(of=(GroupL2, SparseGroup)),
            term(of=(DualAveraging,), binds=CELL_SIZE_BINDING),
            LEARNING_RATE_SCHEMA,
        ),
        "softmax": number(float, minimum=0.0, maximum=1.0, exact=True),
        "prices": array("f8", "groups", 2, minimum=0.0),
        "members": array("u4", "places", below="columns"),
        "starts": array("u8", "groups+1", pointers_into="places"),
        "squares": array("f8", ("groups", 0), minimum=0.0),
        **dict.fromkeys(
            ("owners", "owner_starts", "overlap", "ordered")
        ),  # computed from the groups
    }

    def __init__(self, terms, flags, features: int, outputs: int, blocks: CoefBlocks):
        super().__init__(terms, flags, features, outputs)
        self.softmax = 0.0  # 1 if outputs are the classes of one multinomial loss
        self.members, self.starts = np.zeros(0, np.uint32), np.zeros(0, np.uint64)
        self.squares = np.zeros(0)
        self.validate_array(blocks)

    def validate_array(self, blocks: CoefBlocks) -> None:
        """Set the groups. What the model has learnt stays: it belongs to columns."""
        members, starts = blocks.members.astype(np.uint32), blocks.starts
        # Unchanged groups keep their squared norms to the bit; groups of new columns follow them.
        n_known = len(self.starts)
        is_unchanged = (
            n_known
            and np.array_equal(starts[:n_known], self.starts)
            and np.array_equal(members[: len(self.members)], self.members)
        )
        squares = self.squares if is_unchanged else None
        self.members, self.starts = members, starts
        self.prices = np.column_stack((blocks.weights, blocks.l1_weights))
        self.overlap = blocks.overlap
        self._index_owners()
        if squares is not None and len(squares) and self.tracks_squares:
            self.squares = np.r_[squares, np.zeros(len(self.prices) - len(squares))]
        else:
            self.recompute_squares()

    @property
    def n_grouped_columns(self) -> int:
        """Number of columns that the groups cover."""
        return len(self.owner_starts) - 1 if len(self.owner_starts) else len(self.owners)

    @property
    def tracks_squares(self) -> bool:
        """Whether steps can update the squared norms of the groups: no L1 and no signs."""
        penalty = self.terms[1]
        return not penalty.has_l1() and not penalty.positive

    def _index_owners(self) -> None:
        """Compute the groups of each column."""
        group_indices = np.arange(len(self.prices), dtype=np.uint32)
        owner = np.repeat(group_indices, np.diff(self.starts).astype(np.int64))
        order = np.argsort(self.members, kind="stable")
        self.owners, self.owner_starts = owner[order], np.zeros(0, dtype=np.uint64)
        self.ordered = len(self.members) == self.features and bool(
            (np.diff(self.members.astype(np.int64)) == 1).all()
        )
        if self.overlap > 1:
            counts = np.bincount(self.members, minlength=self.features)
            self.owner_starts = np.r_[0, np.cumsum(counts)].astype(np.uint64)

    def recompute_squares(self) -> None:
        """Compute the squared norms of the groups, if steps can update them."""
        self.squares = np.zeros(len(self.prices) if self.tracks_squares else 0)
        if len(self.squares) and self.state.any():
            n_outputs = np.uint64(self.outputs)
            write_squares(self._arrays(), self._groups(), self.terms[1], n_outputs)

    def _groups(self) -> GroupIndex:
        members = self.members[:0] if self.ordered else self.members
        return GroupIndex(members, self.starts, self.prices, self.owners, self.owner_starts)

    def _arrays(self) -> GroupArrays:
        # Zeros take no memory before they are written.
        scratch = np.zeros((len(self.prices), 2))
        return GroupArrays(self.state, self.bias, self.costs[0], self.squares, scratch)

    def _options(self) -> GroupOptions:
        softmax = self.softmax and isinstance(self.terms[0], Logistic)
        overlap, n_outputs = float(self.overlap), float(self.outputs)
        intercept, eta, alpha = self.flags
        return GroupOptions(intercept, eta, alpha, float(softmax), 1.0, overlap, n_outputs)

    def _progress(self) -> tuple:
        return self.lazy, self.stats, self._options()

    def _after_load(self) -> None:
        """Refuse groups that leave a column out; compute what follows from the groups."""
        super()._after_load()
        counts = np.bincount(self.members, minlength=self.features)
        if not counts.all():
            raise ValueError("a column is in no group")
        self.overlap = int(counts.max())
        self._index_owners()
        if len(self.squares) != (len(self.prices) if self.tracks_squares else 0):
            raise ValueError(f"{len(self.squares)} squares of {len(self.prices)} groups")

    def _learn_span(self, rows, targets: EncodedTargets, weights, span):
        self._run_loop(learn_groups, rows, targets, weights, span)

    def _run_loop(self, loop, rows: Csr, *loop_args) -> None:
        """Run a learning loop over rows, and set lazy state and statistics to its results."""
        state_args = (self._arrays(), self._groups(), *self.terms, *self._progress())
        progress = loop(rows[:3], *loop_args, *state_args)
        numbers: Any = (tuple(map(float, values)) for values in progress)
        self.lazy, self.stats = numbers

    def score(self, rows: Csr, tasks=NO_TASKS) -> np.ndarray:
        """Return the scores of the rows, (rows, outputs), or those of each row's task."""
        width = int(self._options().task_outputs) if len(tasks) else self.outputs
        scores, arrays = np.empty((rows.n_rows, width)), self._arrays()._replace(squares=NO_SQUARES)
        loop_args = (self._groups(), *self.terms[1:], *self._progress())
        score_groups(rows[:3], tasks, arrays, *loop_args, scores)
        return scores

    def weights(self) -> np.ndarray:
        """Return all weights, (outputs, features)."""
        return self._weights_and_factors()[0]

    def factors(self) -> np.ndarray:
        """Return the shrinkage factor of each group; 0 where its weights are 0."""
        return self._weights_and_factors()[1]

    def _weights_and_factors(self) -> tuple[np.ndarray, np.ndarray]:
        weights, factors = np.zeros((self.outputs, self.features)), np.zeros(len(self.prices))
        loop_args = (self._groups(), *self.terms[1:], *self._progress())
        write_group_weights(self.state, *loop_args, weights, factors)
        return weights, factors

    def count(self, columns=None) -> int:
        """Return the number of nonzero weights; only `columns`, if given, may have any."""
        if columns is None:
            return self._list_nonzeros(0)[0]
        loop_args = (self._arrays(), self._groups(), *self.terms[1:], *self._progress())
        return int(count_group_weights(*loop_args, columns))

    def _list_nonzeros(self, capacity):
        weights = self.weights().T.ravel()
        cells = np.flatnonzero(weights)
        return len(cells), cells, weights[cells]

    def _set_outputs(self, sources, signs) -> None:
        """Set the outputs as in `FirstOrderState`; the groups then cover the new outputs."""
        super()._set_outputs(sources, signs)
        self.recompute_squares()

    def constants(self) -> tuple[float, float]:  # type: ignore[override]
        """Return the present divisor beta and strength alpha."""
        _, penalty, _, learning_rate = self.terms
        t, (intercept, auto_eta, auto_alpha) = max(self.lazy[0], 1.0), self.flags
        max_sqnorm = (
            self.lazy[3] * self.overlap * (1.0 + INTERCEPT_STEP_RATIO * intercept)
            if auto_eta
            else 1.0
        )
        alpha_scale = self.stats[0] * self.stats[1] if auto_alpha else 1.0
        return max_sqnorm / learning_rate.step_size(t, 0.0, 0.0), penalty.alpha * alpha_scale

    def row_calls(self, rows: Csr, targets: EncodedTargets, weights) -> RowCalls:
        """Return functions that learn from and score the one row of these arrays; they are valid
        until the terms change.
        """
        loop_args = (
            rows[:3],
            targets,
            weights,
            SINGLE_ROW_SPAN,
            self._arrays(),
            self._groups(),
            *self.terms,
        )
        options = self._options()
        learn_loop = learn_groups.compiled_for(*loop_args, self.lazy, self.stats, options)

        def learn() -> None:
            # `scratch` may hold factors of earlier rows: their stamps differ.
            self.lazy, self.stats = learn_loop(*loop_args, self.lazy, self.stats, options)

        return RowCalls(learn, lambda: self.score(rows))
