"""Builder of an ONNX graph."""

from typing import Any

import numpy as np

import tamis
from tamis.exporting.linear import LinearModel
from tamis.system.spelling import format_option

OPSET, ML_OPSET, IR_VERSION = 17, 3, 8  # of ONNX 1.12, which older runtimes support
NAME_PREFIX = "tamis/"  # of the names of nodes and constants
ML_DOMAIN = "ai.onnx.ml"
FLOAT32_LIMIT = 1e37  # about the largest float32 number, and 1 over the smallest
OUTPUT_NAMES = ("scores", "probabilities", "predictions")


class OnnxGraph:
    """An ONNX graph under construction."""

    def __init__(self, onnx: Any):
        self.onnx, self.nodes, self.constants = onnx, list[Any](), list[Any]()
        self.inputs, self.outputs = list[Any](), list[Any]()
        self.domains = {"": OPSET}

    def input(self, name: str, n_columns: int | None, kind: int | None = None) -> str:
        """Add an input tensor of rows; return its name."""
        if not name or name in OUTPUT_NAMES or name.startswith(NAME_PREFIX):
            raise ValueError(
                f"a graph cannot have an input {name!r}, which is empty or reserved. "
                f"Rename the column before you fit, or pass {format_option('inputs', 'kept')}."
            )
        kind = self.onnx.TensorProto.FLOAT if kind is None else kind
        self.inputs.append(self.onnx.helper.make_tensor_value_info(name, kind, [None, n_columns]))
        return name

    def constant(self, values: np.ndarray) -> str:
        """Add a constant tensor; return its name."""
        name = f"{NAME_PREFIX}constant_{len(self.constants)}"
        self.constants.append(self.onnx.numpy_helper.from_array(np.asarray(values), name))
        return name

    def add(self, operator: str, *inputs: str, **settings: Any) -> str:
        """Add a node; return the name of its output."""
        name = f"{NAME_PREFIX}{operator.lower()}_{len(self.nodes)}"
        self.nodes.append(self.onnx.helper.make_node(operator, inputs, [name], name, **settings))
        return name

    def encode_labels(self, words: str, codes: dict[str, int]) -> str:
        """Return the codes of words; 0 for unknown words."""
        self.domains[ML_DOMAIN] = ML_OPSET
        return self.add(
            "LabelEncoder",
            words,
            domain=ML_DOMAIN,
            keys_strings=list(codes),
            values_int64s=list(codes.values()),
            default_int64=0,
        )

    def output(self, value: str, name: str, n_columns: int | None, kind: int) -> None:
        """Add an output tensor."""
        self.nodes.append(self.onnx.helper.make_node("Identity", [value], [name], name))
        shape = [None] if n_columns is None else [None, n_columns]
        self.outputs.append(self.onnx.helper.make_tensor_value_info(name, kind, shape))

    def to_model(self, linear: LinearModel) -> Any:
        """Return the ONNX model, with the selected columns and their names as metadata."""
        helper = self.onnx.helper
        graph = helper.make_graph(self.nodes, "tamis", self.inputs, self.outputs, self.constants)
        model = helper.make_model(
            graph,
            opset_imports=[helper.make_opsetid(*pair) for pair in self.domains.items()],
            ir_version=IR_VERSION,
        )
        model.producer_name, model.producer_version = "tamis", tamis.__version__
        model.doc_string = linear.title
        columns = " ".join(map(str, linear.columns.tolist()))
        names = "\n".join(" ".join(name.split()) for name in linear.names)
        helper.set_model_props(model, {"columns": columns, "names": names})
        return model
