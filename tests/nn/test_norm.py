import pytest
import torch
from torch import nn
from torch.testing import assert_close

import oracle
from cases import randomise_
from hamiltone.nn import QLayerNorm, QRMSNorm


def test_rms_norm_is_equations_17_and_18() -> None:
    layer = randomise_(QRMSNorm(3, eps=0.1).double())
    x = torch.randn(2, 5, 4, 3, dtype=torch.float64)
    expected = [oracle.tensor([oracle.rms_norm(row, layer.gain, 0.1) for row in oracle.rows(sample)]) for sample in x]
    assert_close(layer(x), torch.stack(expected))


@pytest.mark.parametrize("component", range(4))
def test_rms_norm_looks_at_one_quaternion_only(component: int) -> None:
    layer, x = QRMSNorm(8), torch.randn(4, 8)
    changed = x.clone()
    changed[component, 2] += 1.0
    moved = (layer(changed) - layer(x)).abs() > 1e-6
    assert moved[:, 2].all()
    assert moved.sum() == 4


@pytest.mark.parametrize("bias", [True, False])
def test_layer_norm_centres_each_component_and_divides_by_one_rms(bias: bool) -> None:
    layer = randomise_(QLayerNorm(3, eps=0.1, bias=bias).double())
    x = torch.randn(2, 5, 4, 3, dtype=torch.float64)
    expected = [
        oracle.tensor([oracle.layer_norm(row, layer.gain, layer.bias, 0.1) for row in oracle.rows(sample)])
        for sample in x
    ]
    assert_close(layer(x), torch.stack(expected))
    fresh = QLayerNorm(64)(3 + 5 * torch.randn(10, 4, 64))
    assert_close(fresh.mean(-1), torch.zeros(10, 4), atol=1e-5, rtol=0)
    assert_close(fresh.square().mean((-2, -1)), torch.ones(10), atol=1e-4, rtol=0)


@pytest.mark.parametrize("layer", [QRMSNorm(3), QLayerNorm(3), QLayerNorm(3, bias=False)], ids=repr)
def test_sequence_norm_gradients_are_right(layer: nn.Module) -> None:
    layer = randomise_(layer.double())
    x = torch.randn(2, 4, 3, dtype=torch.float64, requires_grad=True)
    assert torch.autograd.gradcheck(lambda x, *_: layer(x), (x, *layer.parameters()))


@pytest.mark.parametrize("layer", [QRMSNorm(3), QLayerNorm(3)], ids=repr)
def test_norm_of_zero_is_finite_with_finite_gradients(layer: nn.Module) -> None:
    x = torch.zeros(2, 4, 3, requires_grad=True)
    layer(x).sum().backward()
    assert layer(x).isfinite().all()
    assert x.grad.isfinite().all()


@pytest.mark.parametrize("layer", [QRMSNorm(3), QLayerNorm(3)], ids=repr)
@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16])
def test_half_precision_squares_do_not_overflow(layer: nn.Module, dtype: torch.dtype) -> None:
    x = 1000 * torch.randn(5, 4, 3)
    y = layer(x.to(dtype))
    assert y.dtype == dtype
    assert_close(y.float(), layer(x), atol=0.05, rtol=0.05)


@pytest.mark.parametrize("layer", [QRMSNorm(3), QLayerNorm(3)], ids=repr)
@pytest.mark.parametrize("shape", [(2, 3, 3), (2, 4, 5), (3,)])
def test_sequence_norms_say_which_shape_they_expected(layer: nn.Module, shape: tuple[int, ...]) -> None:
    with pytest.raises(ValueError, match=rf"{type(layer).__name__} expected \(\.\.\., 4, 3\), got shape"):
        layer(torch.zeros(shape))
