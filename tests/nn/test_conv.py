import pytest
import torch
from torch import nn
from torch.testing import assert_close

import oracle
from cases import randomise_
from hamiltone.nn import QConv1d, QConv2d, QConvTranspose1d, QConvTranspose2d, QLinear

PLAIN = {
    "1d": (QConv1d(2, 3, 3), 7),
    "1d, no bias": (QConv1d(2, 3, 2, bias=False), 4),
    "1d, stride padding dilation": (QConv1d(3, 2, 3, stride=2, padding=2, dilation=2), 8),
    "1d, groups": (QConv1d(4, 6, 3, padding=1, groups=2), 5),
    "1d, depthwise": (QConv1d(3, 3, 5, padding=2, groups=3), 6),
    "1d, depthwise with two filters": (QConv1d(2, 4, 3, groups=2), 5),
    "2d": (QConv2d(2, 2, (2, 3)), (3, 4)),
    "2d, per axis": (QConv2d(2, 3, (3, 2), stride=(1, 2), padding=(2, 1), dilation=(2, 1)), (4, 5)),
    "2d, groups": (QConv2d(4, 2, 3, stride=2, padding=1, groups=2), (4, 5)),
    "2d, depthwise": (QConv2d(3, 3, (1, 3), padding=(0, 1), groups=3, bias=False), (2, 4)),
}
TRANSPOSED = {
    "1d": (QConvTranspose1d(2, 3, 3), 4),
    "1d, stride padding output_padding": (QConvTranspose1d(2, 3, 4, stride=3, padding=1, output_padding=2), 4),
    "1d, dilation": (QConvTranspose1d(2, 2, 3, stride=2, dilation=2, padding=1, bias=False), 3),
    "1d, groups": (QConvTranspose1d(4, 6, 3, stride=2, groups=2), 3),
    "1d, depthwise": (QConvTranspose1d(3, 3, 2, stride=2, groups=3), 3),
    "2d": (QConvTranspose2d(2, 3, (2, 3)), (2, 3)),
    "2d, per axis": (QConvTranspose2d(2, 2, (1, 3), stride=(1, 2), padding=(0, 1), output_padding=(0, 1)), (2, 4)),
    "2d, groups": (QConvTranspose2d(4, 2, 3, stride=2, padding=1, output_padding=1, groups=2, dilation=(1, 2)), (2, 3)),
}
CASES = {f"{kind} {name}": case for kind, cases in (("", PLAIN), ("T", TRANSPOSED)) for name, case in cases.items()}


def prepare(name: str) -> tuple[nn.Module, torch.Tensor]:
    layer, size = CASES[name]
    sizes = (size,) if isinstance(size, int) else size
    return randomise_(layer.double()), torch.randn(2, 4, layer.in_channels, *sizes, dtype=torch.float64)


@pytest.mark.parametrize("name", CASES)
def test_convolution_agrees_with_the_scalar_loops(name: str) -> None:
    layer, x = prepare(name)
    convolve = oracle.transposed_convolution if layer.transposed else oracle.convolution
    expected = [convolve(sample, layer.weight, layer.bias, **layer.geometry()) for sample in x]
    assert_close(layer(x), torch.stack(expected))


@pytest.mark.parametrize("name", CASES)
def test_convolution_gradients_are_right(name: str) -> None:
    layer, x = prepare(name)
    x = x[:1].requires_grad_()
    assert torch.autograd.gradcheck(lambda x, *_: layer(x), (x, *layer.parameters()))


def test_geometry_is_torch_geometry() -> None:
    layer = QConvTranspose2d(2, 4, 3, (2, 1), (1, 0), (1, 0), 2, True, (1, 2))
    real = nn.ConvTranspose2d(8, 16, 3, (2, 1), (1, 0), (1, 0), 2, True, (1, 2))
    assert layer(torch.zeros(1, 4, 2, 5, 6)).shape[3:] == real(torch.zeros(1, 8, 5, 6)).shape[2:]
    plain = QConv2d(2, 4, 3, (2, 1), (1, 0), (1, 2), 2)
    real = nn.Conv2d(8, 16, 3, (2, 1), (1, 0), (1, 2), 2)
    assert plain(torch.zeros(1, 4, 2, 7, 8)).shape[3:] == real(torch.zeros(1, 8, 7, 8)).shape[2:]


@pytest.mark.parametrize("groups", [1, 2])
def test_transposed_convolution_by_the_conjugate_is_the_adjoint(groups: int) -> None:
    plain = QConv1d(4, 6, 3, stride=2, padding=1, groups=groups, bias=False).double()
    adjoint = QConvTranspose1d(6, 4, 3, stride=2, padding=1, groups=groups, bias=False).double()
    with torch.no_grad():
        adjoint.weight.copy_(plain.weight)
        adjoint.weight[1:] *= -1
    x = torch.randn(1, 4, 4, 9, dtype=torch.float64)
    y = torch.randn(1, 4, 6, 5, dtype=torch.float64)
    assert_close((plain(x) * y).sum(), (x * adjoint(y)).sum())


def test_a_kernel_of_one_is_the_linear_layer() -> None:
    convolution, linear = QConv1d(3, 5, 1), QLinear(3, 5)
    with torch.no_grad():
        linear.weight.copy_(convolution.weight[..., 0])
    x = torch.randn(2, 7, 4, 3)
    assert_close(convolution(x.permute(0, 2, 3, 1)).permute(0, 3, 1, 2), linear(x))


@pytest.mark.parametrize("kind", [QConv1d, QConvTranspose1d])
def test_a_depthwise_channel_sees_its_own_four_components_and_nothing_else(kind: type[nn.Module]) -> None:
    layer = randomise_(kind(3, 3, 1, groups=3))
    x = torch.randn(1, 4, 3, 1, requires_grad=True)
    for channel in range(3):
        for component in range(4):
            (grad,) = torch.autograd.grad(layer(x)[0, component, channel, 0], x)
            assert (grad[0, :, channel] != 0).all()
            assert grad.count_nonzero() == 4


@pytest.mark.parametrize("kind", [QConv1d, QConv2d, QConvTranspose1d, QConvTranspose2d])
def test_convolution_has_a_quarter_of_the_real_weights(kind: type[nn.Module]) -> None:
    real = getattr(nn, kind.__name__.removeprefix("Q"))(8, 24, 3, groups=2)
    assert 4 * kind(2, 6, 3, groups=2).weight.numel() == real.weight.numel()


def test_convolution_shows_its_sizes_in_quaternions() -> None:
    assert repr(QConv1d(2, 4, 3, groups=2)).startswith("QConv1d(2, 4, kernel_size=(3,), stride=(1,)")


@pytest.mark.parametrize(
    ("layer", "shape", "expected"),
    [
        (QConv1d(3, 5, 1), (2, 4, 2, 7), r"QConv1d expected \(B, 4, 3, N\), got shape \(2, 4, 2, 7\)"),
        (QConv1d(3, 5, 1), (2, 3, 4, 7), r"QConv1d expected \(B, 4, 3, N\)"),
        (QConv1d(3, 5, 1), (2, 12, 7), r"QConv1d expected \(B, 4, 3, N\)"),
        (QConv2d(3, 5, 1), (2, 4, 3, 7), r"QConv2d expected \(B, 4, 3, T, F\), got shape \(2, 4, 3, 7\)"),
        (QConvTranspose2d(3, 5, 1), (4, 3, 7, 7), r"QConvTranspose2d expected \(B, 4, 3, T, F\)"),
    ],
)
def test_convolution_says_which_shape_it_expected(layer: nn.Module, shape: tuple[int, ...], expected: str) -> None:
    with pytest.raises(ValueError, match=expected):
        layer(torch.zeros(shape))


@pytest.mark.parametrize(("sizes", "groups"), [((3, 4), 2), ((4, 3), 2), ((4, 4), 0)])
@pytest.mark.parametrize("kind", [QConv1d, QConvTranspose2d])
def test_groups_must_divide_the_channels(kind: type[nn.Module], sizes: tuple[int, int], groups: int) -> None:
    with pytest.raises(ValueError, match=rf"groups must divide both channel counts, got {groups} for"):
        kind(*sizes, 3, groups=groups)


def test_a_size_for_each_axis() -> None:
    with pytest.raises(ValueError, match=r"kernel_size must be one number or one per axis \(2\), got \(3, 3, 3\)"):
        QConv2d(2, 2, (3, 3, 3))
    with pytest.raises(ValueError, match=r"output_padding must be one number or one per axis \(1\), got \(1, 0\)"):
        QConvTranspose1d(2, 2, 3, stride=2, output_padding=(1, 0))
