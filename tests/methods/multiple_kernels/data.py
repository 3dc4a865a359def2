"""Small kernels and targets."""

import numpy as np

from tamis.methods.multiple_kernels.machines import Machines, hinge_entries
from tamis.methods.multiple_kernels.matrices.store import KernelStore
from tamis.solvers.standard import StandardizedRows

N, D = 40, 3
RANDOM = np.random.default_rng(0)
X = RANDOM.normal(size=(N, D))
Y = np.where(np.sin(2 * X[:, 0]) + 0.5 * X[:, 1] + 0.3 * RANDOM.normal(size=N) > 0, 1.0, -1.0)


def gaussian(columns, width):
    block = X[:, columns]
    return np.exp(-((block[:, None] - block) ** 2).sum(axis=2) / (2 * width**2))


def some_kernels():
    """Seven kernels of unit trace: of all columns, of single ones, linear ones."""
    kernels = [
        gaussian([0, 1, 2], 1.0),
        gaussian([0, 1, 2], 3.0),
        *(gaussian([j], 0.7) for j in range(D)),
        X @ X.T,
        np.outer(X[:, 0], X[:, 0]),
    ]
    return [kernel / np.trace(kernel) for kernel in kernels]


def store_of(kernels, **options):
    """A store of matrices."""
    n = len(kernels[0])
    options = {"weights": np.ones(n), "normalize": None, "max_bytes": np.inf, **options}
    return KernelStore.of(
        StandardizedRows(X), n, [lambda a, b, k=kernel: k[a:b] for kernel in kernels], **options
    )


def machines_of(kernels, C=20.0, signs=Y):
    """Machines of two classes over matrices."""
    return Machines(store_of(kernels), [hinge_entries(signs, np.full(len(signs), C))])
