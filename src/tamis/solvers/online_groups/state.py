"""The engine of online models with block penalties: groups of columns, or of a column's outputs.

No checks, no scikit-learn.
"""

from typing import Any, ClassVar

import numpy as np

from tamis.numerics.csr import Csr
from tamis.numerics.targets import NO_TASKS, EncodedTargets
from tamis.solvers.first_order.loop import INTERCEPT_STEP_RATIO
from tamis.solvers.first_order.state import CELLS, FIRST, STEP, Engine, RowCalls
from tamis.solvers.online_groups.loop import Form, Groups, Memory
from tamis.solvers.online_groups.loop_walks import (
    count_group_weights,
    learn_groups,
    score_groups,
    sum_squares,
    write_group_weights,
)
from tamis.solvers.path.loop import Blocks
from tamis.system.schema import array, number, term, tuple_of
from tamis.terms.group_penalties import GroupL2, SparseGroup
from tamis.terms.losses import Logistic
from tamis.terms.optimizers import DualAveraging

NO_SQUARES = np.zeros(0)  # a look at the weights sums what it needs anew


class GroupEngine(Engine):
    """State of dual averaging under a block penalty; see `tamis.solvers.online_groups.loop`."""

    _splits = packs = False
    _contents: ClassVar[dict] = {
        "terms": tuple_of(
            term("value", "gradient"),
            term(of=(GroupL2, SparseGroup)),
            term(of=(DualAveraging,), binds=CELLS),
            STEP,
        ),
        "softmax": number(float, least=0.0, most=1.0, exact=True),
        "prices": array("f8", "groups", 2, least=0.0),
        "members": array("u4", "places", below="columns"),
        "starts": array("u8", "groups+1", rising="places"),
        "squares": array("f8", ("groups", 0), least=0.0),
        **dict.fromkeys(("owners", "owner_starts", "overlap", "ordered")),  # made of the groups
    }

    def __init__(self, terms, flags, features: int, outputs: int, blocks: Blocks):
        super().__init__(terms, flags, features, outputs)
        self.softmax = 0.0  # whether outputs are classes that exclude each other, under one loss
        self.members, self.starts = np.zeros(0, np.uint32), np.zeros(0, np.uint64)
        self.squares = np.zeros(0)
        self.take_blocks(blocks)

    def take_blocks(self, blocks: Blocks) -> None:
        """Groups from now on; what was learnt stays, as it belongs to columns."""
        members, starts = blocks.members.astype(np.uint32), blocks.starts
        # Groups that stay keep their squares to the bit; new columns come in groups behind them.
        known = len(self.starts)
        stay = (
            known
            and np.array_equal(starts[:known], self.starts)
            and np.array_equal(members[: len(self.members)], self.members)
        )
        squares = self.squares if stay else None
        self.members, self.starts = members, starts
        self.prices = np.column_stack((blocks.weights, blocks.l1_weights))
        self.overlap = blocks.overlap
        self._invert()
        if squares is not None and len(squares) and self.quick:
            self.squares = np.r_[squares, np.zeros(len(self.prices) - len(squares))]
        else:
            self.renew()

    @property
    def grouped(self) -> int:
        """Number of columns that the groups were made for."""
        return len(self.owner_starts) - 1 if len(self.owner_starts) else len(self.owners)

    @property
    def quick(self) -> bool:
        """Whether no cell is ever trimmed, so that squares of the groups can be kept."""
        penalty = self.terms[1]
        return not penalty.has_l1() and not penalty.positive

    def _invert(self) -> None:
        """For each column the groups that hold it."""
        groups = np.arange(len(self.prices), dtype=np.uint32)
        owner = np.repeat(groups, np.diff(self.starts).astype(np.int64))
        order = np.argsort(self.members, kind="stable")
        self.owners, self.owner_starts = owner[order], np.zeros(0, dtype=np.uint64)
        self.ordered = len(self.members) == self.features and bool(
            (np.diff(self.members.astype(np.int64)) == 1).all()
        )
        if self.overlap > 1:
            counts = np.bincount(self.members, minlength=self.features)
            self.owner_starts = np.r_[0, np.cumsum(counts)].astype(np.uint64)

    def renew(self) -> None:
        """Squared norms of the groups, kept where no cell is trimmed."""
        self.squares = np.zeros(len(self.prices) if self.quick else 0)
        if len(self.squares) and self.state.any():
            many = np.uint64(self.outputs)
            sum_squares(self._memory(), self._groups(), self.terms[1], many)

    def _groups(self) -> Groups:
        members = self.members[:0] if self.ordered else self.members
        return Groups(members, self.starts, self.prices, self.owners, self.owner_starts)

    def _memory(self) -> Memory:
        # Zeros cost nothing before they are touched.
        scratch = np.zeros((len(self.prices), 2))
        return Memory(self.state, self.bias, self.costs[0], self.squares, scratch)

    def _form(self) -> Form:
        softmax = self.softmax and isinstance(self.terms[0], Logistic)
        overlap, outputs = float(self.overlap), float(self.outputs)
        intercept, eta, alpha = self.flags
        return Form(intercept, eta, alpha, float(softmax), 1.0, overlap, outputs)

    def _clocks(self) -> tuple:
        return self.lazy, self.stats, self._form()

    def _restored(self) -> None:
        """Refuse groups that leave a column out; make what follows from them."""
        super()._restored()
        counts = np.bincount(self.members, minlength=self.features)
        if not counts.all():
            raise ValueError("a column is in no group")
        self.overlap = int(counts.max())
        self._invert()
        if len(self.squares) != (len(self.prices) if self.quick else 0):
            raise ValueError(f"{len(self.squares)} squares of {len(self.prices)} groups")

    def _learn_span(self, rows, coded: EncodedTargets, weights, span):
        self._walked(learn_groups, rows, coded, weights, span)

    def _walked(self, walk, rows: Csr, *given) -> None:
        """Make a walk over rows, and take its clocks."""
        engine = (self._memory(), self._groups(), *self.terms, *self._clocks())
        after = walk(rows[:3], *given, *engine)
        clocks: Any = (tuple(map(float, clock)) for clock in after)
        self.lazy, self.stats = clocks

    def score(self, rows: Csr, tasks=NO_TASKS) -> np.ndarray:
        """Scores of the rows, (rows, outputs), or those of each row's task."""
        width = int(self._form().width) if len(tasks) else self.outputs
        scores, memory = np.empty((rows.n_rows, width)), self._memory()._replace(squares=NO_SQUARES)
        given = (self._groups(), *self.terms[1:], *self._clocks())
        score_groups(rows[:3], tasks, memory, *given, scores)
        return scores

    def weights(self) -> np.ndarray:
        """All weights, (outputs, features)."""
        return self._written()[0]

    def factors(self) -> np.ndarray:
        """What is left of each group, 0 where it is gone."""
        return self._written()[1]

    def _written(self) -> tuple[np.ndarray, np.ndarray]:
        weights, factors = np.zeros((self.outputs, self.features)), np.zeros(len(self.prices))
        given = (self._groups(), *self.terms[1:], *self._clocks())
        write_group_weights(self.state, *given, weights, factors)
        return weights, factors

    def count(self, columns=None) -> int:
        """Number of nonzero weights: of all columns, or of `columns`, where no others have any."""
        if columns is None:
            return self._list(0)[0]
        given = (self._memory(), self._groups(), *self.terms[1:], *self._clocks())
        return int(count_group_weights(*given, columns))

    def _list(self, room):
        weights = self.weights().T.ravel()
        cells = np.flatnonzero(weights)
        return len(cells), cells, weights[cells]

    def _set_outputs(self, sources, signs) -> None:
        """As in `Engine`; the blocks then reach over the new outputs."""
        super()._set_outputs(sources, signs)
        self.renew()

    def constants(self) -> tuple[float, float]:  # type: ignore[override]
        """The divisor beta and the strength alpha as they stand."""
        _, penalty, _, learning_rate = self.terms
        t, (intercept, automatic, auto_alpha) = max(self.lazy[0], 1.0), self.flags
        longest = (
            self.lazy[3] * self.overlap * (1.0 + INTERCEPT_STEP_RATIO * intercept)
            if automatic
            else 1.0
        )
        unit = self.stats[0] * self.stats[1] if auto_alpha else 1.0
        return longest / learning_rate.step_size(t, 0.0, 0.0), penalty.alpha * unit

    def row_calls(self, rows: Csr, coded: EncodedTargets, weights) -> RowCalls:
        """Calls on the one row of these arrays, good for as long as the terms stay."""
        given = (rows[:3], coded, weights, FIRST, self._memory(), self._groups(), *self.terms)
        form = self._form()
        walk = learn_groups.prepared(*given, self.lazy, self.stats, form)

        def learn() -> None:
            # The room for a row may hold earlier ones: their stamps are older.
            self.lazy, self.stats = walk(*given, self.lazy, self.stats, form)

        return RowCalls(learn, lambda: self.score(rows))
