"""Every loop has a bound that one can see; those that end for another reason are named here."""

import ast
from pathlib import Path

import pytest

import tamis

ROOT = Path(tamis.__file__).parent
REASONS = {
    "solvers/second_order/loop_heap.py:sift_down": "goes down a heap, one level a turn",
    "methods/sparse_fourier/loop.py:draw_frequency": "a walk fills an array of fixed length",
    "numerics/random.py:permuted_index": (
        "walks a cycle of a permutation that comes back to where it began"
    ),
    "methods/batch_confidence_weighted/loop_blocks.py:fill_gradient_norms": (
        "the level rises over a shrinking set"
    ),
    "methods/low_rank_lasso/spg/loop.py:l1_ball_threshold": (
        "the entries shrink, or the threshold stays and it ends"
    ),
    "solvers/path/inner/loop.py:sweep_dense": "a constant grows by half or more a turn, "
    "up to the largest eigenvalue",
    "solvers/svm_dual/loop.py:descend": "counts its steps",
    "training/checkpoint.py:_lock_folder": "tries again only if another process removed the folder",
    "system/files.py:_create_temporary": "tries again only if another process swept the new file",
    "solvers/svm_dual/dual.py:solve_svm": "counts its steps",
}


def endless(source: str):
    """Functions of a file with a loop whose condition is a constant."""
    for function in ast.walk(ast.parse(source)):
        if isinstance(function, ast.FunctionDef) and any(
            isinstance(node, ast.While) and isinstance(node.test, ast.Constant)
            for node in ast.walk(function)
        ):
            yield function.name


@pytest.mark.parametrize(
    "room",
    ["numerics", "terms", "solvers", "base", "methods", "selection", "training"],
)
def test_no_loop_without_a_bound(room):
    found = {
        f"{file.relative_to(ROOT).as_posix()}:{name}"
        for file in (ROOT / room).rglob("*.py")
        for name in endless(file.read_text())
    }
    assert found <= set(REASONS), (
        f"{sorted(found - set(REASONS))}: give the loop a counter and say what happens at its end, "
        "or name here why it ends."
    )


def test_the_search_sees_such_loops():
    assert list(
        endless("def f():\n    while True:\n        pass\n\ndef g():\n    while x:\n        pass\n")
    ) == ["f"]
