"""Every loop has a bound that one can see; those that end for another reason are named here."""

import ast
from pathlib import Path

import pytest

import tamis

ROOT = Path(tamis.__file__).parent
REASONS = {
    "methods/confidence/loop_heap.py:settle_down": "goes down a heap, one level a turn",
    "methods/fourier/loop.py:draw": "a walk fills an array of fixed length",
    "base/random.py:shuffled": "walks a cycle of a permutation that comes back to where it began",
    "methods/batch_confidence/loop_blocks.py:fill_shares": "the level rises over a shrinking set",
    "methods/low_rank/spg/loop.py:cut": "the entries shrink, or the threshold stays and it ends",
    "solvers/block_descent/inner/loop.py:sweep_dense": "a constant grows by half or more a turn, "
    "up to the largest eigenvalue",
    "solvers/support_vector/loop.py:descend": "counts its steps",
    "training/checkpoint.py:_claim": "tries again only where another has just removed the folder",
    "base/machine/disk.py:_begin": "tries again only where another has just swept the new file",
    "solvers/support_vector/dual.py:solve_svm": "counts its steps",
}


def endless(source: str):
    """Functions of a file with a loop whose condition is a constant."""
    for function in ast.walk(ast.parse(source)):
        if isinstance(function, ast.FunctionDef) and any(
            isinstance(node, ast.While) and isinstance(node.test, ast.Constant)
            for node in ast.walk(function)
        ):
            yield function.name


@pytest.mark.parametrize("room", ["base", "terms", "solvers", "methods", "judge", "training"])
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
