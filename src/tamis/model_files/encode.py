"""Encoding of a model's state as JSON values and blocks.

Null, booleans, numbers, strings and lists of JSON stand for themselves; every other value is an
object with a "type".
"""

import math
import struct
from typing import Any, ClassVar

import numpy as np

from tamis.data.tables.frames import Reading
from tamis.model_files import classes
from tamis.model_files.blocks import Block, stored_dtype
from tamis.model_files.container import to_json
from tamis.system.schema import derived_attributes, undeclared_attributes

MAX_DEPTH = 64
MAX_INLINE_BYTES = 1 << 20  # bytes of JSON that are moved out of the header
_INT64_LIMIT = 1 << 63
_KEY_TYPES = (str, int, float, bool)
_OBJECT_TYPES = (str, type(None), int, float, bool)
_SAVABLE = (
    "A model file holds None, bool, numbers, str, bytes, NumPy arrays of bool, numbers or text, "
    "CSR and CSC matrices, lists, tuples, dicts, terms, random generators (PCG64, MT19937) and "
    "estimators of tamis"
)


class Encoder:
    """Encodes values as JSON and collects their arrays as blocks."""

    def __init__(self) -> None:
        self.blocks: list[Block] = []

    def model(self, model: Any, path: str, depth: int = 0) -> dict:
        """Return class, parameters and attributes of an estimator."""
        cls = type(model)
        if not classes.is_public(cls):
            raise TypeError(
                f"{path}: {cls.__name__} is not a public estimator of tamis, so load could not "
                "find it. Save the estimator of tamis itself."
            )
        if hasattr(cls, "_check_saved"):
            model._check_saved()  # raises a specific error for values that cannot be saved
        names, state = classes.parameters(cls), vars(model)
        self._check_names(cls, [name for name in state if name not in names], path)
        encoded = {
            name: self.value(state[name], f"{path}.{name}", depth + 1) for name in sorted(state)
        }
        return {
            "class": cls.__name__,
            "parameters": {name: value for name, value in encoded.items() if name in names},
            "attributes": {name: value for name, value in encoded.items() if name not in names},
        }

    def move_long_value(self, encoded: Any) -> Any:
        """Return an encoded value, moved to a block where it is long, such as the columns of a wide
        table.
        """
        text = to_json(encoded).encode()
        if len(text) <= MAX_INLINE_BYTES:
            return encoded
        return {"type": "json", "block": self._block(np.frombuffer(text, np.uint8))}

    def _check_names(self, cls: type, names, path: str) -> None:
        """Raise for attributes that `load` would refuse."""
        for name in undeclared_attributes(cls, names):
            raise TypeError(
                f"{path}.{name}: a file of {cls.__name__} has no place for an attribute of that "
                "name. Delete it before saving, or keep it elsewhere."
            )

    def value(self, value: Any, path: str, depth: int) -> Any:
        """Encode any value of the format."""
        if depth > MAX_DEPTH:
            raise TypeError(
                f"{path[:200]}: nested deeper than {MAX_DEPTH} levels; does it hold itself? "
                "Flatten it before saving."
            )
        if value is None or type(value) is bool:
            return value
        method = self.METHODS.get(type(value))
        if method is None:
            method = self._method_for_base(value)
        if method is None:
            raise self._unsavable(value, path)
        return method(self, value, path, depth)

    def _method_for_base(self, value):
        """Return the method for a value of a known base class, or None."""
        from sklearn.base import BaseEstimator

        if isinstance(value, np.generic):
            return Encoder._scalar
        if classes.is_term_class(type(value)):
            return Encoder._term
        if classes.nested_class(type(value).__name__) is type(value):
            return Encoder._nested_object
        return Encoder._nested_model if isinstance(value, BaseEstimator) else None

    def _unsavable(
        self, value, path: str, advice: str = "Replace this value, or delete it before saving"
    ) -> TypeError:
        cls = type(value)
        return TypeError(
            f"{path}: a value of type {cls.__module__}.{cls.__qualname__} cannot be saved. "
            f"{_SAVABLE}. {advice}."
        )

    # ----------------------------------------------------------------------- plain values
    def _int(self, value, path, depth):
        return (
            value if -_INT64_LIMIT <= value < _INT64_LIMIT else {"type": "int", "hex": f"{value:x}"}
        )

    def _float(self, value, path, depth):
        # JSON has neither nan nor inf; the bits also keep the sign and payload of a nan.
        if math.isfinite(value):
            return value
        return {"type": "float", "bits": struct.pack(">d", value).hex(), "shows": str(value)}

    def _str(self, value, path, depth):
        try:
            value.encode()
        except UnicodeEncodeError:  # lone surrogates, as in undecodable file names
            return {"type": "str", "hex": value.encode("utf-8", "surrogatepass").hex()}
        return value

    def _bytes(self, value, path, depth):
        return {"type": "bytes", "block": self._block(np.frombuffer(value, np.uint8))}

    def _list(self, value, path, depth):
        return [self.value(v, f"{path}[{i}]", depth + 1) for i, v in enumerate(value)]

    def _tuple(self, value, path, depth):
        return {"type": "tuple", "items": self._list(value, path, depth)}

    def _dict(self, value, path, depth):
        items = []
        for key, nested in value.items():
            if not (type(key) in _KEY_TYPES or isinstance(key, np.generic)):
                raise self._unsavable(key, f"{path}, key {key!r}", "Use str or numbers as keys")
            items.append(
                [
                    self.value(key, f"{path}, key {key!r}", depth + 1),
                    self.value(nested, f"{path}[{key!r}]", depth + 1),
                ]
            )
        return {"type": "dict", "items": items}

    # ----------------------------------------------------------------------- NumPy and SciPy
    def _scalar(self, value, path, depth):
        if isinstance(value, (np.str_, np.bytes_)):
            # str() drops final NULs
            plain = str.__str__(value) if isinstance(value, np.str_) else bytes(value)
            type_name = f"numpy.{type(value).__name__}"
            return {"type": type_name, "value": self.value(plain, path, depth)}
        dtype = stored_dtype(value.dtype)
        if dtype is None:
            raise self._unsavable(value, path, "Cast it to one of these, for instance to float64")
        return {
            "type": "scalar",
            "dtype": dtype,
            "hex": np.asarray(value, dtype).tobytes().hex(),
            "shows": str(value),
        }

    def _array(self, value, path, depth):
        if value.dtype.kind == "O":
            return self._objects(value, path, depth)
        if stored_dtype(value.dtype) is None:
            raise TypeError(
                f"{path}: an array of dtype {value.dtype} cannot be saved. {_SAVABLE}. Cast it to "
                "one of these, for instance to float64."
            )
        if value.flags.f_contiguous and not value.flags.c_contiguous:
            # Loops are compiled for the order, and the state of a learner is sparse along its last
            # axis in this case.
            return {"type": "array", "order": "F", "block": self._block(value.T)}
        return {"type": "array", "block": self._block(value)}

    def _objects(self, value, path, depth):
        for index, item in enumerate(value.flat):
            if type(item) not in _OBJECT_TYPES:
                raise self._unsavable(
                    item,
                    f"{path}.flat[{index}]",
                    "An object array may hold only str, None, int, float and bool",
                )
        return {
            "type": "objects",
            "shape": list(value.shape),
            "items": self._list(list(value.flat), path, depth),
        }

    def _block(self, array) -> int:
        self.blocks.append(Block(array))
        return len(self.blocks) - 1

    def _sparse(self, value, path, depth):
        arrays = {
            name: self.value(getattr(value, name), f"{path}.{name}", depth + 1)
            for name in ("data", "indices", "indptr")
        }
        return {
            "type": "sparse",
            "class": type(value).__name__,
            "shape": [int(n) for n in value.shape],
            **arrays,
        }

    def _generator(self, value, path, depth):
        legacy = isinstance(value, np.random.RandomState)
        state = value.get_state(legacy=False) if legacy else value.bit_generator.state
        if state["bit_generator"] not in classes.BIT_GENERATORS:
            raise self._unsavable(
                value, f"{path} ({state['bit_generator']})", "Use numpy.random.default_rng(seed)"
            )
        return {
            "type": "RandomState" if legacy else "Generator",
            "state": self.value(state, path, depth + 1),
        }

    # ----------------------------------------------------------------------- tamis
    def _term(self, value, path, depth):
        cls = type(value)
        fields = {
            name: self.value(v, f"{path}.{name}", depth + 1)
            for name, v in zip(cls._fields, value, strict=True)
        }
        shipped = classes.shipped_terms().get(cls.__qualname__) is cls
        identity = {} if shipped else {"digest": classes.digest(cls)}
        return {"type": "term", "name": cls.__qualname__, **identity, "fields": fields}

    def _nested_object(self, value, path, depth):
        cls: type = type(value)
        state = vars(value)
        names = sorted(state.keys() - derived_attributes(cls))
        self._check_names(cls, names, path)
        nested = {name: self.value(state[name], f"{path}.{name}", depth + 1) for name in names}
        return {"type": "part", "class": cls.__name__, "attributes": nested}

    def _nested_model(self, value, path, depth):
        return {"type": "model", **self.model(value, path, depth)}

    METHODS: ClassVar[dict] = {
        int: _int,
        float: _float,
        str: _str,
        bytes: _bytes,
        list: _list,
        tuple: _tuple,
        dict: _dict,
        Reading: _dict,
        np.ndarray: _array,
        np.memmap: _array,
        np.random.Generator: _generator,
        np.random.RandomState: _generator,
        **dict.fromkeys(classes.SPARSE_CLASSES.values(), _sparse),
    }
