import pytest
import torch
from torch import nn
from torch.testing import assert_close

import oracle
from cases import randomise_
from hamiltone.nn import QLinear, isotropic_


@pytest.mark.parametrize("bias", [True, False])
@pytest.mark.parametrize("leading", [(), (3,), (2, 3)])
def test_linear_is_x_times_w(bias: bool, leading: tuple[int, ...]) -> None:
    layer = randomise_(QLinear(3, 5, bias).double())
    x = torch.randn(*leading, 4, 3, dtype=torch.float64)
    expected = [oracle.linear(row, layer.weight, layer.bias) for row in oracle.rows(x.reshape(-1, 4, 3))]
    assert_close(layer(x), oracle.tensor(expected).reshape(*leading, 4, 5))


def test_linear_is_not_w_times_x() -> None:
    layer = randomise_(QLinear(1, 1, bias=False).double())
    x = torch.randn(1, 4, 1, dtype=torch.float64)
    swapped = oracle.multiply(oracle.cells(layer.weight)[0, 0], oracle.rows(x)[0][0])
    assert (layer(x)[0, :, 0] - torch.tensor(swapped)).abs().max() > 1e-2


def test_linear_has_a_quarter_of_the_real_weights() -> None:
    assert 4 * QLinear(6, 10).weight.numel() == nn.Linear(24, 40).weight.numel()
    assert QLinear(6, 10).bias.numel() == nn.Linear(24, 40).bias.numel()


def test_linear_gradients_are_right() -> None:
    layer = randomise_(QLinear(2, 3).double())
    x = torch.randn(2, 4, 2, dtype=torch.float64, requires_grad=True)
    assert torch.autograd.gradcheck(lambda x, *_: layer(x), (x, *layer.parameters()))


def test_linear_uses_the_initialisation_it_is_handed() -> None:
    torch.manual_seed(7)
    weight = isotropic_(torch.empty(4, 5, 3), 3, 5)
    torch.manual_seed(7)
    assert torch.equal(QLinear(3, 5, init=isotropic_).weight, weight)


def test_linear_shows_its_sizes_in_quaternions() -> None:
    assert repr(QLinear(3, 5)) == "QLinear(3, 5, bias=True)"


@pytest.mark.parametrize("shape", [(2, 3, 4), (2, 4, 5), (3,), (12,)])
def test_linear_says_which_shape_it_expected(shape: tuple[int, ...]) -> None:
    with pytest.raises(ValueError, match=r"QLinear expected \(\.\.\., 4, 3\), got shape \("):
        QLinear(3, 5)(torch.zeros(shape))
