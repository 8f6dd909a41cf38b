import copy
import os
import shutil
from collections.abc import Callable
from functools import cache
from typing import Any

import pytest
import torch
from torch import Tensor, nn
from torch._dynamo.testing import CompileCounterWithBackend
from torch.testing import assert_close

from cases import randomise_
from hamiltone.nn import HamiltonAttention, KVCache, QBatchNorm, SharedScoreAttention
from layers import ATTENTIONS, CASES, DEAD_ROW, DIM, HEADS, SIZE, Case, restricted, transformer_block

needs_cpp = pytest.mark.skipif(
    "CXX" not in os.environ and not any(map(shutil.which, ("g++", "clang++", "c++"))),
    reason="inductor needs a C++ compiler: g++, clang++, c++ or the one that CXX names",
)
inductor_warnings = pytest.mark.filterwarnings(r"ignore:`torch\.jit\.script_method` is deprecated:DeprecationWarning")
steps = [pytest.param(case, True, id=f"{case}-train") for case in CASES if not case.folded]
steps += [pytest.param(case, False, id=f"{case}-eval") for case in CASES if case.layer is QBatchNorm]


@pytest.fixture(autouse=True)
def reset() -> None:
    torch._dynamo.reset()


def compiled(function: Callable[..., Any], backend: str = "aot_eager") -> Callable[..., Any]:
    return torch.compile(function, fullgraph=True, backend=backend)


def gradients(module: nn.Module, x: Tensor, y: Tensor) -> dict[str, Tensor]:
    y.backward(torch.randn(y.shape, generator=torch.Generator().manual_seed(3)))
    return {"x": x.grad, **{name: p.grad for name, p in module.named_parameters() if p.requires_grad}}


@pytest.mark.parametrize(("case", "training"), steps)
def test_a_compiled_training_step_gives_the_same_output_gradients_and_statistics(case: Case, training: bool) -> None:
    eager = case.module().train(training)
    module = copy.deepcopy(eager)
    x, options = case.inputs(*SIZE)
    ours, theirs = x.clone().requires_grad_(), x.clone().requires_grad_()
    y, expected = compiled(module)(ours, **options), eager(theirs, **options)
    assert_close(y, expected)
    assert_close(gradients(module, ours, y), gradients(eager, theirs, expected))
    assert_close(module.state_dict(), eager.state_dict())


@cache
def inference(case: Case) -> tuple[nn.Module, Tensor, Tensor]:
    """A layer in evaluation, what it computes, and what it computes when compiled."""
    module = case.module().eval()
    x, options = case.inputs(*SIZE)
    with torch.no_grad():
        return module, module(x, **options), compiled(module)(x, **options)


@pytest.mark.parametrize("case", CASES, ids=str)
def test_compiled_inference_equals_eager(case: Case) -> None:
    _, expected, y = inference(case)
    assert_close(y, expected)


@pytest.mark.parametrize("case", ATTENTIONS, ids=str)
def test_a_query_that_sees_nothing_gives_the_output_bias_eager_and_compiled(case: Case) -> None:
    module, *outputs = inference(case)
    for row in torch.cat(outputs)[:, DEAD_ROW]:
        assert torch.equal(row.flatten(), module.out.bias.flatten())


def test_compiled_decoding_equals_eager_in_three_graphs() -> None:
    """The first step finds no cache, the second one key; all later ones are one graph of dynamic length."""
    module, ours, theirs = randomise_(SharedScoreAttention(DIM, HEADS)).eval(), KVCache(), KVCache()
    backend = CompileCounterWithBackend("aot_eager")
    step = compiled(module, backend)
    with torch.no_grad():
        for token in torch.randn(6, 2, 1, 4, DIM):
            assert_close(step(token, causal=True, cache=ours), module(token, causal=True, cache=theirs))
    assert len(ours) == 6
    assert_close((ours.keys, ours.values), (theirs.keys, theirs.values))
    assert backend.frame_count == 3


@needs_cpp
@inductor_warnings
def test_inductor_agrees_and_a_query_that_sees_nothing_gives_the_output_bias() -> None:
    block, hamilton = randomise_(transformer_block()).eval(), randomise_(HamiltonAttention(DIM, HEADS)).eval()
    x, options = restricted(*SIZE)

    def run(x: Tensor) -> tuple[Tensor, Tensor]:
        return block(x, **options), hamilton(x, **options)

    with torch.no_grad():
        y, expected = compiled(run, "inductor")(x), run(x)
        assert_close(y, expected)
        attended = x[:, DEAD_ROW] + block.attention.out.bias
        assert_close(y[0][:, DEAD_ROW], attended + block.feed_forward(block.feed_forward_norm(attended)))
        assert all(torch.equal(row, hamilton.out.bias) for row in y[1][:, DEAD_ROW])
