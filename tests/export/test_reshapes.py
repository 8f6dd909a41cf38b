import numpy as np
import pytest

from graphs import content, floats, integers, onnx, value

REASON = "ONNX export needs the extra: pip install 'hamiltone[export]'"
ir = pytest.importorskip("onnx_ir", reason=REASON)
onnxruntime = pytest.importorskip("onnxruntime", reason=REASON)

SPLIT, MERGE = integers("split", 1, 2, 3, 5), integers("merge", 1, 6, 5)
node = onnx.helper.make_node


def reshape(source: str, shape: str, target: str):
    return node("Reshape", [source, shape], [target])


def before_and_after(nodes: list, shape: list) -> tuple[list[str], np.ndarray, np.ndarray]:
    """The operators that are left of a graph of ``(1, 6, 5)``, and what it computes before and after."""
    from hamiltone.export.reshapes import tidy

    file = content(nodes, [value("x", [1, 6, 5])], [value("y", shape)], [SPLIT, MERGE, floats("two", 2.0)], "")
    model = ir.from_proto(onnx.shape_inference.infer_shapes(onnx.load_from_string(file)))
    tidied = ir.to_proto(tidy(model)).SerializeToString()
    x = np.random.default_rng(0).standard_normal((1, 6, 5)).astype(np.float32)
    first, second = (
        onnxruntime.InferenceSession(graph, providers=["CPUExecutionProvider"]).run(None, {"x": x})[0]
        for graph in (file, tidied)
    )
    return [left.op_type for left in onnx.load_from_string(tidied).graph.node], first, second


def test_reshapes_around_an_activation_and_a_residual_vanish() -> None:
    nodes = [
        reshape("x", "split", "a"),
        node("LeakyRelu", ["a"], ["b"], alpha=0.2),
        reshape("b", "merge", "c"),
        node("Softmax", ["c"], ["d"]),  # stands for what needs the merged form
        reshape("d", "split", "e"),
        node("Add", ["b", "e"], ["f"]),
        reshape("f", "merge", "y"),
    ]
    left, before, after = before_and_after(nodes, [1, 6, 5])
    assert left.count("Reshape") <= 1 and sorted(set(left) - {"Reshape"}) == ["Add", "LeakyRelu", "Softmax"]
    np.testing.assert_array_equal(before, after)


def test_a_reshape_that_an_axis_depends_on_stays() -> None:
    nodes = [reshape("x", "split", "a"), node("Softmax", ["a"], ["b"], axis=1), reshape("b", "merge", "y")]
    left, before, after = before_and_after(nodes, [1, 6, 5])
    assert left == ["Reshape", "Softmax", "Reshape"]
    np.testing.assert_array_equal(before, after)


def test_operands_of_other_shapes_stay() -> None:
    nodes = [reshape("x", "split", "a"), node("Mul", ["a", "two"], ["b"]), reshape("b", "merge", "y")]
    left, before, after = before_and_after(nodes, [1, 6, 5])
    assert left == ["Reshape", "Mul", "Reshape"]
    np.testing.assert_array_equal(before, after)
