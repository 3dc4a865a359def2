"""A graph of ONNX that grows by a node at a time."""

from typing import Any

import numpy as np

import tamis
from tamis.exporting.linear import Linear
from tamis.system.spelling import option

OPSET, WORDS_OPSET, IR = 17, 3, 8  # of ONNX 1.12, which runtimes of many years take
INSIDE = "tamis/"  # begins the names of nodes and constants
WORDS_DOMAIN = "ai.onnx.ml"
FLOATS = 1e37  # about the largest number of float32, and one by the smallest
OUTPUTS = ("scores", "probabilities", "predictions")


class Graph:
    """A graph that grows by a node at a time."""

    def __init__(self, onnx: Any):
        self.onnx, self.nodes, self.constants = onnx, list[Any](), list[Any]()
        self.inputs, self.outputs = list[Any](), list[Any]()
        self.domains = {"": OPSET}

    def input(self, name: str, width: int | None, kind: int | None = None) -> str:
        """A tensor of rows that is given."""
        if not name or name in OUTPUTS or name.startswith(INSIDE):
            raise ValueError(
                f"a graph cannot have an input {name!r}, which is empty or a name of its own. "
                f"Rename the column before you fit, or pass {option('inputs', 'kept')}."
            )
        kind = self.onnx.TensorProto.FLOAT if kind is None else kind
        self.inputs.append(self.onnx.helper.make_tensor_value_info(name, kind, [None, width]))
        return name

    def constant(self, values: np.ndarray) -> str:
        """A tensor that is known."""
        name = f"{INSIDE}constant_{len(self.constants)}"
        self.constants.append(self.onnx.numpy_helper.from_array(np.asarray(values), name))
        return name

    def add(self, operator: str, *given: str, **settings: Any) -> str:
        """A node; the name of what it gives."""
        name = f"{INSIDE}{operator.lower()}_{len(self.nodes)}"
        self.nodes.append(self.onnx.helper.make_node(operator, given, [name], name, **settings))
        return name

    def look_up(self, words: str, known: dict[str, int]) -> str:
        """The numbers of words; 0 of those that are not known."""
        self.domains[WORDS_DOMAIN] = WORDS_OPSET
        return self.add(
            "LabelEncoder",
            words,
            domain=WORDS_DOMAIN,
            keys_strings=list(known),
            values_int64s=list(known.values()),
            default_int64=0,
        )

    def output(self, value: str, name: str, width: int | None, kind: int) -> None:
        """Give a tensor out."""
        self.nodes.append(self.onnx.helper.make_node("Identity", [value], [name], name))
        shape = [None] if width is None else [None, width]
        self.outputs.append(self.onnx.helper.make_tensor_value_info(name, kind, shape))

    def made(self, linear: Linear) -> Any:
        """The whole, with the names of the kept columns beside it."""
        helper = self.onnx.helper
        graph = helper.make_graph(self.nodes, "tamis", self.inputs, self.outputs, self.constants)
        model = helper.make_model(
            graph,
            opset_imports=[helper.make_opsetid(*pair) for pair in self.domains.items()],
            ir_version=IR,
        )
        model.producer_name, model.producer_version = "tamis", tamis.__version__
        model.doc_string = linear.title
        columns = " ".join(map(str, linear.columns.tolist()))
        names = "\n".join(" ".join(name.split()) for name in linear.names)
        helper.set_model_props(model, {"columns": columns, "names": names})
        return model
