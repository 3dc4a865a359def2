"""What `tamis check` says of memory, as far as it can be tested without measuring processes."""

import json

import numpy as np
import pytest
import scipy.sparse as sp
from cli.commands import here

from tamis.base.machine.memory import peak_memory
from tamis.cli import memory
from tamis.cli.memory import READING, STATES, Met, needed_by
from tamis.cli.methods import METHODS, build
from tamis.methods.sieve.stream.memory import Facts, memory_of
from tamis.read.rows import Rows
from tamis.read.survey import Survey

COLUMNS = 3000
STREAMS = [method for method in METHODS if method != "sieve"]


def rows_of(columns, width):
    X = sp.csr_array((np.ones(len(columns)), (np.zeros(len(columns), int), columns)), (1, width))
    return Rows(X, np.ones(1), 0)


def surveyed(outputs=1, columns=COLUMNS, rows=20_000):
    classes = max(outputs, 2)
    labels = dict.fromkeys(range(classes), rows // classes)
    return Survey(rows=rows, features=columns, nonzeros=30 * rows, labels=labels)


def arrays_of(thing, seen):
    """Bytes of all arrays that an object holds, each counted once."""
    if id(thing) in seen:
        return 0
    seen.add(id(thing))
    if isinstance(thing, np.ndarray):
        return arrays_of(thing.base, seen) if thing.base is not None else thing.nbytes
    if isinstance(thing, dict):
        return sum(arrays_of(part, seen) for part in thing.values())
    if isinstance(thing, list | tuple):
        return sum(arrays_of(part, seen) for part in thing)
    return arrays_of(vars(thing), seen) if hasattr(thing, "__dict__") else 0


@pytest.mark.parametrize("method", STREAMS)
@pytest.mark.parametrize("outputs", [1, 4])
def test_a_state_takes_what_is_said_of_it(method, outputs):
    random = np.random.default_rng(0)
    X = sp.random_array((400, COLUMNS), density=0.05, rng=random, format="csr")
    y = np.arange(400) % max(outputs, 2)
    model = build(method, "classify", threads=1)
    model.partial_fit(X, y, classes=np.unique(y))
    promised = STATES[method]
    said = (promised.cell * outputs + promised.column) * COLUMNS
    held = arrays_of(model._engine, set())
    assert held <= 1.1 * said + 200_000
    # What is said beside the state itself, as of groups while they are made, may come and go.
    assert held >= 0.6 * promised.cell * outputs * COLUMNS


def test_every_method_has_a_figure():
    assert set(needed_by(surveyed())) == set(METHODS)
    numbers = Survey(rows=20_000, features=COLUMNS, nonzeros=600_000, whole=False, many=True)
    assert "arow" not in needed_by(numbers)


def test_more_of_everything_needs_more():
    few = needed_by(surveyed())
    for more in (surveyed(outputs=5), surveyed(columns=1_000_000)):
        assert all(needed_by(more)[method] > few[method] for method in METHODS)
    assert needed_by(surveyed(rows=2_000_000))["sieve"] > few["sieve"]
    assert needed_by(surveyed(rows=2_000_000))["ftrl"] == few["ftrl"]
    assert needed_by(surveyed(), 10**9)["ftrl"] == few["ftrl"] - READING + 10**9


def test_a_sieve_counts_its_table_its_paths_and_its_scores():
    facts = Facts(100_000, 1000, 1000, 1_000_000, 2, 0.5)
    one, two = (memory_of(facts, 5, 10**9, threads) for threads in (1, 2))
    assert two - one >= 12 * facts.entries  # a thread has a table of its own
    wide = facts._replace(columns=10**6, met=10**6)
    assert memory_of(wide, 5, 10**9, 1) >= 40 * 3 * 8 * 10**6  # the paths over all rows
    many = facts._replace(classes=20, rarer=0.05)
    assert memory_of(many, 5, 10**9, 1) >= 2 * 3 * 20 * 4 * facts.rows * 15  # held-out scores
    # Beyond the memory, columns are screened and rows left out.
    assert memory_of(wide._replace(entries=10**9), 5, 10**8, 1) < 12 * 10**9


def test_columns_are_counted_in_a_table_of_fixed_size(monkeypatch):
    met = Met()
    met.add(rows_of([0, 5, 7], 10))
    met.add(rows_of([5, 900_000], 900_001))
    assert met.count() == 4
    monkeypatch.setattr(memory, "ROOM", 1 << 12)
    met, columns = Met(), np.random.default_rng(0).choice(10**6, 3000, replace=False)
    met.add(rows_of(np.sort(columns), 10**6))
    assert met.count() == pytest.approx(3000, rel=0.1)


def test_check_says_it_by_method(tmp_path, capsys):
    (tmp_path / "a.svm").write_text("1 1:1 3:2\n0 2:1 3:1\n" * 40)
    found = json.loads(here("check", tmp_path / "a.svm", "--json", capsys=capsys).out)
    assert set(found["memory"]) == set(METHODS)
    assert found["memory_bytes"] == found["memory"][found["suggested"]]
    said = here("check", tmp_path / "a.svm", capsys=capsys).out
    assert " by ftrl" in said
    if (held := peak_memory()) is not None:
        assert held < found["memory"]["ftrl"] + 50_000_000
