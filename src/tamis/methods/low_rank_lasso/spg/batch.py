"""Spectral projected gradient iterations of a batch of targets that share products with V."""

from typing import ClassVar

import numpy as np

from tamis.methods.low_rank_lasso.spg.loop import (
    project_rows,
    projected_directions,
    update_and_measure_rows,
)
from tamis.methods.low_rank_lasso.spg.polish import polish

N_RECENT_VALUES = 10  # objectives whose maximum the nonmonotone line search compares with
ARMIJO = 1e-4  # required decrease, as a fraction of the linear prediction
MIN_STEP, MAX_STEP = 1e-10, 1e10  # bounds of a spectral step
RECOMPUTE_INTERVAL = 50  # iterations between computations of the residuals from the weights
MAX_BACKTRACKS = 40  # trial steps of a line search


class BatchSolutions:
    """Solutions of some targets: weights as (columns, values), and one number per statistic."""

    STATISTICS: ClassVar[tuple] = (
        "rho",
        "objective",
        "gap",
        "nu",
        "iterations",
        "converged",
        "closed",
        "radius",
        "length",
    )

    def __init__(self, count: int, width: int, dtype):
        self.rows: list = [(np.zeros(0, np.int32), np.zeros(0, dtype))] * count
        self.statistics = {name: np.zeros(count) for name in self.STATISTICS}

    def store(self, target: int, weights, **statistics) -> None:
        """Store the solution of one target."""
        columns = np.flatnonzero(weights).astype(np.int32)
        self.rows[target] = columns, weights[columns]
        for name, value in statistics.items():
            self.statistics[name][target] = value


class Batch:
    """Targets that are solved together; each is added with a start, and removed when its duality
    gap is small.

    Arrays have one row for each target: the first `count` of `rows` rows are in use. `B` holds the
    weights b, `D` the directions d, `R` the residuals ``c - V'b``, `VD` the products ``V'd``, `mu`
    the dual variables ``R / rho`` and `A` the products ``V mu``.
    """

    # One number for each target, as an attribute of `count` entries: radius, residual outside the
    # range of U, norm of y, objective f, residual norm rho, b'b, b'd, d'd, eta / ||b||, step of the
    # projected gradient, step of the line search, number of steps, whether the line search failed.
    SCALARS: ClassVar[tuple] = (
        "radius",
        "fixed_residual",
        "norm",
        "f",
        "rho",
        "bb",
        "bd",
        "dd",
        "shrinkage",
        "spectral_step",
        "line_step",
        "n_steps",
        "line_search_failed",
    )

    def __init__(self, V, targets, radius, options, rows: int, solutions: BatchSolutions):
        self.V, self.V_T, self.targets, self.radii = V, V.T, targets, radius
        self.options, self.solutions = options, solutions
        self.count, self.n_iterations = 0, 0
        width, k = V.shape
        self.A, self.B, self.D = (np.zeros((rows, width), V.dtype) for _ in range(3))
        self.R, self.C, self.mu, self.VD = (np.zeros((rows, k)) for _ in range(4))
        self.recent_values = np.zeros((rows, N_RECENT_VALUES))
        self.target_indices, self.masked = np.zeros(rows, np.int64), np.zeros(rows, np.int64)
        self.scalars = {name: np.zeros(rows) for name in self.SCALARS}
        self.measures = np.zeros((rows, 3))

    def __getattr__(self, name):
        scalars = self.__dict__.get("scalars", {})
        if name in scalars:
            return scalars[name][: self.count]
        raise AttributeError(name)

    def _target_arrays(self) -> list:
        """Return all arrays with one row for each target."""
        blocks = [self.A, self.B, self.D, self.R, self.C, self.mu, self.VD, self.recent_values]
        return [*blocks, self.target_indices, self.masked, *self.scalars.values()]

    # ------------------------------------------------------------------ adding targets
    def add_targets(self, new, unconstrained, radius_fraction) -> None:
        """Add new targets, given their solutions without the L1 bound: store those that satisfy the
        bound, and start the other targets from the projections.
        """
        targets, eta = self.targets.select(new), self.options.eta
        l1_norms = np.abs(unconstrained).sum(axis=1, dtype=np.float64)
        radius = self.radii[new] if radius_fraction is None else radius_fraction * l1_norms
        is_feasible = (l1_norms <= radius) & (targets.masked < 0)
        if is_feasible.any():
            self._store_unconstrained(
                new[is_feasible], unconstrained[is_feasible], radius[is_feasible]
            )
        indices = np.flatnonzero(~is_feasible)
        if not len(indices):
            return
        targets, radius, start = targets.select(indices), radius[indices], unconstrained[indices]
        project_rows(start, radius, targets.masked)
        image = (start @ self.V).astype(np.float64)
        t, value = _scale_starts(targets, image, start, eta)
        no_better = np.flatnonzero(value >= targets.norm * (1.0 - 1e-12))
        if len(no_better):  # a step along the negative gradient at zero always improves
            gradient = (targets.C[no_better].astype(self.V.dtype)) @ self.V_T
            masked_rows = np.flatnonzero(targets.masked[no_better] >= 0)
            gradient[masked_rows, targets.masked[no_better][masked_rows]] = 0.0
            start[no_better] = (
                gradient * (radius[no_better] / np.abs(gradient).sum(axis=1))[:, None]
            )
            image[no_better] = start[no_better] @ self.V
            t[no_better], value[no_better] = _scale_starts(
                targets.select(no_better), image[no_better], start[no_better], eta
            )
        start = start * t[:, None].astype(self.V.dtype)
        self._append(new[indices], targets, radius, start, image * t[:, None], value)

    def _store_unconstrained(self, indices, weights, radius) -> None:
        """Store solutions for which the L1 bound is not active."""
        residuals = self.targets.C[indices] - (weights @ self.V).astype(np.float64)
        rho = np.sqrt(np.einsum("ij,ij->i", residuals, residuals) + self.targets.rest[indices] ** 2)
        length = np.linalg.norm(weights, axis=1).astype(np.float64)
        for k, target in enumerate(indices):
            statistics = {
                "rho": rho[k],
                "length": length[k],
                "objective": rho[k] + self.options.eta * length[k],
                "radius": radius[k],
            }
            self.solutions.store(int(target), weights[k], converged=1.0, closed=1.0, **statistics)

    def _append(self, new, targets, radius, start, image, value) -> None:
        """Append targets and their starts after the rows in use."""
        new_rows = slice(self.count, self.count + len(new))
        self.count += len(new)
        self.B[new_rows] = start
        self.D[new_rows] = 0.0
        self.C[new_rows] = targets.C
        self.R[new_rows] = targets.C - image
        self.target_indices[new_rows] = new
        self.masked[new_rows] = targets.masked
        self.recent_values[new_rows] = -np.inf
        statistics = {
            "radius": radius,
            "fixed_residual": targets.rest,
            "norm": targets.norm,
            "f": value,
        }
        statistics["rho"] = np.sqrt(
            np.einsum("ij,ij->i", self.R[new_rows], self.R[new_rows]) + targets.rest**2
        )
        for name, values in self.scalars.items():
            values[new_rows] = statistics.get(name, 0.0)

    # ------------------------------------------------------------------ iterations
    def iterate(self) -> None:
        """Remove the targets that are finished, and take one step for the others."""
        m, eta, options = self.count, self.options.eta, self.options
        self.n_iterations += 1
        if self.n_iterations % RECOMPUTE_INTERVAL == 0:
            self.R[:m] = self.C[:m] - self.B[:m] @ self.V - self.line_step[:, None] * self.VD[:m]
            self.rho[:] = np.sqrt(
                np.einsum("ij,ij->i", self.R[:m], self.R[:m]) + self.fixed_residual**2
            )
        new_mu = self.R[:m] / self.rho[:, None]
        np.matmul(new_mu.astype(self.V.dtype, copy=False), self.V_T, out=self.A[:m])
        blocks = self.A[:m], self.B[:m], self.D[:m]
        update_and_measure_rows(*blocks, self.line_step, eta, self.masked[:m], self.measures[:m])
        nu, dot, square = self.measures[:m].T
        length = np.sqrt(square)
        gap = self.radius * nu + eta * length - dot
        steps = self._spectral_steps(new_mu, length)
        self.mu[:m], self.bb[:], self.spectral_step[:] = new_mu, square, steps
        is_finished = (
            (gap <= options.tol * self.norm)
            | (self.n_steps >= options.max_iter)
            | (self.line_search_failed > 0)
        )
        if is_finished.any():
            self._remove_finished(is_finished, nu, gap, length)
        if self.count:
            self._take_step()

    def _spectral_steps(self, new_mu, length) -> np.ndarray:
        """Return the spectral steps of Barzilai and Borwein.

        The change of the gradient along d follows from mu and inner products with b.
        """
        m, eta = self.count, self.options.eta
        with np.errstate(divide="ignore", invalid="ignore"):
            norm_change = np.where(
                self.bb > 0.0,
                (self.bd + self.line_step * self.dd) / length - self.bd / np.sqrt(self.bb),
                0.0,
            )
            curvature = eta * norm_change - np.einsum("ij,ij->i", new_mu - self.mu[:m], self.VD[:m])
            steps = np.clip(self.line_step * self.dd / curvature, MIN_STEP, MAX_STEP)
            result = np.where(curvature > 0.0, steps, MAX_STEP)
            is_first = self.n_steps == 0
            if is_first.any():
                shrinkage = (eta / length[is_first])[:, None]
                gradient = shrinkage * self.B[:m][is_first] - self.A[:m][is_first]
                result[is_first] = 1.0 / np.abs(gradient).max(axis=1)
        return result

    def _take_step(self) -> None:
        """Compute the projected gradient directions, their products with V, and the steps."""
        m = self.count
        A, B, D = self.A[:m], self.B[:m], self.D[:m]
        self.shrinkage[:] = self.options.eta / np.sqrt(self.bb)
        projected_directions(
            A, B, D, self.spectral_step, self.shrinkage, self.radius, self.measures[:m]
        )
        derivative, self.bd[:], self.dd[:] = self.measures[:m].T
        self.VD[:m] = D @ self.V
        self.recent_values[np.arange(m), (self.n_steps % N_RECENT_VALUES).astype(int)] = self.f
        line_step, value = self._line_search(derivative, self.recent_values[:m].max(axis=1))
        self.line_step[:], self.f[:] = line_step, value
        self.line_search_failed[:] = line_step == 0.0
        self.n_steps[:] += 1.0
        self.R[:m] -= line_step[:, None] * self.VD[:m]
        self.rho[:] = np.sqrt(
            np.einsum("ij,ij->i", self.R[:m], self.R[:m]) + self.fixed_residual**2
        )

    def _line_search(self, derivative, ceiling):
        """Return steps with a sufficient decrease below the largest recent value, and the values; a
        step of 0 if the search failed.
        """
        m, eta = self.count, self.options.eta
        rr = np.einsum("ij,ij->i", self.R[:m], self.R[:m])
        rv = np.einsum("ij,ij->i", self.R[:m], self.VD[:m])
        vv = np.einsum("ij,ij->i", self.VD[:m], self.VD[:m])
        step = np.ones(m)
        for _ in range(MAX_BACKTRACKS):
            rho = np.sqrt(
                np.maximum(rr - 2.0 * step * rv + step * step * vv, 0.0) + self.fixed_residual**2
            )
            square = np.maximum(self.bb + 2.0 * step * self.bd + step * step * self.dd, 0.0)
            value = rho + eta * np.sqrt(square)
            is_too_high = value > ceiling + ARMIJO * step * derivative
            if not is_too_high.any():
                break
            with np.errstate(divide="ignore", invalid="ignore"):
                interpolated = (
                    -0.5 * step * step * derivative / (value - self.f - step * derivative)
                )
            is_safeguarded = (interpolated >= 0.1 * step) & (interpolated <= 0.9 * step)
            step = np.where(is_too_high, np.where(is_safeguarded, interpolated, 0.5 * step), step)
        else:
            step, value = np.where(is_too_high, 0.0, step), np.where(is_too_high, self.f, value)
        return step, value

    # ------------------------------------------------------------------ removing targets
    def _remove_finished(self, is_finished, nu, gap, length) -> None:
        """Store the solutions of finished targets, and move the last rows to their rows."""
        eta, tol = self.options.eta, self.options.tol
        for k in np.flatnonzero(is_finished):
            statistics = {
                "rho": self.rho[k],
                "length": length[k],
                "gap": gap[k],
                "nu": nu[k],
                "radius": self.radius[k],
                "iterations": self.n_steps[k],
            }
            statistics["objective"] = self.rho[k] + eta * length[k]
            weights = self.B[k]
            polished = polish(
                weights,
                self.V,
                self.C[k],
                self.fixed_residual[k],
                self.radius[k],
                eta,
                statistics["objective"],
            )
            if polished is not None:  # the gap shrinks by as much as the objective
                columns, values, objective = polished
                weights = np.zeros(len(weights), weights.dtype)
                weights[columns] = values
                new_length = float(np.linalg.norm(values))
                statistics |= {
                    "length": new_length,
                    "rho": objective - eta * new_length,
                    "objective": objective,
                }
                statistics["gap"] = max(gap[k] - (self.rho[k] + eta * length[k] - objective), 0.0)
            self.solutions.store(
                int(self.target_indices[k]),
                weights,
                converged=statistics["gap"] <= tol * self.norm[k],
                **statistics,
            )
        n_left = self.count - int(is_finished.sum())
        freed = np.flatnonzero(is_finished[:n_left])
        movers = n_left + np.flatnonzero(~is_finished[n_left:])
        for array in self._target_arrays():
            array[freed] = array[movers]
        self.count = n_left


def _scale_starts(targets, image, start, eta: float):
    """Return the best factor between 0 and 1 for each start, and its objective, by bisection on the
    derivative, which is increasing.
    """
    norms = np.linalg.norm(start, axis=1).astype(np.float64)
    cv, vv = np.einsum("ij,ij->i", targets.C, image), np.einsum("ij,ij->i", image, image)
    constant = np.einsum("ij,ij->i", targets.C, targets.C) + targets.rest**2

    def rho(t):
        return np.sqrt(np.maximum(constant - 2.0 * t * cv + t * t * vv, targets.rest**2))

    low, high = np.zeros(len(cv)), np.ones(len(cv))
    for _ in range(40):
        t = 0.5 * (low + high)
        is_rising = (t * vv - cv) / rho(t) + eta * norms > 0.0
        low, high = np.where(is_rising, low, t), np.where(is_rising, t, high)
    return high, rho(high) + eta * high * norms
