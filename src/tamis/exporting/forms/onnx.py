"""A linear model as an ONNX graph that gathers the selected columns first."""

import numpy as np

from tamis.exporting.forms.onnx_fields import field_scores
from tamis.exporting.forms.onnx_graph import FLOAT32_LIMIT, OnnxGraph
from tamis.exporting.linear import IDENTITY, LOG, SOFTMAX, LinearModel
from tamis.system.spelling import format_option


def to_onnx(linear: LinearModel, inputs: str | None = None) -> bytes:
    """Return the bytes of the file.

    Its input `rows` is a float32 tensor with all columns or the selected ones; or it has one input
    per field of a record. Its outputs are `scores`, `probabilities` if there are any, and
    `predictions` of classes or means. Scores and probabilities are doubles for fields, else
    float32.
    """
    if inputs not in (None, "all", "kept", "fields"):
        raise ValueError(f"{format_option('inputs', inputs)} is none of all, kept, fields.")
    if linear.fields.is_hashed and inputs in (None, "fields"):
        raise ValueError(
            "the model hashes names, which is not written as a graph. Export it to json or python, "
            f"pass {format_option('inputs', 'all')} to give it hashed columns, or fit without "
            f"{format_option('hash_bits')}."
        )
    inputs = inputs or ("fields" if linear.fields.records else "all")
    try:
        import onnx
    except ImportError:
        raise ImportError(
            "ONNX needs the package onnx: pip install 'tamis[export]'. Without it models go to "
            "json, python, sql and scorecard."
        ) from None
    graph = OnnxGraph(onnx)
    if inputs == "fields":
        scores = field_scores(graph, linear)
    else:
        _check_float32_range(linear)
        columns = linear.n_features if inputs == "all" else len(linear.columns)
        rows = graph.input("rows", columns)
        if inputs == "all":
            rows = graph.add("Gather", rows, graph.constant(linear.columns), axis=1)
        rows = graph.add("Cast", rows, to=onnx.TensorProto.DOUBLE)  # sums in double precision
        weights, bias = graph.constant(linear.weights), graph.constant(linear.intercepts)
        scores = graph.add("Gemm", rows, weights, bias)
    _output(graph, scores, "scores", linear.outputs, inputs)
    if linear.classes is not None:
        if linear.link != IDENTITY:
            probabilities = _probabilities(graph, linear, scores)
            n_columns = linear.outputs if linear.labels else len(linear.classes)
            _output(graph, probabilities, "probabilities", n_columns, inputs)
        _predict(graph, linear, scores)
    elif linear.link == LOG:
        _predict_means(graph, linear, scores)
    model = graph.to_model(linear)
    onnx.checker.check_model(model)
    return model.SerializeToString()


def _output(graph: OnnxGraph, value: str, name: str, n_columns: int, inputs: str) -> None:
    """Add an output in the precision of the inputs: double for fields, else float32."""
    kind = graph.onnx.TensorProto.DOUBLE
    if inputs != "fields":
        kind = graph.onnx.TensorProto.FLOAT
        value = graph.add("Cast", value, to=kind)
    graph.output(value, name, n_columns, kind)


def _check_float32_range(linear: LinearModel) -> None:
    """Raise an error for columns outside the range of float32.

    Their weight is very large where their values are tiny, and tiny where these are large.
    """
    weights = np.abs(linear.weights).max(axis=1, initial=0.0)
    deviations = np.ones(len(weights)) if linear.deviations is None else linear.deviations
    is_unsafe = (weights > FLOAT32_LIMIT) | (weights * FLOAT32_LIMIT < 1.0)
    is_unsafe |= (deviations > FLOAT32_LIMIT) | (deviations * FLOAT32_LIMIT < 1.0)
    if is_unsafe.any():
        index = int(np.argmax(is_unsafe))
        raise ValueError(
            "the graph takes columns as float32, which has numbers from "
            f"{1 / FLOAT32_LIMIT:.0e} to {FLOAT32_LIMIT:.0e}, and {linear.names[index]!r:.80} has "
            f"a weight of {weights[index]:.3g}. Pass "
            f"{format_option('inputs', 'fields')}, whose numbers are doubles, or fit it in other "
            "units."
        )


def _probabilities(graph: OnnxGraph, linear: LinearModel, scores: str) -> str:
    """Return the probabilities of all classes."""
    if linear.link == SOFTMAX:
        return graph.add("Softmax", scores, axis=1)
    if linear.calibration is not None:
        slopes, offsets = (
            graph.constant(np.ascontiguousarray(coefficients))
            for coefficients in linear.calibration.T
        )
        scores = graph.add("Add", graph.add("Mul", scores, slopes), offsets)
    half, one = graph.constant(np.array(0.5)), graph.constant(np.array(1.0))
    tanh = graph.add(
        "Tanh", graph.add("Mul", scores, half)
    )  # the same formula as in `predict_proba`
    probabilities = graph.add("Mul", graph.add("Add", one, tanh), half)
    if linear.labels:
        return probabilities
    if linear.outputs == 1:
        other = graph.add("Mul", graph.add("Sub", one, tanh), half)
        return graph.add("Concat", other, probabilities, axis=1)
    total = graph.add("ReduceSum", probabilities, graph.constant(np.array([1])), keepdims=1)
    zero, uniform = graph.constant(np.array(0.0)), graph.constant(np.array(1.0 / linear.outputs))
    divisor = graph.add("Where", graph.add("Greater", total, zero), total, one)
    normalized = graph.add("Div", probabilities, divisor)
    return graph.add("Where", graph.add("Greater", total, zero), normalized, uniform)


def _predict_means(graph: OnnxGraph, linear: LinearModel, scores: str) -> None:
    """Add the predicted mean of every row, in double precision."""
    largest = graph.constant(np.array(linear.largest_score))
    is_larger = graph.add(
        "Greater", scores, largest
    )  # unlike Clip, this defines the result for nan
    means = graph.add("Exp", graph.add("Where", is_larger, largest, scores))
    n_columns = None if linear.outputs == 1 else linear.outputs
    if n_columns is None:
        means = graph.add("Squeeze", means, graph.constant(np.array([1])))
    graph.output(means, "predictions", n_columns, graph.onnx.TensorProto.DOUBLE)


def _predict(graph: OnnxGraph, linear: LinearModel, scores: str) -> None:
    """Add the predicted class of every row, or 0 and 1 for each label."""
    onnx, classes = graph.onnx, np.array(linear.classes)
    integer = onnx.TensorProto.INT64
    if linear.labels or linear.outputs == 1:
        is_positive = graph.add("Greater", scores, graph.constant(np.array(0.0)))
        codes = graph.add("Cast", is_positive, to=integer)
        if linear.labels:
            graph.output(codes, "predictions", linear.outputs, integer)
            return
        codes = graph.add("Squeeze", codes, graph.constant(np.array([1])))
    else:
        codes = graph.add("ArgMax", scores, axis=1, keepdims=0)
    kind = {"i": integer, "u": integer, "b": onnx.TensorProto.BOOL, "f": onnx.TensorProto.DOUBLE}
    output_type = kind.get(classes.dtype.kind, onnx.TensorProto.STRING)
    classes = classes.astype(np.int64) if output_type == integer else classes
    values = (
        classes if output_type != onnx.TensorProto.STRING else classes.astype(str).astype(object)
    )
    graph.output(
        graph.add("Gather", graph.constant(values), codes), "predictions", None, output_type
    )
