from functools import cache

import pytest
import torch
from torch import Tensor, nn
from torch.export import ExportedProgram
from torch.testing import assert_close

from layers import ATTENTIONS, CASES, DEAD_ROW, OTHER_SIZES, SIZE, Case, Inputs

REASON = "ONNX export needs the extra: pip install 'hamiltone[export]'"
pytest.importorskip("onnx", reason=REASON)
pytest.importorskip("onnxscript", reason=REASON)
onnxruntime = pytest.importorskip("onnxruntime", reason=REASON)

pytestmark = pytest.mark.filterwarnings(r"ignore:`isinstance\(treespec, LeafSpec\)` is deprecated:FutureWarning")

TAKE_MASKS = [case for case in CASES if case.inputs(*SIZE)[1]]
TAKE_ONE_INPUT = [case for case in CASES if case not in TAKE_MASKS]


class SideBySide(nn.Module):
    """Small layers as one model, because an export costs more than what it exports; equal inputs are shared."""

    def __init__(self, cases: list[Case]) -> None:
        super().__init__()
        self.layers = nn.ModuleList(case.module() for case in cases)
        self.examples = list(dict.fromkeys(case.inputs for case in cases))
        self.source = [self.examples.index(case.inputs) for case in cases]

    def forward(self, *inputs: Tensor) -> list[Tensor]:
        return [layer(inputs[i]) for layer, i in zip(self.layers, self.source, strict=True)]


def session(program: ExportedProgram) -> "onnxruntime.InferenceSession":
    model = torch.onnx.export(program, dynamo=True, verbose=False).model_proto
    return onnxruntime.InferenceSession(model.SerializeToString(), providers=["CPUExecutionProvider"])


def run(session: "onnxruntime.InferenceSession", *tensors: Tensor) -> list[Tensor]:
    names = [node.name for node in session.get_inputs()]
    outputs = session.run(None, {name: value.numpy() for name, value in zip(names, tensors, strict=True)})
    return [torch.from_numpy(y) for y in outputs]


@cache
def layer_session(case: Case) -> "tuple[nn.Module, onnxruntime.InferenceSession]":
    module, program = case.exported()
    return module, session(program)


def tensors(inputs: Inputs) -> list[Tensor]:
    x, options = inputs
    return [x, *(value for value in options.values() if isinstance(value, Tensor))]


@pytest.mark.parametrize("case", TAKE_MASKS, ids=str)
def test_onnxruntime_agrees_at_other_batches_and_lengths(case: Case) -> None:
    module, onnx = layer_session(case)
    for size in OTHER_SIZES:
        x, options = case.inputs(*size)
        (y,) = run(onnx, *tensors((x, options)))
        with torch.no_grad():
            assert_close(y, module(x, **options), rtol=1e-4, atol=1e-5)


def test_onnxruntime_agrees_for_every_layer_of_one_input() -> None:
    model = SideBySide(TAKE_ONE_INPUT).eval()
    shapes = {case.inputs: case.dynamic_shapes()[0] for case in TAKE_ONE_INPUT}
    with torch.no_grad():
        inputs = tuple(example(*SIZE)[0] for example in model.examples)
        onnx = session(torch.export.export(model, inputs, dynamic_shapes=(tuple(shapes.values()),)))
        for size in OTHER_SIZES:
            inputs = tuple(example(*size)[0] for example in model.examples)
            for case, y, expected in zip(TAKE_ONE_INPUT, run(onnx, *inputs), model(*inputs), strict=True):
                assert_close(y, expected, rtol=1e-4, atol=1e-5, msg=lambda text, case=case: f"{case}: {text}")


@pytest.mark.parametrize("case", ATTENTIONS, ids=str)
def test_a_query_that_sees_nothing_gives_the_output_bias_in_onnx(case: Case) -> None:
    module, onnx = layer_session(case)
    for size in OTHER_SIZES:
        (y,) = run(onnx, *tensors(case.inputs(*size)))
        for row in y[:, DEAD_ROW]:
            assert_close(row.flatten(), module.out.bias.flatten(), rtol=0.0, atol=1e-7)
