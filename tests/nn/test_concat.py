from itertools import permutations

import pytest
import torch

import oracle
from hamiltone.nn import concat


def test_concat_joins_rows_of_quaternions() -> None:
    a, b = torch.randn(3, 4, 2), torch.randn(3, 4, 5)
    assert oracle.rows(concat([a, b])) == [
        one + other for one, other in zip(oracle.rows(a), oracle.rows(b), strict=True)
    ]


@pytest.mark.parametrize("dim", [1, -4])
def test_concat_of_maps_keeps_each_component_with_its_own_kind(dim: int) -> None:
    tensors = [torch.arange(4.0).view(1, 4, 1, 1, 1).expand(2, 4, channels, 3, 2) for channels in (1, 3, 2)]
    y = concat(tensors, dim)
    assert y.shape == (2, 4, 6, 3, 2)
    assert all((y[:, component] == component).all() for component in range(4))


def test_concat_of_the_flat_axis_would_scramble_components() -> None:
    a, b = torch.randn(4, 2), torch.randn(4, 2)
    assert not torch.equal(torch.cat([a.flatten(), b.flatten()]).view(4, 4), concat([a, b]))


@pytest.mark.parametrize("order", list(permutations(range(4))), ids=str)
def test_concat_keeps_the_memory_layout(order: tuple[int, ...]) -> None:
    sizes = [(2, 4, channels, 3) for channels in (2, 5)]
    back = [order.index(axis) for axis in range(4)]
    tensors = [torch.randn([size[axis] for axis in order]).permute(back) for size in sizes]
    y = concat(tensors, dim=1)
    assert torch.equal(y, torch.cat(tensors, dim=2))
    assert y.permute(order).is_contiguous()


def test_concat_gradients_are_right() -> None:
    a, b = torch.randn(2, 2, 4, 3, dtype=torch.float64, requires_grad=True).unbind()
    assert torch.autograd.gradcheck(lambda a, b: concat([a, b]), (a, b))


def test_concat_of_nothing_is_refused() -> None:
    with pytest.raises(ValueError, match="at least one tensor, got none"):
        concat([])


def test_concat_needs_a_component_axis() -> None:
    with pytest.raises(ValueError, match=r"component axis of length 4 .* at dim -2, got shape \(2, 8\)"):
        concat([torch.zeros(2, 4, 3), torch.zeros(2, 8)])


@pytest.mark.parametrize("shapes", [[(2, 4), (2, 4)], [(2, 4, 3), (4, 3)]])
def test_concat_needs_a_channel_axis_at_one_place(shapes: list[tuple[int, ...]]) -> None:
    dim = 1 if len(shapes[0]) == 2 else -2
    with pytest.raises(ValueError, match=rf"channel axis after the component axis {dim} of every tensor, got \(2, 4"):
        concat([torch.zeros(shape) for shape in shapes], dim)
