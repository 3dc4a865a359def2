"""Toy estimators in the place of the models of tamis, and a forger who signs what he changed."""

import hashlib
import json
import struct
import sys
import types
from typing import ClassVar

import numpy as np
import pytest
from scipy import sparse
from sklearn.base import BaseEstimator

import tamis
from tamis.model_files import container, save
from tamis.system.schema import NESTED_CLASSES, any_value, count
from tamis.terms.losses import Hinge


class Toy(BaseEstimator):
    """A model whose attributes are whatever a test wants."""

    _contents: ClassVar[dict] = {...: any_value()}

    def __init__(self, alpha=1e-4, loss="hinge", inner=None):
        self.alpha = alpha
        self.loss = loss
        self.inner = inner

    def holding(self, **attributes):
        """The model, fitted to these attributes."""
        vars(self).update(attributes)
        return self


class Demanding(BaseEstimator):
    """A model with a parameter that has no default."""

    def __init__(self, needed):
        self.needed = needed


class Wheel:
    """A part of a model."""

    _contents: ClassVar[dict] = {"spokes": count(), ...: any_value()}

    def __init__(self, **attributes):
        vars(self).update(attributes)

    def _after_load(self):
        if self.spokes < 3:
            raise ValueError(f"a wheel of {self.spokes} spokes")


def not_a_model():
    """A public name that is no estimator."""


@pytest.fixture(autouse=True)
def homes(monkeypatch):
    """The toys as the public names of tamis."""
    module = types.ModuleType("toy_home")
    vars(module).update(
        Toy=Toy, Demanding=Demanding, not_a_model=not_a_model, Alias=Toy, Wheel=Wheel
    )
    monkeypatch.setitem(sys.modules, "toy_home", module)
    names = tamis._HOMES | dict.fromkeys(
        ("Toy", "Demanding", "Alias", "Wheel", "not_a_model"), "toy_home"
    )
    monkeypatch.setattr(tamis, "_HOMES", names)
    monkeypatch.setattr(tamis, "__version__", "1.2.3")
    monkeypatch.setitem(NESTED_CLASSES, "Wheel", Wheel)
    return names


@pytest.fixture
def toy():
    """The class of the toy model."""
    return Toy


@pytest.fixture
def wheel():
    """The class of the toy model's part."""
    return Wheel


@pytest.fixture
def demanding():
    """The class of the toy model with a required parameter."""
    return Demanding


@pytest.fixture
def path(tmp_path):
    """A file with something of everything."""
    state = np.zeros((1000, 2))
    state[[3, 700]] = 1.0
    model = Toy(loss=Hinge(2.0), inner=Toy()).holding(
        coef_=np.linspace(0, 1, 50),
        state_=state,
        mask_=np.array([True, False, True]),
        names_=np.array(["a", None], object),
        text_=np.array(["ab", "c"]),
        sparse_=sparse.csr_matrix(np.eye(3)),
        draw_=np.random.RandomState(0),
        modern_=np.random.default_rng(0),
        own_={"key": (2**80, np.float32(0.5), np.bool_(True))},
    )
    save(model, tmp_path / "model.tamis")
    return tmp_path / "model.tamis"


def header_and_blocks(path):
    """Header and blocks of a file."""
    content = path.read_bytes()
    start = len(container.PREAMBLE.format(0, 0, 0))
    length = int(content.split(b"\n")[2].split()[1])
    return json.loads(content[start : start + length]), content[start + length : -32]


def sign(path, header, blocks=b"", version=1):
    """Write a file whose lengths and checksum are right, whatever it holds."""
    text = header if isinstance(header, bytes) else json.dumps(header).encode()
    size = len(container.PREAMBLE.format(0, 0, 0)) + len(text) + len(blocks) + 32
    content = container.PREAMBLE.format(version, len(text), size).encode() + text + blocks
    path.write_bytes(content + hashlib.sha256(content).digest())


@pytest.fixture
def forge():
    """`header_and_blocks(path)` and `sign(path, header, blocks, version)`."""
    return types.SimpleNamespace(header_and_blocks=header_and_blocks, sign=sign)


def same(a, b):
    """Whether two values are of one type and equal to the bit, all the way down."""
    if type(a) is not type(b):
        return False
    if isinstance(a, float) and not isinstance(a, np.generic):
        return struct.pack("d", a) == struct.pack("d", b)
    if isinstance(a, (list, tuple)):
        return len(a) == len(b) and all(map(same, a, b))
    if isinstance(a, dict):
        return same(list(a), list(b)) and same(list(a.values()), list(b.values()))
    if isinstance(a, np.ndarray):
        layout_equal = (
            a.dtype == b.dtype
            and a.shape == b.shape
            and a.flags.c_contiguous == b.flags.c_contiguous
        )
        elements_equal = (
            same(a.ravel().tolist(), b.ravel().tolist())
            if a.dtype.kind == "O"
            else a.tobytes() == b.tobytes()
        )
        return layout_equal and elements_equal
    if isinstance(a, (np.str_, np.bytes_)):
        return a == b
    if isinstance(a, np.generic):
        return a.dtype == b.dtype and a.tobytes() == b.tobytes()
    if sparse.issparse(a):
        return a.shape == b.shape and all(
            same(getattr(a, n), getattr(b, n)) for n in ("data", "indices", "indptr")
        )
    if isinstance(a, np.random.Generator):
        return same(a.bit_generator.state, b.bit_generator.state)
    if isinstance(a, np.random.RandomState):
        return same(a.get_state(legacy=False), b.get_state(legacy=False))
    if isinstance(a, (BaseEstimator, Wheel)):
        return same(dict(sorted(vars(a).items())), dict(sorted(vars(b).items())))
    return a == b


@pytest.fixture(name="same")
def same_fixture():
    """The comparison to the bit."""
    return same
