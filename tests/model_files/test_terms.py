"""Terms in model files: those of tamis by name, a user's own by name and code."""

from pathlib import Path
from typing import NamedTuple

import pytest

import tamis.terms
from tamis.model_files import ModelFileError, classes, load, save
from tamis.numerics.numba import term
from tamis.terms.losses import Hinge
from tamis.terms.optimizers import Averaged
from tamis.terms.penalties import L1


def steep(factor):
    """A user's loss; another factor is another code."""
    if factor == 2:

        @term
        class Steep(NamedTuple):
            margin: float = 1.0

            def value(self, score, target):
                return 2.0 * max(0.0, self.margin - target * score)

    else:

        @term
        class Steep(NamedTuple):
            margin: float = 1.0

            def value(self, score, target):
                return 3.0 * max(0.0, self.margin - target * score)

    return Steep


def test_users_terms(toy, tmp_path):
    path, written = tmp_path / "m", steep(2)
    save(toy(loss=Averaged(written(0.5))), path)
    assert load(path, terms=[written, steep(3)]).loss == Averaged(written(0.5))
    assert type(load(path, terms=[written, Hinge]).loss.optimizer) is written
    with pytest.raises(ModelFileError, match=r"terms=\[Steep\]"):
        load(path)
    with pytest.raises(ModelFileError, match=r"code of the term .*Steep changed since"):
        load(path, terms=[steep(3)])
    with pytest.raises(TypeError, match=r"not the class of a term"):
        load(path, terms=[written()])


def test_users_term_never_passes_for_one_of_tamis(toy, tmp_path):
    own = steep(2)
    own.__qualname__ = "Hinge"
    save(toy(loss=own()), tmp_path / "m")
    with pytest.raises(ModelFileError, match="the term Hinge, defined outside tamis"):
        load(tmp_path / "m")
    assert type(load(tmp_path / "m", terms=[own]).loss) is own


def test_table_of_terms_is_complete():
    table = classes.shipped_terms()
    assert {"Hinge", "Huber", "Averaged", "FTRL", "L1", "Constant"} <= set(table)
    modules = {cls.__module__ for cls in table.values()}
    home = Path(tamis.terms.__file__).parent
    assert modules <= {f"tamis.terms.{file.stem}" for file in home.glob("*.py")}
    found = [
        line
        for file in home.glob("*.py")
        for line in file.read_text().splitlines()
        if line.strip() == "@term"
    ]
    assert len(found) == len(table), "two terms of tamis share a name"


def test_older_terms_take_their_defaults(toy, forge, tmp_path):
    save(toy(loss=L1(0.5, 1.0)), tmp_path / "m")
    header, blocks = forge.header_and_blocks(tmp_path / "m")
    del header["parameters"]["loss"]["fields"]["positive"]
    forge.sign(tmp_path / "m", header, blocks)
    assert load(tmp_path / "m").loss == L1(0.5)
