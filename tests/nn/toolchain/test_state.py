import copy
import io

import pytest
import torch
from torch import nn
from torch.testing import assert_close

from layers import CASES, SIZE, Case, Inputs

every_layer = pytest.mark.parametrize("case", CASES, ids=str)


def evaluate(module: nn.Module, inputs: Inputs) -> torch.Tensor:
    """Without gradients, so that real weights are cached."""
    x, options = inputs
    with torch.no_grad():
        return module.eval()(x, **options)


@every_layer
@pytest.mark.parametrize("called", [True, False], ids=["after a cached call", "fresh"])
def test_a_state_survives_the_round_trip_through_a_file(case: Case, called: bool) -> None:
    module, other, inputs = case.module(), case.module(), case.inputs(*SIZE)
    names = list(module.state_dict())
    if called:
        evaluate(module, inputs), evaluate(other, inputs)
    assert list(module.state_dict()) == names, "a cached weight is no part of the state"
    file = io.BytesIO()
    torch.save(module.state_dict(), file)
    file.seek(0)
    other.load_state_dict(torch.load(file, weights_only=True), strict=True)
    assert torch.equal(evaluate(other, inputs), evaluate(module, inputs))


@every_layer
def test_a_deep_copy_is_equal_and_independent(case: Case) -> None:
    module, inputs = case.module(), case.inputs(*SIZE)
    expected = evaluate(module, inputs)
    other = copy.deepcopy(module)
    assert torch.equal(evaluate(other, inputs), expected)
    with torch.no_grad():
        for parameter in other.parameters():
            parameter.add_(0.5)
    if list(other.parameters()):
        assert not torch.equal(evaluate(other, inputs), expected)
    assert torch.equal(evaluate(module, inputs), expected)


@every_layer
def test_a_pickled_layer_computes_the_same(case: Case) -> None:
    module, inputs = case.module(), case.inputs(*SIZE)
    expected = evaluate(module, inputs)
    file = io.BytesIO()
    torch.save(module, file)
    file.seek(0)
    assert_close(evaluate(torch.load(file, weights_only=False), inputs), expected)
