"""Small ONNX graphs with known behaviour, in place of exported ones."""

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from hamiltone.runtime.description import KEY, Description, GraphState

onnx = pytest.importorskip("onnx", reason="building ONNX graphs needs the extra: pip install 'hamiltone[export]'")

WINDOW = Description("window", 16_000, 64, 32, None, "Apache-2.0", "0" * 64, "0.1.0")
STEP = replace(WINDOW, kind="step", latency=64, states=(GraphState("level", "next_level", (1, 2)),))


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


def fixed_mask_graph(mask: np.ndarray, n_fft: int = 512, hop: int = 256) -> bytes:
    """`enhancers.fixed_mask` as a graph: the same mask ``(F,)``, or ``()``, in every frame."""
    about, bins = replace(WINDOW, n_fft=n_fft, hop=hop), n_fft // 2 + 1
    pairs = np.stack([np.broadcast_to(mask, bins), np.zeros(bins)], -1).astype(np.float32)
    nodes = [onnx.helper.make_node("Mul", ["spectrum", "nothing"], ["zeros"])]
    nodes += [onnx.helper.make_node("Add", ["zeros", "mask"], ["gain"])]
    shape = [1, "T", bins, 2]
    constants = [floats("nothing", 0.0), onnx.numpy_helper.from_array(pairs, "mask")]
    return content(nodes, [value("spectrum", shape)], [value("gain", shape)], constants, about.to_json())


def convolutions_graph(weights: dict[str, np.ndarray], n_fft: int = 512, hop: int = 256) -> bytes:
    """`enhancers.RandomConvolutions` as a graph, from its two weights and biases: w0, b0, w1, b1."""
    about, shape = replace(WINDOW, n_fft=n_fft, hop=hop), [1, "T", n_fft // 2 + 1, 2]

    def node(kind: str, inputs: str, output: str, **attributes: Any) -> Any:
        return onnx.helper.make_node(kind, inputs.split(), output.split(), **attributes)

    nodes = [
        node("Transpose", "spectrum", "parts", perm=[0, 3, 1, 2]),
        node("ReduceL2", "parts one", "magnitude"),
        node("Mul", "magnitude nothing", "zeros"),
        node("Concat", "zeros magnitude parts", "features", axis=1),
        node("Conv", "features w0 b0", "first", pads=[2, 2, 2, 2]),
        node("Tanh", "first", "hidden"),
        node("Conv", "hidden w1 b1", "second", pads=[2, 2, 2, 2]),
        node("Tanh", "second", "both"),
        node("Split", "both", "unscaled phase", axis=1, num_outputs=2),
        node("Mul", "unscaled half", "halved"),
        node("Add", "halved half", "mask"),
        node("Cos", "phase", "cosine"),
        node("Sin", "phase", "sine"),
        node("Mul", "mask cosine", "real"),
        node("Mul", "mask sine", "imaginary"),
        node("Concat", "real imaginary", "pairs", axis=1),
        node("Transpose", "pairs", "gain", perm=[0, 2, 3, 1]),
    ]
    constants = [onnx.numpy_helper.from_array(array, name) for name, array in weights.items()]
    constants += [integers("one", 1), floats("nothing", 0.0), floats("half", 0.5)]
    return content(nodes, [value("spectrum", shape)], [value("gain", shape)], constants, about.to_json())
