"""sDist: a metric that grows by boosting. Each step adds the sparse direction that best separates
neighbours of different classes.
"""

from typing import NamedTuple

import numpy as np
import scipy.sparse as sp

from tamis.methods.metric_learning.candidates import Candidates, Scaling
from tamis.methods.metric_learning.edges import (
    Laplacian,
    QuadraticForm,
    compute_margins,
    form_matrix,
)
from tamis.methods.metric_learning.screening import screen_columns
from tamis.methods.metric_learning.sparse_eigen import Direction, ExplicitForm, leading_direction
from tamis.methods.metric_learning.steps import (
    boosting_weights,
    line_search,
    mean_loss,
    metric_complexity,
    principal_components,
    t_statistic,
)
from tamis.solvers.neighbors import NeighborGraph, class_neighbors, euclidean_points, reduce_points

MAX_EXPLICIT_COLUMNS = 500  # up to which X'MX itself costs less than its products
MAX_SCALED_COPY = 1 << 23  # entries of a dense matrix that is copied scaled, in column order
COMPLEXITY_INTERVAL = 10  # accepted steps between two computations of the complexity
# Accepted steps before the first refresh: a metric of tiny rank would lose the neighbourhoods.
MIN_STEPS_BEFORE_REFRESH = 10


class SDistOptions(NamedTuple):
    """Parameters of the steps, resolved for the data. `bag_size` counts rows; `opp_per_class` says
    whether each other class has its neighbours.
    """

    n_neighbors: int
    rho: float
    cardinality: int | None
    max_iter: int
    learning_rate: float
    bag_size: int
    max_features: int | float | str | None
    refresh_every: int
    complexity: float
    max_order: int
    max_terms: int
    standardize: bool
    oob_z: float | None
    opp_per_class: bool
    screen: bool
    n_jobs: int


class SparseMetric(NamedTuple):
    """A learnt metric: its terms and their standard deviations, the loadings of each step, the
    records of the steps and of all attempts, and the columns that were candidates.
    """

    terms: list
    term_stds: np.ndarray
    loadings: sp.csc_array
    steps: list
    history: list
    candidates: np.ndarray


class Boost:
    """The state of a fit. `order` is the order in which rows are drawn into bags."""

    def __init__(
        self, matrix, codes, weights, order, options: SDistOptions, scaling: Scaling, random
    ) -> None:
        self.matrix, self.codes, self.weights, self.order = matrix, codes, weights, order
        self.options, self.scaling, self.random = options, scaling, random
        # The matrix in column order, and the scaling that still applies to it.
        self.column_matrix = sp.csc_array(matrix) if sp.issparse(matrix) else matrix
        self.column_scaling = scaling
        if not sp.issparse(matrix) and matrix.size <= MAX_SCALED_COPY:
            self.column_matrix, self.column_scaling = scaling.scale_matrix(matrix)
        columns = scaling.usable
        if options.screen:
            columns = screen_columns(matrix, codes, weights, order, scaling, random)
        self.candidates = Candidates(
            columns, options.max_order, options.max_terms, options.standardize
        )
        self.steps: list[dict] = []
        self.term_numbers: list[list[int]] = []  # of each step
        self.history: list[dict] = []
        self.margins = np.zeros(len(codes))
        self.edges: NeighborGraph  # set by find_neighbours

    # ------------------------------------------------------------------ neighbours
    def find_neighbours(self) -> None:
        """Search the neighbours in the metric so far and compute all margins from scratch, since
        the old margins belong to the old edges.
        """
        if self.steps:
            points = self.points()
            self.edges = self._class_edges(reduce_points(points))
            self.margins = compute_margins(self.edges, points)
        else:
            center, scale = self.scaling.center, self.scaling.scale
            self.edges = self._class_edges(
                euclidean_points(self.matrix, center, scale, self.candidates.columns, self.random)
            )

    def _class_edges(self, points) -> NeighborGraph:
        options = self.options
        return class_neighbors(
            points,
            self.codes,
            options.n_neighbors,
            per_class=options.opp_per_class,
            n_jobs=options.n_jobs,
        )

    def points(self, matrix=None) -> np.ndarray:
        """Return rows as points whose Euclidean distances are those of the metric so far."""
        terms = list(self.candidates.selected)
        components = principal_components(self.loadings().toarray())
        term_stds = self.candidates.term_stds(terms)
        if matrix is None:
            return self.column_scaling.project(self.column_matrix, terms, term_stds, components)
        return self.scaling.project(matrix, terms, term_stds, components)

    def loadings(self, n_steps: int | None = None) -> sp.csc_array:
        """Return the matrix B of shape (terms, steps), W = BB', of the first steps or of all."""
        steps = self.steps[:n_steps]
        data = np.concatenate(
            [np.sqrt(step["weight"]) * np.asarray(step["loadings"]) for step in steps]
        )
        rows = np.concatenate(self.term_numbers[: len(steps)])
        indptr = np.cumsum([0, *(len(step["loadings"]) for step in steps)])
        return sp.csc_array((data, rows, indptr), shape=(len(self.candidates.selected), len(steps)))

    # ------------------------------------------------------------------ steps
    def step(self) -> str:
        """Draw a bag of rows and columns, find a direction and weigh it; return the status."""
        row_weights = boosting_weights(self.weights, self.margins)
        bag_size, order = self.options.bag_size, self.order
        if bag_size < len(order):
            order = order[self.random.permutation(len(order))]
        bag, out_of_bag = np.sort(order[:bag_size]), order[bag_size:]
        columns = self._draw_columns()
        laplacian = Laplacian(self.edges, bag, row_weights[bag])
        direction, projection = self._find_direction(laplacian, columns)
        if not direction.value > 0.0:
            return self._record_attempt("no gain")
        margin_gains = compute_margins(self.edges, projection)
        search_rows: slice | np.ndarray = slice(None)
        oob_z = None
        if self.options.oob_z is not None and len(out_of_bag) > 1:
            oob_z = t_statistic(row_weights[out_of_bag] * margin_gains[out_of_bag])
            search_rows = out_of_bag
            if not oob_z >= self.options.oob_z:
                return self._record_attempt("screened", oob_z)
        weight, status = line_search(row_weights[search_rows], margin_gains[search_rows])
        if weight > 0.0:
            self.add_direction(
                columns, direction, self.options.learning_rate * weight, margin_gains
            )
        return self._record_attempt(status, oob_z)

    def _draw_columns(self) -> np.ndarray:
        """Return the indices of the candidates that this step may use."""
        n_candidates, max_features = len(self.candidates), self.options.max_features
        if max_features is None:
            return np.arange(n_candidates)
        if max_features == "sqrt":
            size = int(np.ceil(np.sqrt(n_candidates)))
        elif isinstance(max_features, int):
            size = max_features
        else:
            size = int(np.ceil(max_features * n_candidates))
        if size >= n_candidates:
            return np.arange(n_candidates)
        return np.sort(self.random.choice(n_candidates, size, replace=False))

    def cardinality(self, n_columns: int) -> int:
        """Return the largest number of entries of a direction among so many columns."""
        cardinality = self.options.cardinality
        return min(n_columns, cardinality or max(1, int(np.ceil(self.options.rho * n_columns))))

    def _find_direction(self, laplacian: Laplacian, columns) -> tuple[Direction, np.ndarray]:
        """Return the sparse direction over the drawn columns, and the projection of all rows."""
        cardinality = self.cardinality(len(columns))
        if len(columns) > MAX_EXPLICIT_COLUMNS:
            direction = leading_direction(self._quadratic_form(laplacian, columns), cardinality)
            return direction, self._values(columns[direction.indices]) @ direction.entries
        block = self._values(columns)
        direction = leading_direction(ExplicitForm(form_matrix(block, laplacian)), cardinality)
        return direction, block[:, direction.indices] @ direction.entries

    def _values(self, columns) -> np.ndarray:
        """Return the values of candidates on the training rows."""
        return self.candidates.values(
            self.column_scaling, self.column_matrix, self.weights, columns
        )

    def _quadratic_form(self, laplacian: Laplacian, columns) -> QuadraticForm:
        """Return the form over many candidates: it reads X itself where they include all columns,
        and stays sparse where X is sparse.
        """
        singles = columns[columns < len(self.candidates.columns)]
        all_columns = len(singles) == self.matrix.shape[1]
        block = (
            self.column_matrix
            if all_columns
            else self.column_matrix[:, self.candidates.columns[singles]]
        )
        factors = 1.0 / self.column_scaling.scale[self.candidates.columns[singles]]
        if len(singles) == len(columns):
            return QuadraticForm(block, factors, laplacian)
        products = self._values(columns[len(singles) :])
        block = (
            sp.csc_array(sp.hstack([block, sp.csc_array(products)]))
            if sp.issparse(block)
            else np.hstack([block, products])
        )
        factors = np.concatenate([factors, np.ones(products.shape[1])])
        return QuadraticForm(block, factors, laplacian)

    def add_direction(
        self, columns, direction: Direction, weight: float, margin_gains: np.ndarray
    ) -> None:
        """Add a direction over the drawn columns to the metric."""
        entries, is_nonzero = direction.entries, direction.entries != 0.0
        terms = [self.candidates.term(index) for index in columns[direction.indices[is_nonzero]]]
        self.term_numbers.append(self.candidates.select(terms))
        self.margins = self.margins + weight * margin_gains
        self.steps.append(
            {"terms": terms, "loadings": entries[is_nonzero].tolist(), "weight": weight}
        )

    def _record_attempt(self, status: str, oob_z: float | None = None) -> str:
        """Add an attempt to the history, complete the record of an accepted step, and return the
        status.
        """
        loss = mean_loss(self.weights, self.margins)
        self.history.append(
            {
                "step": len(self.history) + 1,
                "status": status,
                "loss": loss,
                "oob_z": oob_z,
                "accepted": len(self.steps),
            }
        )
        if status in ("accepted", "capped"):
            self.steps[-1] |= {"loss": loss, "status": status, "complexity": None}
        return status

    # ------------------------------------------------------------------ the fit
    def run(self, progress, early_stopping=None) -> None:
        """Take all steps. `early_stopping` is called every 10 accepted steps and may end the
        fit.
        """
        self.find_neighbours()
        edges_current = True
        for attempt in range(self.options.max_iter):
            if (
                not edges_current
                and len(self.steps) >= MIN_STEPS_BEFORE_REFRESH
                and self._is_refresh_due(attempt)
            ):
                self.find_neighbours()
                edges_current = True
            accepted = self.step() in ("accepted", "capped")
            edges_current = edges_current and not accepted
            if accepted and len(self.steps) % COMPLEXITY_INTERVAL == 0:
                self._record_complexity()
                if early_stopping is not None and early_stopping(self):
                    break
            progress.advance(
                1, f"{len(self.steps)} accepted, {len(self.candidates.selected)} terms"
            )
        if not self.steps:
            self._add_fallback()
        self._record_complexity()
        if early_stopping is not None and len(self.steps) % COMPLEXITY_INTERVAL:
            early_stopping(self)

    def _is_refresh_due(self, attempt: int) -> bool:
        interval = self.options.refresh_every
        return interval > 0 and attempt > 0 and attempt % interval == 0

    def _record_complexity(self) -> None:
        """Record the complexity of the metric so far with its last step."""
        if self.steps[-1]["complexity"] is None:
            self.steps[-1]["complexity"] = metric_complexity(self.loadings())

    def _add_fallback(self) -> None:
        """Add the best direction of all rows and columns where no step was accepted."""
        all_rows = np.arange(len(self.codes))
        row_weights = boosting_weights(self.weights, self.margins)
        columns = np.arange(len(self.candidates.columns))
        form = self._quadratic_form(Laplacian(self.edges, all_rows, row_weights), columns)
        direction = leading_direction(form, self.cardinality(len(columns)))
        projection = self._values(columns[direction.indices]) @ direction.entries
        margin_gains = compute_margins(self.edges, projection)
        self.add_direction(columns, direction, 1.0, margin_gains)
        self.steps[-1] |= {
            "loss": mean_loss(self.weights, self.margins),
            "status": "fallback",
            "complexity": None,
        }

    def best_n_steps(self) -> int:
        """Return the number of steps that minimises the loss of all rows plus `complexity` times
        the complexity of the metric.
        """
        total_weight = self.weights.sum()
        recorded = [j for j, step in enumerate(self.steps) if step["complexity"] is not None]
        costs = [
            total_weight * self.steps[j]["loss"]
            + self.options.complexity * self.steps[j]["complexity"]
            for j in recorded
        ]
        return recorded[int(np.argmin(costs))] + 1

    def metric(self, n_steps: int) -> SparseMetric:
        """Return the metric of the first steps."""
        loadings = self.loadings(n_steps)
        used = np.unique(loadings.indices)
        selected = list(self.candidates.selected)
        terms = [selected[number] for number in used]
        return SparseMetric(
            terms,
            self.candidates.term_stds(terms),
            sp.csc_array(loadings.tocsr()[used]),
            self.steps[:n_steps],
            self.history,
            self.candidates.columns,
        )
