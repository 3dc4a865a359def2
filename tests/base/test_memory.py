"""What would take more than half of the free memory is refused before it is taken."""

import numpy as np
import pytest
import scipy.sparse as sp

from tamis import (
    BCWClassifier,
    CWClassifier,
    FOBOSClassifier,
    LowRankFactorization,
    OnlineGroupLassoRegressor,
    SieveClassifier,
    Table,
    groups_by_correlation,
)
from tamis.system import memory

WIDE = sp.csr_array((np.ones(2), [0, 10**6], [0, 1, 2]), shape=(2, 10**8))
SIDES = np.array([0, 1])


@pytest.fixture(autouse=True)
def little_memory(monkeypatch):
    monkeypatch.setattr(memory, "free_memory", lambda: 1 << 29)


def one_a_class(count):
    rows = sp.csr_array((np.ones(count), np.arange(count) % 50, np.arange(count + 1)))
    return rows, np.arange(count)


@pytest.mark.parametrize(
    "call",
    [
        lambda: SieveClassifier().fit(*one_a_class(2000)),
        lambda: FOBOSClassifier().fit(WIDE, SIDES),
        lambda: FOBOSClassifier().partial_fit(WIDE, SIDES, classes=SIDES),
        lambda: OnlineGroupLassoRegressor().fit(WIDE, SIDES),
        lambda: CWClassifier().fit(WIDE, SIDES),
        lambda: CWClassifier(covariance="full").fit(WIDE[:, :20_000], SIDES),
        lambda: BCWClassifier().fit(WIDE, SIDES),
        lambda: BCWClassifier().fit(sp.eye_array(6001, 6000).tocsr(), np.arange(6001) % 2),
        lambda: LowRankFactorization(n_components=2).fit(WIDE),
        lambda: groups_by_correlation(WIDE[:, :20_000]),
        lambda: Table().fit(WIDE),
        lambda: FOBOSClassifier().fit(np.eye(2), sp.csr_array((2, 10**8))),
    ],
)
def test_more_than_half_of_the_free_memory_is_refused(call):
    with pytest.raises(MemoryError, match=r"GiB.* 0\.5 GiB"):
        call()


def test_scores_are_refused_by_their_rows():
    X, y = one_a_class(100)
    model = FOBOSClassifier(max_iter=1, tol=None).fit(X, y)
    many = sp.csr_array((10**6, X.shape[1]))
    for answer in (model.predict, model.decision_function):
        with pytest.raises(MemoryError, match="1,000,000 rows and 100 outputs"):
            answer(many)


def test_small_things_are_taken_without_asking(monkeypatch):
    monkeypatch.setattr(memory, "free_memory", lambda: 1)
    FOBOSClassifier(max_iter=1, tol=None).fit(*one_a_class(20))


def test_what_is_free_is_known_or_none(monkeypatch, tmp_path):
    monkeypatch.undo()
    free = memory.free_memory()
    assert free is None or free > 0
    monkeypatch.setattr(memory, "CGROUP", tmp_path)
    (tmp_path / "memory.max").write_text("5000\n")
    (tmp_path / "memory.current").write_text("4900\n")
    # Files that the system holds are no memory that a process holds.
    (tmp_path / "memory.stat").write_text("anon 2000\nactive_file 900\ninactive_file 2000\n")
    if free is not None:
        assert memory.free_memory() == 3000
    (tmp_path / "meminfo").write_text("MemTotal: 9000 kB\nHugePages_Total: 0\n")  # an old kernel
    with monkeypatch.context() as patch:
        patch.setattr(memory, "MEMINFO", tmp_path / "meminfo")
        assert memory.free_memory() == 3000
    (tmp_path / "memory.max").write_text("max\n")
    assert (memory.free_memory() is None) == (free is None)
