"""The runner of other enhancers' graphs in examples/, on graphs whose answers are known."""

import importlib.util
from collections.abc import Sequence
from pathlib import Path
from types import ModuleType

import numpy as np
import pytest

REASON = "pip install 'hamiltone[export]'"
onnx = pytest.importorskip("onnx", reason=REASON)
pytest.importorskip("onnxruntime", reason=REASON)

FRAME = [1, 257, 1, 2]


@pytest.fixture(scope="module")
def peers() -> ModuleType:
    path = Path(__file__).parents[1] / "examples" / "peer_graphs.py"
    spec = importlib.util.spec_from_file_location("peer_graphs", path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def save(path: Path, nodes: Sequence, caches: int = 0, **weights: np.ndarray) -> Path:
    """A graph from the frame `x` and the caches `c0`, ... to the frame `y` and the caches `d0`, ..."""

    def frames(name: str, others: str) -> list:
        names = [name, *(f"{others}{number}" for number in range(caches))]
        return [onnx.helper.make_tensor_value_info(one, onnx.TensorProto.FLOAT, FRAME) for one in names]

    held = [onnx.numpy_helper.from_array(np.asarray(value), name) for name, value in weights.items()]
    graph = onnx.helper.make_graph(list(nodes), "tiny", frames("x", "c"), frames("y", "d"), held)
    model = onnx.helper.make_model(graph, opset_imports=[onnx.helper.make_opsetid("", 17)], ir_version=8)
    onnx.checker.check_model(model, full_check=True)
    onnx.save(model, path)
    return path


@pytest.mark.parametrize("root", [False, True])
def test_frames_and_caches_are_a_convolution_in_step_with_the_signal(
    peers: ModuleType, tmp_path: Path, root: bool
) -> None:
    """y(t) = 0.5 x(t) + 0.3 x(t - 1) + 0.2 x(t - 2), by two caches that hand frames on."""
    node = onnx.helper.make_node
    nodes = [
        node("Mul", ["x", "a"], ["now"]),
        node("Mul", ["c0", "b"], ["before"]),
        node("Mul", ["c1", "c"], ["long_before"]),
        node("Sum", ["now", "before", "long_before"], ["y"]),
        node("Identity", ["x"], ["d0"]),
        node("Identity", ["c0"], ["d1"]),
    ]
    weights = {name: np.float32(value) for name, value in {"a": 0.5, "b": 0.3, "c": 0.2}.items()}
    enhance = peers.with_graph(save(tmp_path / "tiny.onnx", nodes, caches=2, **weights), root=root)
    kernel = np.zeros(513)
    kernel[[0, 256, 512]] = 0.5, 0.3, 0.2
    generator = np.random.default_rng(0)
    for length in (1, 255, 256, 257, 1000, 2048):  # one after the other: what came before must be forgotten
        signal = generator.standard_normal(length).astype(np.float32)
        np.testing.assert_allclose(enhance(signal), np.convolve(signal, kernel)[:length], atol=1e-5)


def test_zeros_do_not_reach_a_graph_that_cannot_bear_them(peers: ModuleType, tmp_path: Path) -> None:
    path = save(tmp_path / "tiny.onnx", [onnx.helper.make_node("Div", ["x", "x"], ["y"])])
    silence = np.zeros(1000, np.float32)
    assert np.isnan(peers.with_graph(path)(silence)).any()
    assert np.isfinite(peers.with_graph(path, least=1e-9)(silence)).all()


def test_multiplications_are_counted_as_by_hand(peers: ModuleType, tmp_path: Path) -> None:
    node = onnx.helper.make_node
    nodes = [
        node("Reshape", ["x", "steps"], ["s"]),  # (257, 1, 2)
        node("GRU", ["s", "gru", "again"], ["h4"], hidden_size=4),  # (257, 1, 1, 4)
        node("Reshape", ["h4", "rows"], ["h"]),  # (1, 257, 4)
        node("MatMul", ["h", "matrix"], ["m"]),  # (1, 257, 6)
        node("Transpose", ["m"], ["t"], perm=[0, 2, 1]),  # (1, 6, 257)
        node("Conv", ["t", "conv"], ["f"], group=3, strides=[2], pads=[1, 1]),  # (1, 3, 129)
        node("ConvTranspose", ["f", "wide"], ["u"], strides=[2], pads=[1, 1]),  # (1, 2, 257)
        node("Transpose", ["u"], ["v"], perm=[0, 2, 1]),
        node("Reshape", ["v", "frame"], ["y"]),
    ]
    shapes = {"gru": (1, 12, 2), "again": (1, 12, 4), "matrix": (4, 6), "conv": (3, 2, 3), "wide": (3, 2, 3)}
    weights = {name: np.zeros(shape, np.float32) for name, shape in shapes.items()}
    targets = {"steps": np.array([257, 1, 2]), "rows": np.array([1, 257, 4]), "frame": np.array(FRAME)}
    path = save(tmp_path / "tiny.onnx", nodes, **weights, **targets)
    gru, matrix, conv, wide = 257 * 12 * (2 + 4), 257 * 4 * 6, 3 * 129 * 2 * 3, 3 * 129 * 2 * 3
    assert peers.size(path) == {
        "parameters": 24 + 48 + 24 + 18 + 18,
        "macs_per_second": int(62.5 * (gru + matrix + conv + wide)),
    }
