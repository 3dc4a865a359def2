"""A linear model as an ONNX graph: the kept columns are gathered, and the rest is small."""

from typing import Any

import numpy as np

import tamis
from tamis.exporting.linear import IDENTITY, SOFTMAX, Linear

OPSET, IR = 17, 8  # of ONNX 1.12, which runtimes of many years take


def onnx_of(linear: Linear, inputs: str = "all") -> bytes:
    """The bytes of the file.

    Its input `rows` is a tensor of float32 with all columns, or with the kept ones alone. Its
    outputs are `scores`, `probabilities` where there are some, and `predictions`.
    """
    if inputs not in ("all", "kept"):
        raise ValueError(f"inputs={inputs!r} is none of all, kept.")
    if linear.text is not None or linear.fields.is_hashed:
        what = "splits texts into words" if linear.text is not None else "hashes names"
        raise ValueError(
            f"the model {what}, which is not written as a graph. Export it to json or python, or "
            "export the last step alone and give it columns."
        )
    try:
        import onnx
    except ImportError:
        raise ImportError(
            "ONNX needs the package onnx: pip install 'tamis[export]'. Without it models go to "
            "json, python, sql and scorecard."
        ) from None
    graph = _Graph(onnx)
    columns = linear.n_features if inputs == "all" else len(linear.columns)
    rows = graph.input("rows", columns)
    if inputs == "all":
        rows = graph.add("Gather", rows, graph.constant(linear.columns), axis=1)
    rows = graph.add("Cast", rows, to=onnx.TensorProto.DOUBLE)  # sums of few lose nothing
    weights, begun = graph.constant(linear.weights), graph.constant(linear.intercepts)
    scores = graph.add("Gemm", rows, weights, begun)
    graph.output(graph.single(scores), "scores", linear.outputs)
    if linear.classes is not None:
        if linear.link != IDENTITY:
            likely = _probabilities(graph, linear, scores)
            width = linear.outputs if linear.labels else len(linear.classes)
            graph.output(graph.single(likely), "probabilities", width)
        _predict(graph, linear, scores)
    model = graph.made(linear)
    onnx.checker.check_model(model)
    return model.SerializeToString()


def _probabilities(graph: "_Graph", linear: Linear, scores: str) -> str:
    """Probabilities of all classes."""
    if linear.link == SOFTMAX:
        return graph.add("Softmax", scores, axis=1)
    if linear.lines is not None:
        slopes, offsets = (graph.constant(np.ascontiguousarray(line)) for line in linear.lines.T)
        scores = graph.add("Add", graph.add("Mul", scores, slopes), offsets)
    half, one = graph.constant(np.array(0.5)), graph.constant(np.array(1.0))
    bent = graph.add("Tanh", graph.add("Mul", scores, half))  # as the models do it
    likely = graph.add("Mul", graph.add("Add", one, bent), half)
    if linear.labels:
        return likely
    if linear.outputs == 1:
        other = graph.add("Mul", graph.add("Sub", one, bent), half)
        return graph.add("Concat", other, likely, axis=1)
    total = graph.add("ReduceSum", likely, graph.constant(np.array([1])), keepdims=1)
    zero, alike = graph.constant(np.array(0.0)), graph.constant(np.array(1.0 / linear.outputs))
    safe = graph.add("Where", graph.add("Greater", total, zero), total, one)
    found = graph.add("Div", likely, safe)
    return graph.add("Where", graph.add("Greater", total, zero), found, alike)


def _predict(graph: "_Graph", linear: Linear, scores: str) -> None:
    """The class of every row, or 0 and 1 of its labels."""
    onnx, classes = graph.onnx, np.array(linear.classes)
    whole = onnx.TensorProto.INT64
    if linear.labels or linear.outputs == 1:
        above = graph.add("Greater", scores, graph.constant(np.array(0.0)))
        codes = graph.add("Cast", above, to=whole)
        if linear.labels:
            graph.output(codes, "predictions", linear.outputs, whole)
            return
        codes = graph.add("Squeeze", codes, graph.constant(np.array([1])))
    else:
        codes = graph.add("ArgMax", scores, axis=1, keepdims=0)
    kind = {"i": whole, "u": whole, "b": onnx.TensorProto.BOOL, "f": onnx.TensorProto.DOUBLE}
    held = kind.get(classes.dtype.kind, onnx.TensorProto.STRING)
    classes = classes.astype(np.int64) if held == whole else classes
    values = classes if held != onnx.TensorProto.STRING else classes.astype(str).astype(object)
    graph.output(graph.add("Gather", graph.constant(values), codes), "predictions", None, held)


class _Graph:
    """A graph that grows by a node at a time."""

    def __init__(self, onnx: Any):
        self.onnx, self.nodes, self.constants = onnx, list[Any](), list[Any]()
        self.inputs, self.outputs = list[Any](), list[Any]()

    def input(self, name: str, width: int) -> str:
        """A tensor of rows that is given."""
        single = self.onnx.TensorProto.FLOAT
        self.inputs.append(self.onnx.helper.make_tensor_value_info(name, single, [None, width]))
        return name

    def constant(self, values: np.ndarray) -> str:
        """A tensor that is known."""
        name = f"constant_{len(self.constants)}"
        self.constants.append(self.onnx.numpy_helper.from_array(np.asarray(values), name))
        return name

    def add(self, operator: str, *given: str, **settings: Any) -> str:
        """A node; the name of what it gives."""
        name = f"{operator.lower()}_{len(self.nodes)}"
        self.nodes.append(self.onnx.helper.make_node(operator, given, [name], name, **settings))
        return name

    def single(self, value: str) -> str:
        """Numbers in the precision that is given out."""
        return self.add("Cast", value, to=self.onnx.TensorProto.FLOAT)

    def output(self, value: str, name: str, width: int | None, kind: int | None = None) -> None:
        """Give a tensor out."""
        self.nodes.append(self.onnx.helper.make_node("Identity", [value], [name], name))
        shape = [None] if width is None else [None, width]
        kind = self.onnx.TensorProto.FLOAT if kind is None else kind
        self.outputs.append(self.onnx.helper.make_tensor_value_info(name, kind, shape))

    def made(self, linear: Linear) -> Any:
        """The whole, with the names of the kept columns beside it."""
        helper = self.onnx.helper
        graph = helper.make_graph(self.nodes, "tamis", self.inputs, self.outputs, self.constants)
        model = helper.make_model(
            graph, opset_imports=[helper.make_opsetid("", OPSET)], ir_version=IR
        )
        model.producer_name, model.producer_version = "tamis", tamis.__version__
        model.doc_string = linear.title
        columns = " ".join(map(str, linear.columns.tolist()))
        names = "\n".join(" ".join(name.split()) for name in linear.names)
        helper.set_model_props(model, {"columns": columns, "names": names})
        return model
