"""Few labels: a table in which most rows have none."""

import numpy as np

from benchmarks.walks import sets
from benchmarks.walks.session import Session

TITLE = "Few labels"
ABOUT = """
    usps again, fives against eights, 16 x 16 pixels: 40 rows with a label, 400 without one, of
    which half are fives and eights and half are other digits, and the 326 fives and eights of the
    test part to judge by. Which rows keep their label was drawn at random.
"""


def walk(session: Session, quick: bool) -> None:
    """What a gap in the target is taken for, what 40 labels give, and whether the rest helps."""
    digits(session)
    session.run("cut -d , -f 1-4,257 scans.csv | sed -n '1,3p;100,101p'")
    session.say("A gap in the target is no class:")
    session.run("tamis fit scans.csv --units none", expected=1)
    session.run(
        "tamis fit scans.csv --on-bad skip --test scans_test.csv --units none "
        "--report scans.html --top 6"
    )
    session.report("scans.html")
    session.say(
        "Machines that ignore the rows without a label, or use them: as they are by default, which "
        "asks the labels first whether the others help, and at a price that nobody asked about."
    )
    session.python(MACHINES)


MACHINES = """
import numpy as np, pandas, tamis, warnings

warnings.simplefilter("once")
scans, test = pandas.read_csv("scans.csv"), pandas.read_csv("scans_test.csv")
X, y = scans.drop(columns="digit").to_numpy(), scans["digit"].fillna("?").to_numpy()
X_test, y_test = test.drop(columns="digit").to_numpy(), test["digit"].to_numpy()
known = y != "?"
print(known.sum(), "labels,", (~known).sum(), "rows without one")
for mode in ("svm", "usvm", "s3vm", "3c"):
    model = tamis.TriClassSVC(mode, unlabeled="?", balance=False).fit(X, y)
    paid = tamis.TriClassSVC(mode, C_unlabeled=0.01, unlabeled="?", balance=False).fit(X, y)
    errors = [f"{1 - one.score(X_test, y_test):.1%}" for one in (model, paid)]
    print(f"{mode}: error {errors[0]}; at C_unlabeled=0.01 {errors[1]}")
ftrl = tamis.FTRLClassifier(random_state=0).fit(X[known], y[known])
print(f"FTRL on the labels alone: error {1 - ftrl.score(X_test, y_test):.1%}")
"""


def digits(session: Session) -> None:
    """Write the scans, most of them without a label."""
    stored, rng = sets.load("usps"), np.random.default_rng(0)
    names = stored["y_train"].astype(int)
    of_pair = rng.permutation(np.flatnonzero(np.isin(names, (5, 8))))
    others = rng.permutation(np.flatnonzero(~np.isin(names, (5, 8))))
    chosen = rng.permutation(np.concatenate([of_pair[:240], others[:200]]))
    told = set(of_pair[:40].tolist())
    table = pixels(stored["X_train"][chosen])
    table["digit"] = [f"d{names[k]}" if k in told else None for k in chosen.tolist()]
    sets.write_csv(session.folder / "scans.csv", table)
    held = np.flatnonzero(np.isin(stored["y_test"].astype(int), (5, 8)))
    table = pixels(stored["X_test"][held])
    table["digit"] = [f"d{digit}" for digit in stored["y_test"][held].astype(int).tolist()]
    sets.write_csv(session.folder / "scans_test.csv", table)


def pixels(X: np.ndarray) -> dict[str, list]:
    """A column a pixel."""
    return {f"r{j // 16}c{j % 16}": np.round(X[:, j].astype(float), 3).tolist() for j in range(256)}
