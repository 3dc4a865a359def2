"""A linear model as an ONNX graph: the kept columns are gathered, and the rest is small."""

import numpy as np

from tamis.exporting.forms.onnx_fields import scores_of_fields
from tamis.exporting.forms.onnx_graph import FLOATS, Graph
from tamis.exporting.linear import IDENTITY, LOG, SOFTMAX, Linear
from tamis.system.spelling import option


def onnx_of(linear: Linear, inputs: str | None = None) -> bytes:
    """The bytes of the file.

    Its input `rows` is a tensor of float32 with all columns, or with the kept ones alone; or there
    is an input a field of a record. Its outputs are `scores`, `probabilities` where there are some,
    and `predictions` of classes or means; of fields the first two are doubles, else float32.
    """
    if inputs not in (None, "all", "kept", "fields"):
        raise ValueError(f"{option('inputs', inputs)} is none of all, kept, fields.")
    if linear.fields.is_hashed and inputs in (None, "fields"):
        raise ValueError(
            "the model hashes names, which is not written as a graph. Export it to json or python, "
            f"pass {option('inputs', 'all')} to give it hashed columns, or fit without "
            f"{option('hash_bits')}."
        )
    inputs = inputs or ("fields" if linear.fields.records else "all")
    try:
        import onnx
    except ImportError:
        raise ImportError(
            "ONNX needs the package onnx: pip install 'tamis[export]'. Without it models go to "
            "json, python, sql and scorecard."
        ) from None
    graph = Graph(onnx)
    if inputs == "fields":
        scores = scores_of_fields(graph, linear)
    else:
        _refuse_sizes(linear)
        columns = linear.n_features if inputs == "all" else len(linear.columns)
        rows = graph.input("rows", columns)
        if inputs == "all":
            rows = graph.add("Gather", rows, graph.constant(linear.columns), axis=1)
        rows = graph.add("Cast", rows, to=onnx.TensorProto.DOUBLE)  # sums of few lose nothing
        weights, begun = graph.constant(linear.weights), graph.constant(linear.intercepts)
        scores = graph.add("Gemm", rows, weights, begun)
    _output(graph, scores, "scores", linear.outputs, inputs)
    if linear.classes is not None:
        if linear.link != IDENTITY:
            likely = _probabilities(graph, linear, scores)
            width = linear.outputs if linear.labels else len(linear.classes)
            _output(graph, likely, "probabilities", width, inputs)
        _predict(graph, linear, scores)
    elif linear.link == LOG:
        _predict_means(graph, linear, scores)
    model = graph.made(linear)
    onnx.checker.check_model(model)
    return model.SerializeToString()


def _output(graph: Graph, value: str, name: str, width: int, inputs: str) -> None:
    """Give numbers out in the precision of the inputs: doubles of fields, else float32."""
    kind = graph.onnx.TensorProto.DOUBLE
    if inputs != "fields":
        kind = graph.onnx.TensorProto.FLOAT
        value = graph.add("Cast", value, to=kind)
    graph.output(value, name, width, kind)


def _refuse_sizes(linear: Linear) -> None:
    """Refuse columns that float32 has no numbers for: a weight is large where they are tiny, and
    tiny where they are large.
    """
    weights = np.abs(linear.weights).max(axis=1, initial=0.0)
    spreads = np.ones(len(weights)) if linear.spread is None else linear.spread
    wrong = (weights > FLOATS) | (weights * FLOATS < 1.0)
    wrong |= (spreads > FLOATS) | (spreads * FLOATS < 1.0)
    if wrong.any():
        at = int(np.argmax(wrong))
        raise ValueError(
            f"the graph takes columns as float32, which has numbers from {1 / FLOATS:.0e} to "
            f"{FLOATS:.0e}, and {linear.names[at]!r:.80} has a weight of {weights[at]:.3g}. Pass "
            f"{option('inputs', 'fields')}, whose numbers are doubles, or fit it in other units."
        )


def _probabilities(graph: Graph, linear: Linear, scores: str) -> str:
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


def _predict_means(graph: Graph, linear: Linear, scores: str) -> None:
    """The mean of every row, as doubles."""
    largest = graph.constant(np.array(linear.largest_score))
    is_larger = graph.add("Greater", scores, largest)  # unlike Clip, this says what becomes of nan
    means = graph.add("Exp", graph.add("Where", is_larger, largest, scores))
    width = None if linear.outputs == 1 else linear.outputs
    if width is None:
        means = graph.add("Squeeze", means, graph.constant(np.array([1])))
    graph.output(means, "predictions", width, graph.onnx.TensorProto.DOUBLE)


def _predict(graph: Graph, linear: Linear, scores: str) -> None:
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
