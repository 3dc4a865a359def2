"""A batch of targets that walk together: each admitted at its start, measured, moved, and let go
when its gap is closed.
"""

from typing import ClassVar

import numpy as np

from tamis.methods.low_rank_lasso.spg.loop import aim_rows, measure_rows, project_rows
from tamis.methods.low_rank_lasso.spg.polish import polish

MEMORY = 10  # last values that a step is held against
ARMIJO = 1e-4
LEAST, MOST = 1e-10, 1e10  # of a step
FRESH = 50  # steps after which residuals are made anew, against drift
TRIALS = 40  # of a line search


class Solved:
    """Solutions of some targets: rows as (columns, values), and figures."""

    FIGURES: ClassVar[tuple] = (
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
        self.figures = {name: np.zeros(count) for name in self.FIGURES}

    def put(self, target: int, weights, **figures) -> None:
        """Store one target's solution."""
        columns = np.flatnonzero(weights).astype(np.int32)
        self.rows[target] = columns, weights[columns]
        for name, value in figures.items():
            self.figures[name][target] = value


class Batch:
    """The targets that are being solved for; arrays have room for `rows` of them, the first `count`
    rows are in use.
    """

    def __init__(self, V, targets, radius, rules, rows: int, solved: Solved):
        self.V, self.turned, self.targets, self.radii = V, V.T, targets, radius
        self.rules, self.solved = rules, solved
        self.count, self.turn = 0, 0
        width, k = V.shape
        self.A, self.B, self.D = (np.zeros((rows, width), V.dtype) for _ in range(3))
        self.R, self.C, self.mu, self.VD = (np.zeros((rows, k)) for _ in range(4))
        self.recent = np.zeros((rows, MEMORY))
        self.number, self.masked = np.zeros(rows, np.int64), np.zeros(rows, np.int64)
        names = "radius rest norm f rho bb bd dd shrinkage step shift age stuck"
        self.single = {name: np.zeros(rows) for name in names.split()}
        self.marks = np.zeros((rows, 3))

    def __getattr__(self, name):
        single = self.__dict__.get("single", {})
        if name in single:
            return single[name][: self.count]
        raise AttributeError(name)

    def _rows(self) -> list:
        """All arrays that hold one row a target."""
        blocks = [self.A, self.B, self.D, self.R, self.C, self.mu, self.VD, self.recent]
        return [*blocks, self.number, self.masked, *self.single.values()]

    # ------------------------------------------------------------------ in
    def admit(self, new, free, share) -> None:
        """Take in targets with their solutions without a bound: where the bound is not met these
        are the answer, else the start is near them.
        """
        targets, eta = self.targets.picked(new), self.rules.eta
        sizes = np.abs(free).sum(axis=1, dtype=np.float64)
        radius = self.radii[new] if share is None else share * sizes
        slack = (sizes <= radius) & (targets.masked < 0)
        if slack.any():
            self._answer(new[slack], free[slack], radius[slack])
        left = np.flatnonzero(~slack)
        if not len(left):
            return
        targets, radius, start = targets.picked(left), radius[left], free[left]
        project_rows(start, radius, targets.masked)
        image = (start @ self.V).astype(np.float64)
        t, value = _along(targets, image, start, eta)
        poor = np.flatnonzero(value >= targets.norm * (1.0 - 1e-12))
        if len(poor):  # the slope at zero always leads down
            slope = (targets.C[poor].astype(self.V.dtype)) @ self.turned
            hidden = np.flatnonzero(targets.masked[poor] >= 0)
            slope[hidden, targets.masked[poor][hidden]] = 0.0
            start[poor] = slope * (radius[poor] / np.abs(slope).sum(axis=1))[:, None]
            image[poor] = start[poor] @ self.V
            t[poor], value[poor] = _along(targets.picked(poor), image[poor], start[poor], eta)
        start = start * t[:, None].astype(self.V.dtype)
        self._enter(new[left], targets, radius, start, image * t[:, None], value)

    def _answer(self, which, weights, radius) -> None:
        """Solutions that do not meet their bound."""
        left = self.targets.C[which] - (weights @ self.V).astype(np.float64)
        rho = np.sqrt(np.einsum("ij,ij->i", left, left) + self.targets.rest[which] ** 2)
        length = np.linalg.norm(weights, axis=1).astype(np.float64)
        for k, target in enumerate(which):
            figures = {
                "rho": rho[k],
                "length": length[k],
                "objective": rho[k] + self.rules.eta * length[k],
                "radius": radius[k],
            }
            self.solved.put(int(target), weights[k], converged=1.0, closed=1.0, **figures)

    def _enter(self, new, targets, radius, start, image, value) -> None:
        """Put started targets behind those that are there."""
        at = slice(self.count, self.count + len(new))
        self.count += len(new)
        self.B[at], self.D[at], self.C[at], self.R[at] = start, 0.0, targets.C, targets.C - image
        self.number[at], self.masked[at], self.recent[at] = new, targets.masked, -np.inf
        figures = {"radius": radius, "rest": targets.rest, "norm": targets.norm, "f": value}
        figures["rho"] = np.sqrt(np.einsum("ij,ij->i", self.R[at], self.R[at]) + targets.rest**2)
        for name, values in self.single.items():
            values[at] = figures.get(name, 0.0)

    # ------------------------------------------------------------------ on
    def advance(self) -> None:
        """One step of all targets; those whose gap is closed leave before it."""
        m, eta, rules = self.count, self.rules.eta, self.rules
        self.turn += 1
        if self.turn % FRESH == 0:
            self.R[:m] = self.C[:m] - self.B[:m] @ self.V - self.shift[:, None] * self.VD[:m]
            self.rho[:] = np.sqrt(np.einsum("ij,ij->i", self.R[:m], self.R[:m]) + self.rest**2)
        new = self.R[:m] / self.rho[:, None]
        np.matmul(new.astype(self.V.dtype, copy=False), self.turned, out=self.A[:m])
        blocks = self.A[:m], self.B[:m], self.D[:m]
        measure_rows(*blocks, self.shift, eta, self.masked[:m], self.marks[:m])
        nu, dot, square = self.marks[:m].T
        length = np.sqrt(square)
        gap = self.radius * nu + eta * length - dot
        steps = self._steps(new, length)
        self.mu[:m], self.bb[:], self.step[:] = new, square, steps
        done = (gap <= rules.tol * self.norm) | (self.age >= rules.max_iter) | (self.stuck > 0)
        if done.any():
            self._leave(done, nu, gap, length)
        if self.count:
            self._move()

    def _steps(self, new, length) -> np.ndarray:
        """Barzilai and Borwein's steps, of figures alone: the slope's change along d is known from
        mu and the products with b.
        """
        m, eta = self.count, self.rules.eta
        with np.errstate(divide="ignore", invalid="ignore"):
            turned = np.where(
                self.bb > 0.0,
                (self.bd + self.shift * self.dd) / length - self.bd / np.sqrt(self.bb),
                0.0,
            )
            curvature = eta * turned - np.einsum("ij,ij->i", new - self.mu[:m], self.VD[:m])
            steps = np.clip(self.shift * self.dd / curvature, LEAST, MOST)
            found = np.where(curvature > 0.0, steps, MOST)
            first = self.age == 0
            if first.any():
                shrinkage = (eta / length[first])[:, None]
                gradient = shrinkage * self.B[:m][first] - self.A[:m][first]
                found[first] = 1.0 / np.abs(gradient).max(axis=1)
        return found

    def _move(self) -> None:
        """Directions, their images, and how far to go along them."""
        m = self.count
        A, B, D = self.A[:m], self.B[:m], self.D[:m]
        self.shrinkage[:] = self.rules.eta / np.sqrt(self.bb)
        aim_rows(A, B, D, self.step, self.shrinkage, self.radius, self.marks[:m])
        slope, self.bd[:], self.dd[:] = self.marks[:m].T
        self.VD[:m] = D @ self.V
        self.recent[np.arange(m), (self.age % MEMORY).astype(int)] = self.f
        shift, value = self._search(slope, self.recent[:m].max(axis=1))
        self.shift[:], self.f[:] = shift, value
        self.stuck[:] = shift == 0.0
        self.age[:] += 1.0
        self.R[:m] -= shift[:, None] * self.VD[:m]
        self.rho[:] = np.sqrt(np.einsum("ij,ij->i", self.R[:m], self.R[:m]) + self.rest**2)

    def _search(self, slope, ceiling):
        """Steps that fall enough below the largest of the last values; 0 where none does."""
        m, eta = self.count, self.rules.eta
        rr = np.einsum("ij,ij->i", self.R[:m], self.R[:m])
        rv = np.einsum("ij,ij->i", self.R[:m], self.VD[:m])
        vv = np.einsum("ij,ij->i", self.VD[:m], self.VD[:m])
        e = np.ones(m)
        for _ in range(TRIALS):
            rho = np.sqrt(np.maximum(rr - 2.0 * e * rv + e * e * vv, 0.0) + self.rest**2)
            square = np.maximum(self.bb + 2.0 * e * self.bd + e * e * self.dd, 0.0)
            value = rho + eta * np.sqrt(square)
            bad = value > ceiling + ARMIJO * e * slope
            if not bad.any():
                break
            with np.errstate(divide="ignore", invalid="ignore"):
                guess = -0.5 * e * e * slope / (value - self.f - e * slope)
            good = (guess >= 0.1 * e) & (guess <= 0.9 * e)
            e = np.where(bad, np.where(good, guess, 0.5 * e), e)
        else:
            e, value = np.where(bad, 0.0, e), np.where(bad, self.f, value)
        return e, value

    # ------------------------------------------------------------------ out
    def _leave(self, done, nu, gap, length) -> None:
        """Store those that are done; the last rows fill their places."""
        eta, tol = self.rules.eta, self.rules.tol
        for k in np.flatnonzero(done):
            figures = {
                "rho": self.rho[k],
                "length": length[k],
                "gap": gap[k],
                "nu": nu[k],
                "radius": self.radius[k],
                "iterations": self.age[k],
            }
            figures["objective"] = self.rho[k] + eta * length[k]
            weights = self.B[k]
            better = polish(
                weights, self.V, self.C[k], self.rest[k], self.radius[k], eta, figures["objective"]
            )
            if better is not None:  # the gap shrinks by as much as the objective
                columns, values, objective = better
                weights = np.zeros(len(weights), weights.dtype)
                weights[columns] = values
                size = float(np.linalg.norm(values))
                figures |= {"length": size, "rho": objective - eta * size, "objective": objective}
                figures["gap"] = max(gap[k] - (self.rho[k] + eta * length[k] - objective), 0.0)
            self.solved.put(
                int(self.number[k]),
                weights,
                converged=figures["gap"] <= tol * self.norm[k],
                **figures,
            )
        left = self.count - int(done.sum())
        holes, movers = np.flatnonzero(done[:left]), left + np.flatnonzero(~done[left:])
        for array in self._rows():
            array[holes] = array[movers]
        self.count = left


def _along(targets, image, start, eta: float):
    """The best share of each start, between 0 and 1, and its value; by bisection of the slope,
    which rises.
    """
    lengths = np.linalg.norm(start, axis=1).astype(np.float64)
    cv, vv = np.einsum("ij,ij->i", targets.C, image), np.einsum("ij,ij->i", image, image)
    constant = np.einsum("ij,ij->i", targets.C, targets.C) + targets.rest**2

    def rho(t):
        return np.sqrt(np.maximum(constant - 2.0 * t * cv + t * t * vv, targets.rest**2))

    low, high = np.zeros(len(cv)), np.ones(len(cv))
    for _ in range(40):
        t = 0.5 * (low + high)
        rises = (t * vv - cv) / rho(t) + eta * lengths > 0.0
        low, high = np.where(rises, low, t), np.where(rises, t, high)
    return high, rho(high) + eta * high * lengths
