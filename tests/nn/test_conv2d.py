import pytest
import torch
from torch import Tensor
from torch.nn import functional as F

from hamiltone.nn import conv2d as module
from hamiltone.nn.conv2d import conv2d, weight_gradient

GEOMETRY = {"stride": (1, 1), "padding": (2, 1), "dilation": (2, 1), "groups": 1}


@pytest.fixture
def always(monkeypatch) -> None:
    """Small convolutions take the path of large ones, on any processor."""
    monkeypatch.setattr(module, "_LEAST", 1)
    monkeypatch.setattr(torch.backends.cpu, "get_cpu_capability", lambda: "AVX2")


def assert_like_torch(x: Tensor, weight: Tensor, bias: Tensor | None, **geometry) -> Tensor:
    """Compare output and gradients with torch's; returns our output."""
    results = []
    for function in (conv2d, F.conv2d):
        inputs = [None if t is None else t.clone().requires_grad_() for t in (x, weight, bias)]
        y = function(*inputs, **geometry)
        (y * torch.linspace(-1, 1, y.numel()).view_as(y)).sum().backward()
        results.append([y, *(t.grad for t in inputs if t is not None)])
    for ours, theirs in zip(*results, strict=True):
        torch.testing.assert_close(ours, theirs, atol=1e-4, rtol=1e-4)
    return results[0][0]


@pytest.mark.parametrize("bias", [True, False])
@pytest.mark.parametrize("layout", [torch.channels_last, torch.contiguous_format])
def test_output_and_gradients_are_those_of_torch(always, bias, layout) -> None:
    x = torch.randn(3, 5, 9, 7).contiguous(memory_format=layout)
    parameters = [torch.randn(6, 5, 3, 3), torch.randn(6) if bias else None]
    y = assert_like_torch(x, *parameters, **GEOMETRY)
    assert "_Conv2d" in y.grad_fn.name()


def test_the_gradient_of_a_single_tap_is_a_correlation() -> None:
    gradient, x = torch.randn(1, 1, 4, 4, dtype=torch.float64), torch.randn(1, 1, 4, 4, dtype=torch.float64)
    found = weight_gradient(gradient, x, (3, 3), (2, 1), (2, 1))
    assert found.shape == (1, 1, 3, 3)
    # the last tap sees x two rows down and one column to the right
    torch.testing.assert_close(found[0, 0, 2, 2], (gradient[0, 0, :2, :3] * x[0, 0, 2:, 1:]).sum())
    torch.testing.assert_close(found[0, 0, 1, 1], (gradient * x).sum())


def test_second_derivatives_are_there(always) -> None:
    x, weight = torch.randn(1, 2, 4, 4, requires_grad=True), torch.randn(2, 2, 3, 3, requires_grad=True)
    penalties = []
    for function in (conv2d, F.conv2d):
        (slope,) = torch.autograd.grad(function(x, weight, None, **GEOMETRY).pow(3).sum(), x, create_graph=True)
        penalties.append(torch.autograd.grad(slope.square().sum(), weight)[0])
    torch.testing.assert_close(*penalties, rtol=1e-4, atol=1e-2)


@pytest.mark.parametrize("change", [{"stride": (1, 2)}, {"padding": (0, 0)}, {"groups": 2}])
def test_other_geometries_stay_with_torch(always, change) -> None:
    weight = torch.randn(6, 6 // change.get("groups", 1), 3, 3, requires_grad=True)
    y = conv2d(torch.randn(1, 6, 9, 9), weight, None, **(GEOMETRY | change))
    assert "_Conv2d" not in y.grad_fn.name()


@pytest.mark.parametrize("bias", [True, False])
def test_a_kernel_of_one_tap_keeps_the_channels_last(bias) -> None:
    x = torch.randn(2, 5, 4, 3).contiguous(memory_format=torch.channels_last)
    parameters = [torch.randn(6, 5, 1, 1), torch.randn(6) if bias else None]
    geometry = {"stride": (1, 1), "padding": (0, 0), "dilation": (1, 1), "groups": 1}
    y = assert_like_torch(x, *parameters, **geometry)
    assert y.is_contiguous(memory_format=torch.channels_last)


@pytest.mark.parametrize("change", [{"stride": (1, 2)}, {"padding": (0, 1)}, {"groups": 2}])
def test_other_geometries_of_one_tap_are_torch_s_own(change) -> None:
    x = torch.randn(2, 6, 4, 3).contiguous(memory_format=torch.channels_last)
    geometry = {"stride": (1, 1), "padding": (0, 0), "dilation": (1, 1), "groups": 1} | change
    weight = torch.randn(4, 6 // geometry["groups"], 1, 1)
    torch.testing.assert_close(conv2d(x, weight, None, **geometry), F.conv2d(x, weight, None, **geometry))
