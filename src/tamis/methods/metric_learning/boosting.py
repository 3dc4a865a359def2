"""sDist: a metric grown step by step, each the sparse direction that best parts neighbours of
unlike class.
"""

from typing import NamedTuple

import numpy as np
import scipy.sparse as sp

from tamis.methods.metric_learning.candidates import Candidates, Scaling
from tamis.methods.metric_learning.edges import (
    EXPLICIT,
    Laplacian,
    Quadratic,
    explicit_form,
    margins_of,
)
from tamis.methods.metric_learning.screening import passing_columns
from tamis.methods.metric_learning.sparse_eigen import Direction, Explicit, leading_direction
from tamis.methods.metric_learning.steps import (
    complexity_of,
    components_of,
    line_search,
    masses,
    mean_loss,
    surplus,
)
from tamis.solvers.neighbors import Edges, class_edges, euclidean_points, narrow

SCALED = 1 << 23  # numbers of dense rows that are scaled once, in a copy by columns
RECORD = 10  # accepted steps between two looks at the complexity
# accepted steps before the first refresh: a metric of tiny rank would throw the neighbourhoods away
SETTLED = 10


class Options(NamedTuple):
    """What the user asked for; `bag` counts rows, `each` is whether neighbours are sought in every
    other class.
    """

    n_neighbors: int
    rho: float
    cardinality: int | None
    max_iter: int
    learning_rate: float
    bag: int
    max_features: int | float | str | None
    refresh_every: int
    complexity: float
    max_order: int
    max_terms: int
    standardize: bool
    oob_z: float | None
    each: bool
    screen: bool
    n_jobs: int


class Metric(NamedTuple):
    """A learnt metric: terms, their deviations, the loadings of each step, what happened, and the
    columns that were candidates.
    """

    terms: list
    spreads: np.ndarray
    loadings: sp.csc_array
    steps: list
    history: list
    candidates: np.ndarray


class Boost:
    """The state of a fit; `order` is that in which rows are drawn into bags."""

    def __init__(
        self, matrix, codes, weights, order, options: Options, scaling: Scaling, random
    ) -> None:
        self.matrix, self.codes, self.weights, self.order = matrix, codes, weights, order
        self.options, self.scaling, self.random = options, scaling, random
        self.columns, self.inside = sp.csc_array(matrix) if sp.issparse(matrix) else matrix, scaling
        if not sp.issparse(matrix) and matrix.size <= SCALED:
            self.columns, self.inside = scaling.applied(matrix)
        wanted = scaling.usable
        if options.screen:
            wanted = passing_columns(matrix, codes, weights, order, scaling, random)
        self.candidates = Candidates(
            wanted, options.max_order, options.max_terms, options.standardize
        )
        self.steps: list[dict] = []
        self.numbers: list[list[int]] = []  # of the terms of each step
        self.history: list[dict] = []
        self.margins = np.zeros(len(codes))
        self.edges: Edges  # from the first search on

    # ------------------------------------------------------------------ neighbours
    def find_neighbours(self) -> None:
        """Neighbours in the metric so far, and all margins from scratch: the old ones belong to the
        old edges.
        """
        if self.steps:
            points = self.points()
            self.edges = self._edges(narrow(points))
            self.margins = margins_of(self.edges, points)
        else:
            center, scale = self.scaling.center, self.scaling.scale
            self.edges = self._edges(
                euclidean_points(self.matrix, center, scale, self.candidates.columns, self.random)
            )

    def _edges(self, points) -> Edges:
        asked = self.options
        return class_edges(
            points, self.codes, asked.n_neighbors, each=asked.each, n_jobs=asked.n_jobs
        )

    def points(self, matrix=None) -> np.ndarray:
        """Rows as points whose distances are the metric's."""
        terms = list(self.candidates.selected)
        components = components_of(self.loadings().toarray())
        spreads = self.candidates.spreads(terms)
        if matrix is None:
            return self.inside.projected(self.columns, terms, spreads, components)
        return self.scaling.projected(matrix, terms, spreads, components)

    def loadings(self, steps: int | None = None) -> sp.csc_array:
        """The matrix B of shape (terms, steps), W = BB'."""
        chosen = self.steps[:steps]
        data = np.concatenate(
            [np.sqrt(step["weight"]) * np.asarray(step["loadings"]) for step in chosen]
        )
        rows = np.concatenate(self.numbers[: len(chosen)])
        ends = np.cumsum([0, *(len(step["loadings"]) for step in chosen)])
        return sp.csc_array((data, rows, ends), shape=(len(self.candidates.selected), len(chosen)))

    # ------------------------------------------------------------------ steps
    def step(self) -> str:
        """Draw a bag and columns, find a direction, weigh it; the word says what came of it."""
        mass, size = masses(self.weights, self.margins), self.options.bag
        drawn = self.order
        if size < len(drawn):
            drawn = drawn[self.random.permutation(len(drawn))]
        bag, outside = np.sort(drawn[:size]), drawn[size:]
        places = self._draw()
        found, projection = self._direction(Laplacian(self.edges, bag, mass[bag]), places)
        if not found.value > 0.0:
            return self._note("no gain")
        gains = margins_of(self.edges, projection)
        judges: slice | np.ndarray = slice(None)
        test = None
        if self.options.oob_z is not None and len(outside) > 1:
            test = surplus(mass[outside] * gains[outside])
            judges = outside
            if not test >= self.options.oob_z:
                return self._note("screened", test)
        weight, word = line_search(mass[judges], gains[judges])
        if weight > 0.0:
            self.accept(places, found, self.options.learning_rate * weight, gains)
        return self._note(word, test)

    def _draw(self) -> np.ndarray:
        """Places of the candidates that this step may use."""
        count, asked = len(self.candidates), self.options.max_features
        if asked is None:
            return np.arange(count)
        if asked == "sqrt":
            size = int(np.ceil(np.sqrt(count)))
        else:
            size = asked if isinstance(asked, int) else int(np.ceil(asked * count))
        if size >= count:
            return np.arange(count)
        return np.sort(self.random.choice(count, size, replace=False))

    def cardinality(self, width: int) -> int:
        """Most entries of a direction among so many columns."""
        asked = self.options.cardinality
        return min(width, asked or max(1, int(np.ceil(self.options.rho * width))))

    def _direction(self, laplacian: Laplacian, places) -> tuple[Direction, np.ndarray]:
        """The sparse direction of the drawn columns, and all rows along it."""
        cardinality = self.cardinality(len(places))
        if len(places) > EXPLICIT:
            found = leading_direction(self._quadratic(laplacian, places), cardinality)
            return found, self._block(places[found.places]) @ found.entries
        block = self._block(places)
        found = leading_direction(Explicit(explicit_form(block, laplacian)), cardinality)
        return found, block[:, found.places] @ found.entries

    def _block(self, places) -> np.ndarray:
        return self.candidates.values(self.inside, self.columns, self.weights, places)

    def _quadratic(self, laplacian: Laplacian, places) -> Quadratic:
        """The form over many columns: over X itself where all of it is asked for, and sparse where
        X is.
        """
        singles = places[places < len(self.candidates.columns)]
        whole = len(singles) == self.matrix.shape[1]
        block = self.columns if whole else self.columns[:, self.candidates.columns[singles]]
        factors = 1.0 / self.inside.scale[self.candidates.columns[singles]]
        if len(singles) == len(places):
            return Quadratic(block, factors, laplacian)
        products = self._block(places[len(singles) :])
        block = (
            sp.csc_array(sp.hstack([block, sp.csc_array(products)]))
            if sp.issparse(block)
            else np.hstack([block, products])
        )
        return Quadratic(block, np.concatenate([factors, np.ones(products.shape[1])]), laplacian)

    def accept(self, places, found: Direction, weight: float, gains: np.ndarray) -> None:
        """Add the direction to the metric."""
        entries, kept = found.entries, found.entries != 0.0
        terms = [self.candidates.term(place) for place in places[found.places[kept]]]
        self.numbers.append(self.candidates.select(terms))
        self.margins = self.margins + weight * gains
        self.steps.append({"terms": terms, "loadings": entries[kept].tolist(), "weight": weight})

    def _note(self, word: str, test: float | None = None) -> str:
        loss = mean_loss(self.weights, self.margins)
        self.history.append(
            {
                "step": len(self.history) + 1,
                "status": word,
                "loss": loss,
                "oob_z": test,
                "accepted": len(self.steps),
            }
        )
        if word in ("accepted", "capped"):
            self.steps[-1] |= {"loss": loss, "status": word, "complexity": None}
        return word

    # ------------------------------------------------------------------ the whole
    def run(self, progress, watch=None) -> None:
        """All steps; `watch` looks at the metric now and then, and may end the fit."""
        self.find_neighbours()
        fresh = True
        for number in range(self.options.max_iter):
            if not fresh and len(self.steps) >= SETTLED and self._is_due(number):
                self.find_neighbours()
                fresh = True
            done = self.step() in ("accepted", "capped")
            fresh = fresh and not done
            if done and len(self.steps) % RECORD == 0:
                self._record()
                if watch is not None and watch(self):
                    break
            progress.advance(
                1, f"{len(self.steps)} accepted, {len(self.candidates.selected)} terms"
            )
        if not self.steps:
            self._fall_back()
        self._record()
        if watch is not None and len(self.steps) % RECORD:
            watch(self)

    def _is_due(self, number: int) -> bool:
        every = self.options.refresh_every
        return every > 0 and number > 0 and number % every == 0

    def _record(self) -> None:
        """Look at the complexity of the metric so far."""
        if self.steps[-1]["complexity"] is None:
            self.steps[-1]["complexity"] = complexity_of(self.loadings())

    def _fall_back(self) -> None:
        """No step was good enough: the best direction of all rows and columns, alone."""
        everything, mass = np.arange(len(self.codes)), masses(self.weights, self.margins)
        places = np.arange(len(self.candidates.columns))
        form = self._quadratic(Laplacian(self.edges, everything, mass), places)
        found = leading_direction(form, self.cardinality(len(places)))
        gains = margins_of(self.edges, self._block(places[found.places]) @ found.entries)
        self.accept(places, found, 1.0, gains)
        self.steps[-1] |= {
            "loss": mean_loss(self.weights, self.margins),
            "status": "fallback",
            "complexity": None,
        }

    def best_length(self) -> int:
        """Steps of least loss of all rows plus the price of complexity."""
        total = self.weights.sum()
        recorded = [at for at, step in enumerate(self.steps) if step["complexity"] is not None]
        costs = [
            total * self.steps[at]["loss"] + self.options.complexity * self.steps[at]["complexity"]
            for at in recorded
        ]
        return recorded[int(np.argmin(costs))] + 1

    def metric(self, length: int) -> Metric:
        """The metric of the first steps."""
        loadings = self.loadings(length)
        used = np.unique(loadings.indices)
        names = list(self.candidates.selected)
        terms = [names[at] for at in used]
        return Metric(
            terms,
            self.candidates.spreads(terms),
            sp.csc_array(loadings.tocsr()[used]),
            self.steps[:length],
            self.history,
            self.candidates.columns,
        )
