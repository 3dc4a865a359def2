"""Queries in SQLite."""

import sqlite3


def run_query(query, names, rows):
    """What a query says of rows, by column, in SQLite."""
    base = sqlite3.connect(":memory:")
    quoted = ", ".join('"' + name.replace('"', '""') + '"' for name in names)
    base.execute(f'CREATE TABLE "rows" ({quoted})')
    base.executemany(f'INSERT INTO "rows" VALUES ({", ".join("?" * len(names))})', rows)
    actual = base.execute(query)
    told = [column[0] for column in actual.description]
    return dict(zip(told, zip(*actual.fetchall(), strict=True), strict=True))
