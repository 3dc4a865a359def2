"""Ten thousand random dirty tables: fitted, changed, predicted in every container and exported in
every form; the same answers or a refusal, and no third.

``python -m benchmarks tables``; ``python -m benchmarks.trust.tables NUMBER`` shows one of them.
"""

import json
import os
import sys
import time
from collections import Counter

from benchmarks.clock import ROOT
from benchmarks.pages import Goal, Page, Table, verdict

COUNT, QUICK = 10_000, 200
# What has not been tried by then is not counted.
SECONDS = float(os.environ.get("TAMIS_TABLES_SECONDS", 7200))
WRONG = ["crashes", "hangs", "non-finite", "differences", "raw exceptions"]


def _modules():
    sys.path.insert(0, str(ROOT / "tests"))
    from data import trial
    from exporting import dirty, tables

    return dirty, tables, trial


def run(quick: bool) -> Page:
    """Make tables, try them, count."""
    (dirty, tables, trial), wanted, begin = _modules(), QUICK if quick else COUNT, time.monotonic()
    outcomes = trial.run(
        tables.SEED,
        wanted,
        lambda number: (
            None if number % 500 else print(f"{number:,} of {wanted:,} tables", flush=True)
        ),
        SECONDS,
        "exporting.tables",
    )
    count, total = len(outcomes), Counter()
    wrong: Counter[str] = Counter()
    for number, said in outcomes.items():
        if said.startswith((trial.DEATH, trial.HANG)):
            wrong["crashes" if said.startswith(trial.DEATH) else "hangs"] += 1
            print(f"{number}: {said}", flush=True)
            continue
        counts, sentences = json.loads(said)
        total.update(counts)
        for sentence in sentences:
            print(f"{number}: {sentence}", flush=True)
        kinds = {sentence.split(":")[0] for sentence in sentences}
        wrong["non-finite"] += tables.NON_FINITE in kinds
        wrong["differences"] += tables.DIFFERENCE in kinds
        wrong["raw exceptions"] += bool(kinds - {tables.NON_FINITE, tables.DIFFERENCE})
    fitted = [(k.removeprefix("fitted to "), n) for k, n in total.items() if k.startswith("fitted")]
    lines = [[name, f"{n:,}"] for name, n in sorted(fitted, key=lambda pair: -pair[1])]
    forms = [
        [
            form,
            f"{total[form]:,}",
            f"{total[f'{form}: rows']:,}",
            f"{total[f'{form}: rows that it cannot hold']:,}",
            f"{total[f'{form}: refused']:,}",
        ]
        for form in tables.EXPORTS
    ]
    changed = [
        [name, f"{total[f'{name}: answered']:,}", f"{total[f'{name}: refused']:,}"]
        for name in dirty.CHANGES
    ]
    opening = f"""
        Random tables of 1 to 60 rows and 1 to 5 columns: numbers of all sizes, with gaps, as
        decimals and lengths of time; categories with quotes, blanks, line ends, NUL, capitals and
        words that look like gaps or numbers; truth values in every spelling; amounts of money;
        dates with zones and at 24:00; texts; columns that are constant, empty, mixed or number the
        rows; names that are hostile, or the same twice. A model of each (an FTRL, and a sieve of
        one in a hundred) is fitted through `Table` or trained from a file, and predicts the same
        rows and changed ones in other containers. What it predicts must be finite and the same for
        the same content, in every export too; or it is refused in a sentence that names a column or
        a value. A table follows from the seed {tables.SEED} and its number; a process that dies or
        is silent for {trial.SECONDS:.0f} s counts."""
    said = f"""
        {count:,} tables in {time.monotonic() - begin:.0f} s. {total["predicted"]:,} predictions of
        whole tables, {total["compared"]:,} of which were compared with those of another container
        or of the table before its change; {total["refused"]:,} refusals."""
    changes = f"""
        {tables.CHANGED} changes a table, in two containers each. Other spelling: numbers as text,
        decimals or whole floats, truth values as words, dates as words, pandas' or NumPy's. Odd
        values: infinite or huge numbers, words, bytes, dates that are none. pandas frames with
        other names or another order are refused by scikit-learn and left out."""
    exports = f"""
        The changed table that was predicted last, or the first one; a scorecard of
        {tables.SHARES["scorecard"]:.0%} and DuckDB of {tables.SHARES["DuckDB"]:.0%} of the tables,
        all other forms of every one. A scorecard is compared up to the rounding that it tells. JSON
        is read by a program of 40 lines. Rows that a form cannot hold, as {{doc}}`../export` says:
        a date of another zone in SQL and ONNX, or at 24:00 in ONNX; a blank in a category; hashed
        words in JSON, whose reader leaves them to Python."""
    some = Counter({name: wrong[name] for name in WRONG})
    goals = [
        Goal(
            f"{count:,} dirty tables: 0 {name}",
            f"{some[name]:,} tables" if some[name] else "0",
            verdict(not some[name]),
        )
        for name in WRONG
    ]
    found = [
        Table("Fitted to", ["container", "tables"], lines, said),
        Table("Changed after the fit", ["change", "answered", "refused"], changed, changes),
        Table(
            "Exports against predict",
            ["form", "models compared", "rows compared", "rows that it cannot hold", "refused"],
            forms,
            exports,
        ),
    ]
    return Page("tables", "Dirty tables", opening, found, goals)


def show(number: int) -> None:
    """Print one table, and what was wrong with it."""
    import numpy as np

    dirty, tables, _ = _modules()
    case = dirty.case_of(np.random.default_rng([tables.SEED, number]))
    print(case._replace(table={}))
    for name, values in case.table.items():
        print(f"{name!r}: {values}")
    trial = tables.outcome(number)
    print(dict(trial.counts))
    print("\n".join(trial.wrong) or "nothing is wrong")


if __name__ == "__main__":
    show(int(sys.argv[1]))
