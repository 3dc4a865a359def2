"""Models fitted on dense rows predict the same for sparse rows, and vice versa."""

import numpy as np
import pytest
import scipy.sparse as sp
import tiny
from registry import ESTIMATORS, small
from sklearn.base import is_regressor
from tiny import quiet

import tamis

X = tiny.matrix(40, 7)  # exact in float32
MORE = tiny.matrix(15, 7, seed=5)
ANSWERS = (
    "predict",
    "decision_function",
    "predict_proba",
    "predict_log_proba",
    "predict_margin",
    "predict_confidence",
    "predict_tri",
    "transform",
)
KINDS = (
    np.array,
    sp.csr_array,
    sp.csr_matrix,
    sp.csc_array,
    sp.csc_matrix,
    sp.coo_array,
    sp.coo_matrix,
)
FITS = {
    "csr": sp.csr_array,
    "csc": sp.csc_matrix,
    "float32": lambda X: X.astype(np.float32),
    "float32 csr": lambda X: sp.csr_array(X.astype(np.float32)),
}
# Solvers that end anywhere within `tol` of the optimum: another order of the same sums is another
# end. All others agree to rounding.
WITHIN_TOL = {
    "GMKLClassifier": 1e-2,
    "GMKLRegressor": 1e-2,
    "RobustRegressor": 1e-2,
    "RobustSVC": 1e-2,
}


def inner(A, B):
    """A kernel of a user, who has never heard of sparse matrices beside dense ones."""
    assert sp.issparse(A) == sp.issparse(B)
    return (A @ B.T).toarray() if sp.issparse(A) else np.einsum("ij,kj->ik", A, B)


# Choices beside the defaults that lead through other code.
CHOICES = [
    *((cls, {"max_iter": 100} if cls is tamis.SparseFourierFeatures else {}) for cls in ESTIMATORS),
    *((tamis.TriClassSVC, {"kernel": kernel}) for kernel in ("rbf", "poly", inner)),
    *(
        (tamis.GMKLClassifier, {"kernels": kernels})
        for kernels in ([inner], tamis.kernel_dictionary(X, feature_groups=[[0, 1], [2, 5]]))
    ),
    *((tamis.BCWClassifier, {"solver": solver}) for solver in ("cholesky", "kernel", "raw")),
    *((tamis.RobustSVC, {"uncertainty": kind, "radius": 1}) for kind in ("deletion", "ellipsoid")),
    (tamis.SparseBCWClassifier, {"covariance": "identity"}),
    (tamis.AROWClassifier, {"covariance": "full"}),
    (tamis.FOBOSClassifier, {"average": True}),
]


def choice_id(choice):
    cls, chosen = choice
    return "-".join([cls.__name__, *(f"{name}={value}"[:24] for name, value in chosen.items())])


def fitted(choice, rows, **more):
    """A small model of the rows."""
    model = small(choice[0])
    seeded = {"random_state": 0} if "random_state" in model.get_params() else {}
    y = tiny.numbers(X) if is_regressor(model) else (tiny.signs(X) > 0).astype(int)
    return quiet(model.set_params(**seeded, **choice[1], **more).fit, rows, y)


def answers(model, rows):
    """All that the model says of rows, dense."""
    results = {}
    for name in ANSWERS:
        if hasattr(model, name):
            output = getattr(model, name)(rows)
            for k, values_of_output in enumerate(
                output if isinstance(output, tuple) else (output,)
            ):
                results[name, k] = (
                    values_of_output.toarray()
                    if sp.issparse(values_of_output)
                    else np.asarray(values_of_output)
                )
    assert results
    return results


def assert_alike(results, expected, relative=1e-10):
    assert results.keys() == expected.keys()
    for name, value in expected.items():
        largest = np.abs(value[np.isfinite(value)]).max(initial=1e-300)
        assert results[name] == pytest.approx(value, rel=relative, abs=relative * largest), name


def assert_indifferent(model):
    """The model says the same of the same rows in any container."""
    expected = answers(model, MORE)
    for rows in (
        *(kind(MORE) for kind in KINDS[1:]),
        MORE.astype(np.float32),
        sp.csr_array(MORE.astype(np.float32)),
    ):
        assert_alike(answers(model, rows), expected)
    return expected


@pytest.mark.filterwarnings("ignore:No features were selected")
@pytest.mark.parametrize("choice", CHOICES, ids=choice_id)
def test_fitted_dense_and_asked_sparse_and_the_reverse(choice):
    expected = assert_indifferent(fitted(choice, X))
    for form in FITS.values():
        assert_alike(
            assert_indifferent(fitted(choice, form(X))),
            expected,
            WITHIN_TOL.get(choice[0].__name__, 1e-10),
        )


@pytest.mark.parametrize("cls", [cls for cls in ESTIMATORS if "probability" in cls().get_params()])
def test_calibrated_probabilities_do_not_depend_on_the_container(cls):
    for form in (np.array, sp.csr_array):
        assert_indifferent(fitted((cls, {}), form(X), probability=True))


def test_kernel_values_may_be_sparse_when_they_are_asked():
    y = (tiny.signs(X) > 0).astype(int)
    values = (MORE @ X.T, sp.csr_array(MORE @ X.T))
    model = tamis.TriClassSVC(kernel="precomputed").fit(X @ X.T, y)
    assert_alike(answers(model, values[1]), answers(model, values[0]))
    numbers = np.arange(len(X), dtype=float)[:, None]
    model = tamis.GMKLClassifier(kernels=[X @ X.T, np.eye(len(X))]).fit(numbers, y)
    assert_alike(answers(model, sp.csr_array(numbers)), answers(model, numbers))
