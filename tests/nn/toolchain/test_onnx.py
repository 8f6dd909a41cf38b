from collections.abc import Callable

import pytest
import torch
from torch import Tensor, nn
from torch.testing import assert_close

from layers import ATTENTIONS, CASES, DEAD_ROW, OTHER_SIZES, SIZE, Case, Inputs

REASON = "ONNX export needs the extra: pip install 'hamiltone[export]'"
pytest.importorskip("onnx", reason=REASON)
pytest.importorskip("onnxscript", reason=REASON)
onnxruntime = pytest.importorskip("onnxruntime", reason=REASON)

pytestmark = pytest.mark.filterwarnings(r"ignore:`isinstance\(treespec, LeafSpec\)` is deprecated:FutureWarning")

EXAMPLES = list(dict.fromkeys(case.inputs for case in CASES))
Results = dict[Case, tuple[Tensor, Tensor]]


class SideBySide(nn.Module):
    """All layers as one model, because an export costs more than what it exports; equal inputs are shared."""

    def __init__(self) -> None:
        super().__init__()
        self.layers = nn.ModuleList(case.module() for case in CASES)

    def forward(self, inputs: list[list[Tensor]]) -> list[Tensor]:
        return [self._run(layer, case, inputs) for layer, case in zip(self.layers, CASES, strict=True)]

    @staticmethod
    def _run(layer: nn.Module, case: Case, inputs: list[list[Tensor]]) -> Tensor:
        x, *others = inputs[EXAMPLES.index(case.inputs)]
        given = iter(others)
        options = {
            name: next(given) if isinstance(value, Tensor) else value for name, value in case.inputs(*SIZE)[1].items()
        }
        return layer(x, **options)


def tensors(inputs: Inputs) -> list[Tensor]:
    x, options = inputs
    return [x, *(value for value in options.values() if isinstance(value, Tensor))]


def shapes(example: Callable[[int, int], Inputs]) -> list[dict[int, object]]:
    case = next(case for case in CASES if case.inputs is example)
    return [axes for axes in case.dynamic_shapes() if axes is not None]


@pytest.fixture(scope="module")
def model() -> SideBySide:
    torch.manual_seed(0)
    return SideBySide().eval()


@pytest.fixture(scope="module")
def results(model: SideBySide) -> list[Results]:
    """For every other size, what onnxruntime and torch give for each layer."""
    inputs = [tensors(example(*SIZE)) for example in EXAMPLES]
    with torch.no_grad():
        program = torch.export.export(model, (inputs,), dynamic_shapes=([shapes(example) for example in EXAMPLES],))
        proto = torch.onnx.export(program, dynamo=True, verbose=False, optimize=False).model_proto
        session = onnxruntime.InferenceSession(proto.SerializeToString(), providers=["CPUExecutionProvider"])
        names = [node.name for node in session.get_inputs()]
        found = []
        for size in OTHER_SIZES:
            inputs = [tensors(example(*size)) for example in EXAMPLES]
            flat = [value.numpy() for group in inputs for value in group]
            ours = map(torch.from_numpy, session.run(None, dict(zip(names, flat, strict=True))))
            found.append(dict(zip(CASES, zip(ours, model(inputs), strict=True), strict=True)))
    return found


@pytest.mark.parametrize("case", CASES, ids=str)
def test_onnxruntime_agrees_at_other_batches_and_lengths(case: Case, results: list[Results]) -> None:
    for result in results:
        assert_close(*result[case], rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("case", ATTENTIONS, ids=str)
def test_a_query_that_sees_nothing_gives_the_output_bias_in_onnx(
    case: Case, model: SideBySide, results: list[Results]
) -> None:
    bias = model.layers[CASES.index(case)].out.bias
    for result in results:
        for row in result[case][0][:, DEAD_ROW]:
            assert_close(row.flatten(), bias.flatten(), rtol=0.0, atol=1e-7)
