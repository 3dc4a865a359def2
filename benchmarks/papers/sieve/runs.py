"""The runs: every contestant on 80 % subsamples of every set's training rows, then the sieve at a
size held fixed, on noise, and in other units.
"""

import warnings

import numpy as np
from sklearn.metrics import r2_score
from sklearn.preprocessing import MaxAbsScaler, StandardScaler

from benchmarks.papers.sieve import sets
from benchmarks.papers.sieve.methods import FIXED, FTRL, METHODS, OWN, SIEVE, LeftOut, sieve
from benchmarks.papers.sieve.store import Store

SET, NOISE, UNITS = "set", "noise", "units"
NOISES = {"100 x 1,000": (100, 1_000, 50), "1,000 x 10,000": (1_000, 10_000, 20)}
SCALERS = {"StandardScaler": StandardScaler, "MaxAbsScaler": MaxAbsScaler}
SCALED = {
    "usps 3 / 8": tuple(SCALERS),
    "mnist 4 / 9": tuple(SCALERS),
    "ibm/mac": ("MaxAbsScaler",),
}
AS_GIVEN = "as given"


class Runs:
    """What is run and where it is kept; `edition` is the name that the sieve's results get."""

    def __init__(self, store: Store, folder, edition: str = SIEVE, runs: int = 3):
        self.store, self.folder, self.edition, self.runs = store, folder, edition, runs
        self.warmed: set = set()

    def fixed(self) -> str:
        """The name of this edition at a size held fixed."""
        return FIXED.replace(SIEVE, self.edition)

    def all_sets(self, names, methods) -> None:
        """Every contestant on every set."""
        for name in names:
            task = None
            for method in methods:
                label = self.edition if method == SIEVE else method
                for run in range(self.runs):
                    if self.store.get(SET, name, label, run) is None:
                        task = task or sets.read(name, self.folder)
                        if self._one(task, name, method, label, run):
                            break
            if SIEVE in methods:
                self._hold_size(task or sets.read(name, self.folder), name)

    def _one(self, task, name: str, method: str, label: str, run: int) -> bool:
        """One run of a contestant; True if it is left out."""
        self._warm(task, method)
        words = {"words": task.words(), "width": task.X.shape[1], "classes": task.classes}
        try:
            fitted = METHODS[method](*task.part(run), task.classes, run)
        except LeftOut as reason:
            self.store.keep(SET, name, label, run, left_out=str(reason), **words)
            print(f"{name}, {label}: left out, {reason}", flush=True)
            return True
        picks = {pick: judge(task, *found) for pick, found in fitted.items()}
        if method == SIEVE:
            picks[OWN]["rest"] = error_of(task.rest(run), fitted[OWN][0])
        self.store.keep(SET, name, label, run, picks=picks, **words)
        said = [
            f"{pick}: {p['error']:.4f} at {len(p['support']):,}, {p['seconds']:.2f} s"
            for pick, p in picks.items()
        ]
        print(f"{name}, {label}, run {run}: {'; '.join(said)}", flush=True)
        return False

    def _warm(self, task, method: str) -> None:
        """Compile before the clock runs, once a kind of rows."""
        kind = (method, isinstance(task.X, np.ndarray), task.classes)
        if method in (SIEVE, FTRL) and kind not in self.warmed:
            METHODS[method](*task.part(0), task.classes, 0)
        self.warmed.add(kind)

    def _hold_size(self, task, name: str) -> None:
        """The same subsamples, with the median of the sizes that were chosen."""
        chosen = self.store.of(SET, name, self.edition)
        size = int(np.median([len(one["picks"][OWN]["support"]) for one in chosen]))
        for run in range(self.runs if size else 0):
            known = self.store.get(SET, name, self.fixed(), run)
            if known is None or known["asked"] != size:
                found = sieve(*task.part(run), task.classes, run, size)[OWN]
                picks = {OWN: judge(task, *found)}
                self.store.keep(
                    SET, name, self.fixed(), run, asked=size, width=task.X.shape[1], picks=picks
                )

    def noise(self, quick: bool) -> None:
        """Normal columns that have nothing to do with the classes."""
        for name, (rows, width, count) in NOISES.items():
            for run in range((2 if width > 1_000 else 10) if quick else count):
                if self.store.get(NOISE, name, self.edition, run) is not None:
                    continue
                random = np.random.default_rng(run)
                X, y = random.normal(size=(rows, width)), random.integers(0, 2, rows)
                model, seconds = sieve(X, y, True, run)[OWN]
                figures = {"size": len(model.support_), "seconds": seconds, **stated(model, True)}
                self.store.keep(NOISE, name, self.edition, run, **figures)
            print(f"noise, {name}, {self.edition}: done", flush=True)

    def units(self, names) -> None:
        """Supports on all training rows before and after a change of units."""
        for name in [name for name in SCALED if name in names]:
            task = sets.read(name, self.folder)
            for scaler in (AS_GIVEN, *SCALED[name]):
                if self.store.get(UNITS, name, self.edition, scaler) is not None:
                    continue
                scaled = task
                if scaler != AS_GIVEN:
                    change = SCALERS[scaler]().fit(task.X)
                    X, X_test = change.transform(task.X), change.transform(task.X_test)
                    scaled = task._replace(X=X, X_test=X_test)
                found = sieve(scaled.X, scaled.y, True, 0)[OWN]
                self.store.keep(UNITS, name, self.edition, scaler, **judge(scaled, *found))


def error_of(task, model) -> float:
    """Share of wrong test rows; of numbers the share of their variance that is left."""
    guesses = model.predict(task.X_test)
    wrong = np.mean(guesses != task.y_test) if task.classes else 1 - r2_score(task.y_test, guesses)
    return float(wrong)


def judge(task, model, seconds: float) -> dict:
    """Error on the test rows, support, seconds, and what the model says of itself."""
    support = np.flatnonzero(np.ravel(model.coef_)).tolist()
    figures = {"error": error_of(task, model), "support": support, "seconds": seconds}
    return figures | stated(model, task.classes)


def stated(model, classes: bool) -> dict:
    """What a sieve says of its own error; the first edition said it by rung, of classes alone."""
    error = getattr(model, "error_", None)
    path = getattr(model, "path_", None)
    if error is None and path is not None and classes:
        rung = np.abs(np.log(path["n_features"] / max(1, len(model.support_)))).argmin()
        error = path["error"][rung]
    return {"stated": None if error is None else float(error)}


def quiet() -> None:
    """Warnings of tuning (no convergence, nothing kept) are no news here."""
    warnings.simplefilter("ignore")
