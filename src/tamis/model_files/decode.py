"""Decoding of JSON values and blocks to the data of a model. Nothing in a header is trusted.

Arrays stay unread and objects plain data until `tamis.system.schema` has compared all of them with
the declarations of their classes.
"""

import inspect
import math
import struct
from typing import Any, ClassVar

import numpy as np

from tamis.model_files import classes
from tamis.model_files.blocks import Blocks, check_bits, read_dtype, read_shape, to_native
from tamis.model_files.container import RESAVE_ADVICE, ModelFileError, from_json
from tamis.model_files.encode import MAX_DEPTH
from tamis.system.schema import LazyArray, LazySparseMatrix, ObjectData, load_value

MAX_BYTES_LENGTH = 1 << 26  # of a value of type bytes


class Decoder:
    """Decodes JSON and blocks to values."""

    def __init__(self, blocks: Blocks, terms: dict, versions: dict):
        self.blocks, self.terms, self.python = blocks, terms, versions["python"]
        self.origin = f"the file is of tamis {versions['tamis']}"

    def model(self, node: dict, depth: int = 0) -> ObjectData:
        """Return the data of an estimator; parameters that the file lacks get their defaults."""
        name = node["class"]
        cls = classes.model_class(name)
        if cls is None:
            raise ModelFileError(
                f"class {name!r} is unknown to this tamis ({self.origin}). Upgrade tamis."
            )
        state = {key: self.value(value, depth + 1) for key, value in node["parameters"].items()}
        defaults = classes.parameters(cls)
        for key in state:
            if key not in defaults:
                raise ModelFileError(
                    f"{name} has no parameter {key!r} in this tamis ({self.origin}). Install that "
                    "version of tamis, or fit the model again."
                )
        for key, parameter in defaults.items():
            if state.setdefault(key, parameter.default) is inspect.Parameter.empty:
                raise ModelFileError(
                    f"{name} needs the parameter {key!r}, which the file lacks. Fit the model "
                    "again."
                )
        attributes = self._attributes(node, depth)
        if attributes.keys() & defaults.keys():
            raise ModelFileError(f"{name} has parameters among its attributes. {RESAVE_ADVICE}")
        return ObjectData(cls, state, attributes)

    def _attributes(self, node: dict, depth: int) -> dict:
        return {key: self.value(value, depth + 1) for key, value in node["attributes"].items()}

    def value(self, node: Any, depth: int) -> Any:
        """Decode any value of the format."""
        if depth > MAX_DEPTH:
            raise ModelFileError(
                f"values are nested deeper than {MAX_DEPTH} levels. {RESAVE_ADVICE}"
            )
        if isinstance(node, list):
            return [self.value(item, depth + 1) for item in node]
        if not isinstance(node, dict):
            return node
        method = self.METHODS.get(node["type"])
        if method is None:
            raise ModelFileError(
                f"holds a value of the unknown type {node['type']!r}. {RESAVE_ADVICE}"
            )
        return method(self, node, depth)

    def _value_of_type(self, types, node, depth: int):
        """Return a value that must be of one of the types."""
        value = self.value(node, depth + 1)
        if not isinstance(value, types):
            raise ModelFileError(
                f"holds a {type(value).__name__} where it cannot be. {RESAVE_ADVICE}"
            )
        return value

    # ----------------------------------------------------------------------- plain values
    def _int(self, node, depth):
        return int(node["hex"], 16)

    def _float(self, node, depth):
        return struct.unpack(">d", bytes.fromhex(node["bits"]))[0]

    def _str(self, node, depth):
        return bytes.fromhex(node["hex"]).decode("utf-8", "surrogatepass")

    def _bytes(self, node, depth):
        block = self.blocks.lazy_array(node["block"])
        if math.prod(block.shape) > MAX_BYTES_LENGTH:
            raise ModelFileError(
                f"holds {math.prod(block.shape)} bytes as one value, more than {MAX_BYTES_LENGTH}. "
                f"{RESAVE_ADVICE}"
            )
        return load_value(block, "").tobytes()

    def _json(self, node, depth):
        block = self.blocks.lazy_array(node["block"])
        if block.zeros or block.dtype != np.uint8:
            raise ModelFileError(f"block {node['block']} is no text. {RESAVE_ADVICE}")
        return self.value(from_json(load_value(block, "").tobytes()), depth)

    def _tuple(self, node, depth):
        return tuple(self.value(item, depth + 1) for item in node["items"])

    def _dict(self, node, depth):
        return {
            self._value_of_type((str, int, float, np.generic), key, depth): self.value(
                item, depth + 1
            )
            for key, item in node["items"]
        }

    # ----------------------------------------------------------------------- NumPy and SciPy
    def _numpy_str(self, node, depth):
        return np.str_(self._value_of_type(str, node["value"], depth - 1))

    def _numpy_bytes(self, node, depth):
        return np.bytes_(self._value_of_type(bytes, node["value"], depth - 1))

    def _scalar(self, node, depth):
        array = np.frombuffer(bytes.fromhex(node["hex"]), read_dtype(node["dtype"])).reshape(1)
        return to_native(check_bits(array))[0]

    def _array(self, node, depth):
        block = self.blocks.lazy_array(node["block"])
        if node.get("order") != "F":
            return block
        return LazyArray(
            block.dtype, block.shape[::-1], block.zeros, lambda inspect: block.read(inspect).T
        )

    def _objects(self, node, depth):
        shape, items = read_shape(node["shape"]), node["items"]
        if math.prod(shape) != len(items):
            raise ModelFileError(
                f"an array of shape {shape} has {len(items)} items. {RESAVE_ADVICE}"
            )
        array = np.empty(len(items), object)
        for position, item in enumerate(items):
            array[position] = self._value_of_type((str, type(None), int, float), item, depth)
        return array.reshape(shape)

    def _sparse(self, node, depth):
        arrays = {
            name: self._value_of_type(LazyArray, node[name], depth)
            for name in ("data", "indices", "indptr")
        }
        return LazySparseMatrix(
            classes.SPARSE_CLASSES[node["class"]], read_shape(node["shape"]), arrays
        )

    def _generator(self, node, depth):
        state = self._value_of_type(dict, node["state"], depth)
        bit_generator = classes.BIT_GENERATORS[state["bit_generator"]]()
        generator_state = state["state"]
        if isinstance(bit_generator, np.random.MT19937):
            key, position = generator_state["key"], generator_state["pos"]
            # NumPy checks neither, and would read beyond the key.
            if not (
                isinstance(key, LazyArray)
                and key.shape == (624,)
                and key.dtype == np.uint32
                and type(position) is int
                and 0 <= position <= 624
            ):
                raise ModelFileError(f"a random generator has an impossible state. {RESAVE_ADVICE}")
            generator_state["key"] = load_value(key, "")
        if node["type"] == "Generator":
            bit_generator.state = state
            return np.random.Generator(bit_generator)
        generator = np.random.RandomState(bit_generator)
        generator.set_state(state)
        return generator

    # ----------------------------------------------------------------------- tamis
    def _term(self, node, depth):
        cls = self._term_class(node["name"], node.get("digest"))
        fields = {
            name: load_value(self.value(item, depth + 1), name)
            for name, item in node["fields"].items()
        }
        for name in fields:
            if name not in cls._fields:
                raise ModelFileError(
                    f"the term {node['name']} has no field {name!r} in this tamis ({self.origin}). "
                    "Upgrade tamis, or fit the model again."
                )
        return cls(**fields)

    def _term_class(self, name, digest) -> type[Any]:
        """Return a term of tamis, or a term of the user where the file has a digest of its code."""
        if digest is None:
            cls = classes.shipped_terms().get(name)
            if cls is None:
                raise ModelFileError(
                    f"uses the term {name!r}, unknown to this tamis ({self.origin}). Upgrade tamis."
                )
            return cls
        if (name, digest) in self.terms:
            return self.terms[name, digest]
        class_name = str(name).rpartition(".")[2]
        if any(name == other for other, _ in self.terms):
            raise ModelFileError(
                f"the code of the term {name} changed since the model was saved (or the Python "
                f"that compiled it, then {self.python}). Pass the class as it was then, or fit the "
                "model again."
            )
        raise ModelFileError(
            f"uses the term {name}, defined outside tamis. Pass its class: load(path, "
            f"terms=[{class_name}])."
        )

    def _nested_object(self, node, depth):
        cls = classes.nested_class(node["class"])
        if cls is None:
            raise ModelFileError(
                f"part {node['class']!r} is unknown to this tamis ({self.origin}). Upgrade tamis."
            )
        return ObjectData(cls, {}, self._attributes(node, depth))

    def _nested_model(self, node, depth):
        return self.model(node, depth)

    METHODS: ClassVar[dict] = {
        "int": _int,
        "float": _float,
        "str": _str,
        "bytes": _bytes,
        "json": _json,
        "tuple": _tuple,
        "dict": _dict,
        "numpy.str_": _numpy_str,
        "numpy.bytes_": _numpy_bytes,
        "scalar": _scalar,
        "array": _array,
        "objects": _objects,
        "sparse": _sparse,
        "Generator": _generator,
        "RandomState": _generator,
        "term": _term,
        "part": _nested_object,
        "model": _nested_model,
    }
