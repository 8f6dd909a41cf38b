"""Small ONNX graphs with known behaviour, in place of exported ones."""

from dataclasses import replace
from typing import Any

import pytest

from hamiltone.runtime.description import KEY, Description, State

onnx = pytest.importorskip("onnx", reason="building ONNX graphs needs the extra: pip install 'hamiltone[export]'")

WINDOW = Description("window", 16_000, 64, 32, None, "Apache-2.0", "0" * 64, "0.1.0")
STEP = replace(WINDOW, kind="step", latency=64, states=(State("level", "next_level", (1, 2)),))


def halving(description: Description = WINDOW, *, metadata: str | None = None, bins: int = 33) -> bytes:
    """A graph that halves a window; one of steps multiplies its nth frame by n, which is its state."""
    step = description.kind == "step"
    spectrum = value("spectrum", [1, 1 if step else "T", bins, 2])
    gain = value("gain", [1, 1 if step else "T", bins, 2])
    if step:
        nodes = [
            onnx.helper.make_node("Add", ["level", "one"], ["next_level"]),
            onnx.helper.make_node("Slice", ["next_level", "from", "to", "axis"], ["number"]),
            onnx.helper.make_node("Mul", ["spectrum", "number"], ["gain"]),
        ]
        constants = [integers("from", 0), integers("to", 1), integers("axis", 1), floats("one", 1.0)]
        inputs, outputs = [spectrum, value("level", [1, 2])], [gain, value("next_level", [1, 2])]
    else:
        nodes, constants = [onnx.helper.make_node("Mul", ["spectrum", "half"], ["gain"])], [floats("half", 0.5)]
        inputs, outputs = [spectrum], [gain]
    return content(nodes, inputs, outputs, constants, description.to_json() if metadata is None else metadata)


def content(nodes: list[Any], inputs: list[Any], outputs: list[Any], constants: list[Any], metadata: str) -> bytes:
    """A whole file; without `metadata` it says nothing about itself."""
    graph = onnx.helper.make_graph(nodes, "graph", inputs, outputs, constants)
    model = onnx.helper.make_model(graph, opset_imports=[onnx.helper.make_opsetid("", 20)], ir_version=10)
    if metadata:
        onnx.helper.set_model_props(model, {KEY: metadata})
    return model.SerializeToString()


def value(name: str, shape: list[int | str]) -> Any:
    return onnx.helper.make_tensor_value_info(name, onnx.TensorProto.FLOAT, shape)


def floats(name: str, *values: float) -> Any:
    return onnx.helper.make_tensor(name, onnx.TensorProto.FLOAT, [len(values)], values)


def integers(name: str, *values: int) -> Any:
    return onnx.helper.make_tensor(name, onnx.TensorProto.INT64, [len(values)], values)
