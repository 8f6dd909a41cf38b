import math

import pytest
import torch
from torch import nn

from cases import randomise_
from hamiltone.nn import QGLU, QPReLU, SplitActivation


@pytest.mark.parametrize(("dim", "shape"), [(-2, (2, 4, 6)), (1, (2, 4, 6, 3)), (1, (1, 4, 6, 2, 3)), (-3, (4, 6, 2))])
def test_glu_gates_each_component_by_its_own_kind(dim: int, shape: tuple[int, ...]) -> None:
    x = torch.randn(shape)
    lanes, gated = (t.movedim((dim, dim + 1), (0, 1)) for t in (x, QGLU(dim)(x)))
    assert gated.shape[:2] == (4, 3)
    for a in range(4):
        for c in range(3):
            for value, gate, result in zip(
                lanes[a, c].flatten().tolist(),
                lanes[a, c + 3].flatten().tolist(),
                gated[a, c].flatten().tolist(),
                strict=True,
            ):
                assert result == pytest.approx(value / (1 + math.exp(-gate)), rel=1e-5)


def test_a_gate_over_the_flat_axis_would_mix_components() -> None:
    x = torch.randn(4, 6)
    flat = nn.functional.glu(x.flatten(), dim=-1)
    assert (flat - QGLU()(x).flatten()).abs().max() > 1e-2


@pytest.mark.parametrize(("dim", "shape"), [(-2, (2, 4, 3)), (1, (2, 4, 3, 5)), (1, (2, 4, 3, 2, 2))])
def test_prelu_has_one_slope_for_the_four_components_of_a_channel(dim: int, shape: tuple[int, ...]) -> None:
    layer = randomise_(QPReLU(3, dim=dim))
    x = torch.randn(shape)
    y = layer(x)
    for c in range(3):
        before, after = (t.movedim((dim, dim + 1), (0, 1))[:, c].flatten().tolist() for t in (x, y))
        slope = layer.slope[c].item()
        assert after == pytest.approx([value if value >= 0 else slope * value for value in before])


def test_prelu_starts_from_the_slope_it_is_told() -> None:
    assert QPReLU(3).slope.tolist() == [0.25] * 3
    assert QPReLU(2, initial=0.5).slope.tolist() == [0.5] * 2


def test_split_activation_applies_the_function_to_each_real() -> None:
    x = torch.randn(2, 4, 3)
    assert torch.equal(SplitActivation(torch.tanh)(x), torch.tanh(x))


@pytest.mark.parametrize("layer", [QGLU(), QPReLU(4, dim=-2), SplitActivation(torch.tanh)], ids=repr)
def test_activation_gradients_are_right(layer: nn.Module) -> None:
    layer = layer.double()
    x = torch.randn(2, 4, 4, dtype=torch.float64, requires_grad=True)
    assert torch.autograd.gradcheck(lambda x, *_: layer(x), (x, *layer.parameters()))


def test_split_activation_refuses_a_function_that_changes_the_shape() -> None:
    with pytest.raises(ValueError, match=r"keeps the shape, but \(2, 4, 6\) became \(2, 4, 3\)"):
        SplitActivation(nn.functional.glu)(torch.zeros(2, 4, 6))


@pytest.mark.parametrize("layer", [QGLU(), QPReLU(6, dim=-2)], ids=repr)
def test_activations_need_a_component_axis(layer: nn.Module) -> None:
    with pytest.raises(ValueError, match=r"component axis of length 4 .* at dim -2, got shape \(2, 3, 6\)"):
        layer(torch.zeros(2, 3, 6))


@pytest.mark.parametrize(("dim", "shape"), [(-2, (2, 4, 3)), (1, (2, 4))])
def test_glu_needs_an_even_number_of_channels(dim: int, shape: tuple[int, ...]) -> None:
    with pytest.raises(ValueError, match=r"QGLU expected an even number of channels .*, got shape \(2, 4"):
        QGLU(dim)(torch.zeros(shape))


@pytest.mark.parametrize("shape", [(2, 4, 5), (2, 4)])
def test_prelu_needs_its_channels(shape: tuple[int, ...]) -> None:
    with pytest.raises(ValueError, match=r"QPReLU expected 3 channels after the component axis, got shape \(2, 4"):
        QPReLU(3)(torch.zeros(shape))
