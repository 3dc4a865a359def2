"""Mutants of the benchmarks: one token each, none in words and annotations, all of them Python."""

import pytest

from benchmarks.clock import ROOT
from benchmarks.trust.mutants import drawn, survivors
from benchmarks.trust.mutants.modules import MODULES, its_tests
from benchmarks.trust.mutants.places import Mutant, changed, mutants_of
from benchmarks.trust.mutants.telling import page

BOUNDS = "selection/error_bounds"
SOURCE = '''"""1 < 2."""
LEAST = 0.5

def f(a: int | None, *rest, b: float = 2) -> "a + b":
    """a + b."""
    if a is not None and not b <= -3:
        raise ValueError(f"{a + b} and {a < b}", 7)
    é = a // (b) if a not in rest else max(a, b)
    é += 0
    warnings.warn("1" + str(a * b), stacklevel=3)
    return é ** True
'''


def test_every_token_that_computes_is_changed_and_no_other():
    found = {(m.line, m.old, m.new) for m in mutants_of(SOURCE)}
    assert found == {
        (2, "0.5", "1.0"),
        (4, "2", "3"),
        (6, "not", ""),
        (6, "and", "or"),
        (6, "not ", ""),
        (6, "<=", "<"),
        (6, "<=", ">"),
        (6, "-", ""),
        (6, "3", "4"),
        (8, "//", "*"),
        (8, "not", ""),
        (8, "max", "min"),
        (9, "+=", "-="),
        (9, "0", "1"),
        (11, "**", "*"),
        (11, "True", "False"),
    }


@pytest.mark.parametrize("mutant", mutants_of(SOURCE), ids=str)
def test_a_mutant_is_python_and_differs_in_one_line(mutant):
    text = changed(SOURCE, mutant)
    compile(text, "mutant", "exec")
    pairs = zip(SOURCE.splitlines(), text.splitlines(), strict=True)
    assert [n for n, (a, b) in enumerate(pairs, 1) if a != b] == [mutant.line]


def test_another_source_is_refused():
    with pytest.raises(ValueError, match="another token stands there"):
        changed(SOURCE, Mutant(2, 0, "+", "-"))


def test_the_same_mutants_are_drawn_in_every_run():
    assert drawn(BOUNDS, SOURCE, 5) == drawn(BOUNDS, SOURCE, 9)[:5]
    assert drawn(BOUNDS, SOURCE, 5) != drawn("evaluation/comparison", SOURCE, 5)


def test_modules_and_their_tests_are_there():
    for module in MODULES:
        assert (ROOT / f"src/tamis/{module}.py").exists(), module
        assert all((ROOT / name).exists() for name in its_tests(module)), module


def test_reasons_are_about_lines_that_are_there():
    for module, line, change in survivors.REASONS:
        source = (ROOT / f"src/tamis/{module}.py").read_text()
        at = [n for n, text in enumerate(source.splitlines(), 1) if text.strip() == line]
        old, _, new = change.partition(" -> ")
        found = {(m.line, m.old, m.new) for m in mutants_of(source)}
        assert any((n, old, new) in found for n in at), (module, line, change)


def test_a_page_counts_what_was_caught_what_is_equivalent_and_what_lives():
    mutants, source = mutants_of(SOURCE)[:4], SOURCE
    found = [{"how": "caught", "first": "survived"}, {"how": "caught"}, {"how": "survived"}]
    kept = {
        "cpu": 7.0,
        "where": "here",
        "mutants": dict(zip(map(str, mutants), found, strict=False)),
    }
    made = page(
        {BOUNDS: kept},
        {BOUNDS: mutants},
        {BOUNDS: source},
    )
    assert made.tables[0].rows[-1] == ["all", "3", "2", "1", "0", "1"]
    assert made.goals[0].figure == f"1 of 3, 33.3%, in 1 of {len(MODULES)} modules"
    assert made.goals[0].verdict == "not finished"
    assert "7 s of CPU" in " ".join(made.opening.split())
