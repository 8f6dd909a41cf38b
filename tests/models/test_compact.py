import pytest
import torch

from hamiltone.algebra import hamilton_product
from hamiltone.models.compact import RealDepthwise


def test_the_filter_is_the_sum_over_shifted_quaternions():
    layer = RealDepthwise(3, kernel_size=5)
    x = torch.randn(2, 7, 4, 3)
    expected = torch.zeros_like(x)
    for position in range(7):
        for tap in range(5):
            if 0 <= position + tap - 2 < 7:
                expected[:, position] += x[:, position + tap - 2] * layer.weight[:, tap].detach()
    torch.testing.assert_close(layer(x), expected)


def test_the_filter_commutes_with_rotations_from_either_side():
    layer, x = RealDepthwise(3, kernel_size=5), torch.randn(2, 7, 4, 3)
    turn = torch.nn.functional.normalize(torch.randn(4, 1), dim=0).expand(2, 7, 4, 3)
    for product in (lambda y: hamilton_product(turn, y), lambda y: hamilton_product(y, turn)):
        torch.testing.assert_close(layer(product(x)), product(layer(x)), atol=1e-5, rtol=1e-5)


def test_an_even_kernel_is_refused():
    with pytest.raises(ValueError, match="must be odd"):
        RealDepthwise(3, kernel_size=4)
