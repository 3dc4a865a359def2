"""Other processes that may be looked at whenever one likes, on the same blocks as the e-values."""

import numpy as np
from scipy.special import betaln

from tamis.selection.anytime.evidence import PendingRows, StreamEvidence, _solve_ridge

FIXED, OURS, SIGNS, UNIVERSAL = "fixed n", "e-values", "signs", "universal"


class Watched(StreamEvidence):
    """Evidence with rivals: a bet on the signs of the products, and universal inference (numbers
    only, under normal noise).
    """

    watched = False

    def watch(self, first: PendingRows) -> None:
        """Begin the rivals after the first rows."""
        self.watched = True
        count, wide = self.places.shape
        self.ups, self.likely, self.spread = np.zeros(count), np.zeros(count), np.zeros(count)
        # Products of the tested rows' controls with themselves and y, and of y with itself.
        self.tested, self.squared = np.zeros((count, wide, wide + 1)), 0.0
        # The running fits with the column, to all rows.
        self.products = np.zeros((count, wide + 1, wide + 1))
        self.with_it = np.zeros((count, wide + 1))
        self.n_fitted = len(first)
        sheet, y = self._design(first.rows), first.targets[:, 0]
        for k in range(count):
            both = self._with_column(k, sheet)
            self.products[k] = both.T @ both
            self.with_it[k] = _solve_ridge(self.products[k], both.T @ y)
            self.spread[k] = np.square(y - both @ self.with_it[k]).sum()

    def _with_column(self, k: int, sheet: np.ndarray) -> np.ndarray:
        return np.column_stack([sheet[:, self.places[k]], sheet[:, self._column_index(k)]])

    def _learn_block(self, sheet: np.ndarray, targets: np.ndarray) -> None:
        if self.watched:
            y = targets[:, 0]
            for k in range(len(self.places)):
                self._watch_block(k, sheet, y)
            self.squared += y @ y
            self.n_fitted += len(y)
        super()._learn_block(sheet, targets)

    def _watch_block(self, k: int, sheet: np.ndarray, y: np.ndarray) -> None:
        """Signs, and the likelihood of a block under the fit with the column to all before."""
        controls, both = sheet[:, self.places[k]], self._with_column(k, sheet)
        left = both[:, -1] - controls @ self.fits[k]
        self.ups[k] += np.count_nonzero(left * self._residuals(k, controls, y)[0] > 0.0)
        variance, rest = self.spread[k] / self.n_fitted, y - both @ self.with_it[k]
        self.likely[k] -= 0.5 * (rest @ rest / variance + len(y) * np.log(variance))
        self.spread[k] += rest @ rest
        self.products[k] += both.T @ both
        self.with_it[k] += _solve_ridge(self.products[k], both.T @ rest)
        self.tested[k] += controls.T @ np.column_stack([controls, y])

    def looks(self) -> dict[str, np.ndarray]:
        """z of the fixed-n test, and logarithms of the e-values of all processes."""
        rows = self.n_tested
        found = {
            FIXED: self.sums / np.sqrt(np.where(self.squares > 0.0, self.squares, np.inf)),
            OURS: self.log_evalues(),
        }
        if not self.watched:
            return found
        bet = betaln(self.ups + 0.5, rows - self.ups + 0.5) - betaln(0.5, 0.5)
        best = np.full(len(self.tests), np.inf)
        for k, own in enumerate(self.tested if rows > 2 * self.tested.shape[1] else []):
            left = self.squared - own[:, -1] @ _solve_ridge(own[:, :-1], own[:, -1])
            best[k] = -0.5 * rows * (1.0 + np.log(max(left, 1e-9) / rows))
        return {**found, SIGNS: bet + rows * np.log(2.0), UNIVERSAL: self.likely - best}
