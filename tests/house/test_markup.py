"""Docstrings as the documentation renders them: formulas and sections are whole."""

import inspect
import re

import pytest
from registry import ESTIMATORS


@pytest.mark.parametrize("cls", ESTIMATORS)
def test_formulas_go_on_indented_and_no_placeholder_is_left(cls):
    text = inspect.getdoc(cls)
    for formula in re.finditer(r"^( *)\.\. math::.*\n((?:.+\n)*)", text, re.MULTILINE):
        for line in formula[2].splitlines():
            assert line.startswith(f"{formula[1]}   "), line
    assert not re.search(r"\{(parameters|attributes|family|kind|Kind)\}", text)


@pytest.mark.parametrize("cls", ESTIMATORS)
def test_entries_of_sections_begin_at_the_margin(cls):
    for section in ("Parameters", "Attributes"):
        inside = inspect.getdoc(cls).split(f"{section}\n{'-' * len(section)}\n")[1]
        for line in inside.split("\n\n")[0].splitlines():
            assert re.match(r"(\w[\w, ]* : \S|    \S)", line), line
