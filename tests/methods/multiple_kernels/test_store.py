"""Packed kernels: mixtures and forms against plain formulas; blocks made again, sparse rows and
plain Python give the same.
"""

import numpy as np
import pytest
import scipy.sparse as sp
from methods.multiple_kernels.data import X

from tamis.methods.multiple_kernels.dictionary import make_dictionary
from tamis.methods.multiple_kernels.matrices.kinds import Kernel, cross_mixture
from tamis.methods.multiple_kernels.matrices.store import KernelStore
from tamis.solvers.standard import StandardizedRows, mean_and_std

N = len(X)
WEIGHTS = np.random.default_rng(5).integers(1, 4, N).astype(float)
KERNELS = [
    *make_dictionary(3, feature_groups=[[0, 2]]),
    Kernel("gaussian", 0.9, (1,), "odd"),
    Kernel("polynomial", 2.0, (0, 1), "pair"),
]


def evaluate_kernel(rows, kernel):
    """A kernel by its formula."""
    Z = rows if kernel.columns is None else rows[:, list(kernel.columns)]
    inner = Z @ Z.T
    if kernel.kind == "polynomial":
        return (inner + 1) ** kernel.parameter
    squares = np.diag(inner)
    return np.exp(-(squares[:, None] + squares - 2 * inner) / (2 * kernel.parameter**2))


def build_store(matrix=X, kernels=KERNELS, **options):
    rows = StandardizedRows.of(matrix, *mean_and_std(matrix, WEIGHTS))
    return KernelStore.of(
        rows,
        N,
        kernels,
        **{"weights": WEIGHTS, "normalize": "trace", "max_bytes": np.inf, **options},
    )


def expected():
    mean = np.average(X, axis=0, weights=WEIGHTS)
    units = (X - mean) / np.sqrt(np.average((X - mean) ** 2, axis=0, weights=WEIGHTS))
    stack = np.array([evaluate_kernel(units, kernel) for kernel in KERNELS])
    return stack / (stack[:, np.arange(N), np.arange(N)] @ WEIGHTS)[:, None, None]


def test_mixtures_and_forms_are_those_of_the_formulas():
    store, stack, rng = build_store(), expected(), np.random.default_rng(6)
    theta, betas = (
        rng.random(len(KERNELS)) * (rng.random(len(KERNELS)) < 0.5),
        rng.normal(size=(2, N)) * (rng.random((2, N)) < 0.7),
    )
    assert store.mixture(theta) == pytest.approx(np.tensordot(theta, stack, axes=1), abs=2e-6)
    assert np.array_equal(store.mixture(theta), store.mixture(theta).T)
    forms = np.einsum("mi,qij,mj->q", betas, stack, betas)
    assert store.forms(betas) == pytest.approx(forms, rel=2e-5, abs=1e-6)
    for k in range(len(KERNELS)):  # each on its own: none stands in for another
        assert store.mixture(np.eye(len(KERNELS))[k]) == pytest.approx(
            stack[k], abs=1e-6 * stack[k].max()
        )


def test_kernels_recomputed_in_blocks_are_the_same(monkeypatch):
    stored, theta, beta = (
        build_store(),
        np.linspace(0, 1, len(KERNELS)),
        np.random.default_rng(7).normal(size=N),
    )
    monkeypatch.setattr("tamis.methods.multiple_kernels.matrices.store.BLOCK_BYTES", 4000)
    recomputed = build_store(max_bytes=0)
    assert all(stack is None for stack in recomputed.stacks)
    assert recomputed.mixture(theta) == pytest.approx(stored.mixture(theta), rel=1e-12)
    assert recomputed.forms(beta) == pytest.approx(stored.forms(beta), rel=1e-7)
    half = build_store(max_bytes=stored.nbytes / 2)
    assert 0 < half.nbytes <= stored.nbytes / 2
    assert half.forms(beta) == pytest.approx(stored.forms(beta), rel=1e-7)


@pytest.mark.parametrize("form", [sp.csr_array, sp.csr_matrix])
def test_sparse_rows_are_centred_without_being_filled(form):
    theta = np.linspace(0, 1, len(KERNELS))
    assert build_store(form(X)).mixture(theta) == pytest.approx(
        build_store().mixture(theta), rel=1e-6
    )


def test_wide_sparse_columns():
    rng = np.random.default_rng(8)
    wide = sp.random_array((N, 500), density=0.05, rng=rng, format="csr")
    kernels = make_dictionary(500, single=False, feature_groups=[list(range(100))])
    theta = np.ones(len(kernels))
    assert build_store(wide, kernels).mixture(theta) == pytest.approx(
        build_store(wide.toarray(), kernels).mixture(theta), rel=1e-5
    )


def test_training_and_prediction_see_the_same_kernels():
    theta, store = np.linspace(0, 1, len(KERNELS)), build_store()
    rows = StandardizedRows.of(X, *mean_and_std(X, WEIGHTS))
    assert cross_mixture(KERNELS, theta * store.scales, rows, rows) == pytest.approx(
        store.mixture(theta), rel=1e-5
    )


def test_memory_is_a_quarter_of_the_full_stack():
    kernels = make_dictionary(3)
    assert build_store(kernels=kernels).nbytes <= 0.3 * len(kernels) * N * N * 8


def test_loops_as_plain_python(interpreted):
    kernels = [KERNELS[k] for k in (0, 3, 9, 12, 20)]
    store = build_store(kernels=kernels)
    stack = np.array([store.mixture(row) for row in np.eye(5)])
    beta = np.random.default_rng(9).normal(size=N)
    assert store.forms(beta) == pytest.approx(np.einsum("i,qij,j->q", beta, stack, beta), rel=1e-9)


@pytest.mark.parametrize("normalize", ["trace", "mean_diag", None])
def test_normalization(normalize):
    store = build_store(normalize=normalize)
    kernel = store.mixture(np.eye(len(KERNELS))[4])
    trace = {"trace": 1.0, "mean_diag": WEIGHTS.sum(), None: WEIGHTS.sum()}[normalize]
    assert np.diag(kernel) @ WEIGHTS == pytest.approx(trace)


def test_constant_columns_and_far_rows():
    extreme = np.column_stack([X[:, 0] * 1e6, np.full(N, 7.0), X[:, 1]])
    extreme[0, 2] = 1e5
    store = build_store(extreme, make_dictionary(3))
    assert np.isfinite(store.mixture(np.ones(store.n_kernels))).all()
    assert (store.forms(np.ones(N)) >= 0).all()
