import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch import Tensor
from torch.testing import assert_close

import oracle
from hamiltone.algebra import (
    conjugate,
    flatten,
    hamilton_product,
    inner_product,
    norm,
    real_matrix,
    unflatten,
)
from oracle import UNITS

numbers = st.floats(-10, 10, allow_subnormal=False)
quaternions = st.tuples(numbers, numbers, numbers, numbers)


def as_tensor(q: oracle.Quaternion) -> Tensor:
    return torch.tensor(q, dtype=torch.float64)


def times(p: Tensor, q: Tensor) -> Tensor:
    return hamilton_product(p, q, dim=0)


def assert_equal(actual: Tensor, expected: Tensor | oracle.Quaternion | float) -> None:
    assert_close(actual, torch.as_tensor(expected, dtype=torch.float64), atol=1e-9, rtol=1e-12)


TABLE = {
    "ij": (1, "k"),
    "jk": (1, "i"),
    "ki": (1, "j"),
    "ji": (-1, "k"),
    "kj": (-1, "i"),
    "ik": (-1, "j"),
    "ii": (-1, "1"),
    "jj": (-1, "1"),
    "kk": (-1, "1"),
    "1i": (1, "i"),
    "j1": (1, "j"),
    "11": (1, "1"),
}


@pytest.mark.parametrize("pair", TABLE)
def test_units_multiply_by_hamiltons_table(pair: str) -> None:
    sign, unit = TABLE[pair]
    assert_equal(times(as_tensor(UNITS[pair[0]]), as_tensor(UNITS[pair[1]])), oracle.scale(UNITS[unit], sign))


def test_i_j_k_together_are_minus_one() -> None:
    i, j, k = (as_tensor(UNITS[unit]) for unit in "ijk")
    assert_equal(times(times(i, j), k), (-1.0, 0.0, 0.0, 0.0))


@given(quaternions, quaternions)
def test_product_is_equation_4(p: oracle.Quaternion, q: oracle.Quaternion) -> None:
    assert_equal(times(as_tensor(p), as_tensor(q)), oracle.multiply(p, q))


@given(quaternions, quaternions, quaternions)
def test_product_is_associative(p: oracle.Quaternion, q: oracle.Quaternion, r: oracle.Quaternion) -> None:
    a, b, c = as_tensor(p), as_tensor(q), as_tensor(r)
    assert_equal(times(times(a, b), c), times(a, times(b, c)))


@given(quaternions, quaternions, quaternions)
def test_product_is_distributive_on_both_sides(
    p: oracle.Quaternion, q: oracle.Quaternion, r: oracle.Quaternion
) -> None:
    a, b, c = as_tensor(p), as_tensor(q), as_tensor(r)
    assert_equal(times(a, b + c), times(a, b) + times(a, c))
    assert_equal(times(a + b, c), times(a, c) + times(b, c))


@given(quaternions, quaternions)
def test_norm_is_multiplicative(p: oracle.Quaternion, q: oracle.Quaternion) -> None:
    a, b = as_tensor(p), as_tensor(q)
    assert_equal(norm(times(a, b), dim=0), norm(a, dim=0) * norm(b, dim=0))


@given(quaternions)
def test_norm_squared_is_q_times_its_conjugate(q: oracle.Quaternion) -> None:
    a = as_tensor(q)
    assert_equal(times(a, conjugate(a, dim=0)), (norm(a, dim=0).item() ** 2, 0.0, 0.0, 0.0))
    assert_equal(norm(a, dim=0), oracle.norm(q))


@given(quaternions, quaternions)
def test_conjugate_of_a_product_reverses_it(p: oracle.Quaternion, q: oracle.Quaternion) -> None:
    a, b = as_tensor(p), as_tensor(q)
    assert_equal(conjugate(times(a, b), dim=0), times(conjugate(b, dim=0), conjugate(a, dim=0)))


@given(quaternions, quaternions)
def test_inner_product_is_the_real_part_of_p_times_q_conjugate(p: oracle.Quaternion, q: oracle.Quaternion) -> None:
    there = oracle.multiply(p, oracle.conjugate(q))
    back = oracle.multiply(q, oracle.conjugate(p))
    actual = inner_product(as_tensor(p), as_tensor(q), dim=0)
    assert_equal(actual, there[0])
    assert_equal(actual, oracle.scale(oracle.add([there, back]), 0.5)[0])


@given(quaternions, quaternions)
def test_real_matrix_times_x_is_x_times_w(x: oracle.Quaternion, w: oracle.Quaternion) -> None:
    assert_equal(real_matrix(as_tensor(w), dim=0) @ as_tensor(x), oracle.multiply(x, w))


@given(quaternions)
def test_real_matrix_is_equation_28(w: oracle.Quaternion) -> None:
    w0, w1, w2, w3 = w
    expected = [[w0, -w1, -w2, -w3], [w1, w0, w3, -w2], [w2, -w3, w0, w1], [w3, w2, -w1, w0]]
    assert_equal(real_matrix(as_tensor(w), dim=0), torch.tensor(expected, dtype=torch.float64))


@pytest.mark.parametrize("dim", range(-4, 4))
def test_every_function_works_on_the_axis_it_is_told(dim: int) -> None:
    shape = [2, 3, 2, 3]
    shape[dim] = 4
    p, q = torch.randn(2, *shape, dtype=torch.float64)
    first, second = p.movedim(dim, -1), q.movedim(dim, -1)
    for at in torch.cartesian_prod(*map(torch.arange, first.shape[:-1])).tolist():
        one, other = tuple(first[tuple(at)].tolist()), tuple(second[tuple(at)].tolist())
        assert_equal(hamilton_product(p, q, dim).movedim(dim, -1)[tuple(at)], oracle.multiply(one, other))
        assert_equal(conjugate(p, dim).movedim(dim, -1)[tuple(at)], oracle.conjugate(one))
        assert_equal(norm(p, dim)[tuple(at)], oracle.norm(one))
        assert_equal(inner_product(p, q, dim)[tuple(at)], oracle.multiply(one, oracle.conjugate(other))[0])
    assert norm(p, dim, keepdim=True).shape == inner_product(p, q, dim, keepdim=True).shape
    assert norm(p, dim, keepdim=True).shape[dim] == 1
    axis = dim % 4
    matrix = real_matrix(q, dim).movedim((axis, axis + 1), (-2, -1))
    assert_equal((matrix @ first[..., None])[..., 0].movedim(-1, dim), hamilton_product(p, q, dim))


def test_product_broadcasts_like_torch() -> None:
    p, q = torch.randn(5, 1, 4, 3), torch.randn(2, 4, 1)
    expected = hamilton_product(p.expand(5, 2, 4, 3), q.expand(5, 2, 4, 3))
    assert torch.equal(hamilton_product(p, q), expected)
    assert inner_product(p, q).shape == (5, 2, 3)


@given(st.lists(st.integers(1, 3), min_size=1, max_size=4), st.data())
def test_flatten_and_unflatten_undo_each_other_at_any_dim(sizes: list[int], data: st.DataObject) -> None:
    axis = data.draw(st.integers(0, len(sizes) - 1))
    shape = [*sizes[:axis], 4, *sizes[axis:]]
    dim = data.draw(st.sampled_from([axis, axis - len(shape)]))
    x = torch.randn(shape)
    flat = flatten(x, dim)
    assert flat.shape == (*sizes[:axis], 4 * sizes[axis], *sizes[axis + 1 :])
    assert torch.equal(unflatten(flat, dim), x)
    for component in range(4):
        part = flat.narrow(axis, component * sizes[axis], sizes[axis])
        assert torch.equal(part, x.select(axis, component)), "real parts first, then i, j and k (Eq. 37)"


@pytest.mark.parametrize("function", [hamilton_product, inner_product])
def test_gradients_of_pairs_are_right(function) -> None:
    p, q = torch.randn(2, 2, 4, 3, dtype=torch.float64, requires_grad=True).unbind()
    assert torch.autograd.gradcheck(function, (p, q))


@pytest.mark.parametrize("function", [conjugate, norm, real_matrix, flatten])
def test_gradients_are_right(function) -> None:
    assert torch.autograd.gradcheck(function, (torch.randn(2, 4, 3, dtype=torch.float64, requires_grad=True),))


@pytest.mark.parametrize("function", [conjugate, norm, real_matrix, flatten, lambda x: hamilton_product(x, x)])
@pytest.mark.parametrize("shape", [(2, 3, 5), (3,), ()])
def test_a_missing_component_axis_is_named(function, shape: tuple[int, ...]) -> None:
    with pytest.raises(ValueError, match=r"component axis of length 4 \(real, i, j, k\) at dim -2, got shape \("):
        function(torch.zeros(shape))


def test_components_at_different_places_are_refused() -> None:
    with pytest.raises(ValueError, match=r"equally far from the end.*\(4, 3\) and \(4, 3, 2\).*use a negative dim"):
        hamilton_product(torch.zeros(4, 3), torch.zeros(4, 3, 2), dim=0)


def test_flatten_needs_a_channel_axis() -> None:
    with pytest.raises(ValueError, match=r"channel axis after the component axis at dim 1, got shape \(2, 4\)"):
        flatten(torch.zeros(2, 4), dim=-1)


def test_unflatten_needs_a_multiple_of_four() -> None:
    with pytest.raises(ValueError, match=r"divisible by 4 at axis 1, got shape \(2, 6\)"):
        unflatten(torch.zeros(2, 6))


@pytest.mark.parametrize("dim", [-1, 2, 3, -4])
def test_unflatten_needs_room_for_the_channels(dim: int) -> None:
    with pytest.raises(ValueError, match=rf"dim {dim} cannot be the component axis of a result with 3 axes"):
        unflatten(torch.zeros(2, 8), dim)
