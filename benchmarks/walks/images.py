"""Images: scanned digits as a table of pixels, and which pixels tell a 7 from a 9."""

import numpy as np

from benchmarks.walks import sets
from benchmarks.walks.session import Session

TITLE = "Images"
ABOUT = """
    usps, digits that the post office scanned from envelopes (7,291 to learn from, 2,007 to judge
    by), 16 x 16 pixels of one scale, as a table with a column a pixel. First all ten digits, then 7
    against 9, the pair that is hardest to tell. Pictures in which things lie anywhere need words of
    patches in place of pixels; an example in the gallery makes them.
"""


def walk(session: Session, quick: bool) -> None:
    """Ten digits from a table of pixels, then two by few pixels that a person can look at."""
    write(session, "digits", range(10), 1000 if quick else None)
    write(session, "pair", (7, 9), None)
    session.run("cut -c 1-100 digits.csv | head -2")
    session.run("tamis check digits.csv", most=16)
    session.run(
        "tamis fit digits.csv --test digits_test.parquet --as digit=category --units none "
        "--out digits.tamis --report digits.html --top 5"
    )
    session.report("digits.html")
    session.run(
        "tamis fit pair.csv --test pair_test.parquet --units none --report pair.html --top 8"
    )
    session.report("pair.html")
    session.say("A distance that looks at few pixels, and where these lie:")
    session.python(PIXELS)


PIXELS = """
import numpy as np, pandas, tamis

pair, test = pandas.read_csv("pair.csv"), pandas.read_parquet("pair_test.parquet")
X, X_test = (table.drop(columns="digit").to_numpy() for table in (pair, test))
model = tamis.SDistClassifier(standardize=False, random_state=0).fit(X, pair["digit"])
print(len(model.support_), "of 256 pixels, error", f"{1 - model.score(X_test, test['digit']):.1%}")
shown = np.full((16, 16), ".")
shown.flat[model.support_] = "o"
shown.flat[np.argsort(-model.feature_importances_)[:8]] = "#"
print(*map("".join, shown), sep="\\n")
"""


def write(session: Session, name: str, digits, most: int | None) -> None:
    """Write some digits, as CSV to learn from and as Parquet to judge by."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    stored = sets.load("usps")
    for part in ("train", "test"):
        X, y = stored[f"X_{part}"], stored[f"y_{part}"].astype(int)
        own = np.flatnonzero(np.isin(y, digits))[:most]
        columns = {
            f"r{j // 16}c{j % 16}": np.round(X[own, j].astype(float), 3).tolist()
            for j in range(256)
        }
        columns["digit"] = [f"d{digit}" for digit in y[own].tolist()]
        if part == "train":
            sets.write_csv(session.folder / f"{name}.csv", columns)
        else:
            pq.write_table(pa.table(columns), session.folder / f"{name}_test.parquet")
