import copy
import io
from collections.abc import Callable

import pytest
import torch
from torch import Tensor, nn
from torch.func import functional_call
from torch.testing import assert_close

from cases import randomise_
from hamiltone.nn import QConv1d, QConv2d, QConvTranspose1d, QConvTranspose2d, QLinear
from hamiltone.nn.weight import RealWeightCache

LAYERS: dict[str, Callable[[], tuple[nn.Module, Tensor]]] = {
    "linear": lambda: (randomise_(QLinear(3, 5)), torch.randn(2, 4, 3)),
    "convolution": lambda: (randomise_(QConv1d(4, 2, 3, groups=2)), torch.randn(2, 4, 4, 5)),
    "transposed": lambda: (randomise_(QConvTranspose2d(2, 3, 2)), torch.randn(2, 4, 2, 3, 3)),
}


@pytest.fixture(params=LAYERS)
def case(request: pytest.FixtureRequest) -> tuple[nn.Module, Tensor]:
    """A layer in evaluation whose matrix is already in the cache, and an input."""
    layer, x = LAYERS[request.param]()
    cached(layer.eval(), x)
    return layer, x


def cached(layer: nn.Module, x: Tensor) -> Tensor:
    with torch.no_grad():
        return layer(x)


def fresh(layer: nn.Module, x: Tensor) -> Tensor:
    """With gradients on, nothing is taken from the cache."""
    return layer(x).detach()


def through_data_assignment(layer: nn.Module, weight: Tensor) -> None:
    layer.weight.data = weight


def through_data_copy(layer: nn.Module, weight: Tensor) -> None:
    layer.weight.data.copy_(weight)


def through_copy(layer: nn.Module, weight: Tensor) -> None:
    with torch.no_grad():
        layer.weight.copy_(weight)


def through_a_new_parameter(layer: nn.Module, weight: Tensor) -> None:
    layer.weight = nn.Parameter(weight)


def through_load_state_dict(layer: nn.Module, weight: Tensor) -> None:
    layer.load_state_dict(layer.state_dict() | {"weight": weight})


def through_assigning_load_state_dict(layer: nn.Module, weight: Tensor) -> None:
    layer.load_state_dict(layer.state_dict() | {"weight": weight}, assign=True)


SWAPS = [
    through_data_assignment,
    through_data_copy,
    through_copy,
    through_a_new_parameter,
    through_load_state_dict,
    through_assigning_load_state_dict,
]


def test_the_matrix_is_assembled_once_without_gradients(case: tuple[nn.Module, Tensor]) -> None:
    layer, x = case
    with torch.no_grad():
        first = layer.real_weight()
        layer(x)
        assert layer.real_weight().data_ptr() == first.data_ptr()
    assert_close(cached(layer, x), fresh(layer, x))


def test_the_matrix_is_assembled_anew_where_gradients_are_on(case: tuple[nn.Module, Tensor]) -> None:
    layer, _ = case
    first, second = layer.real_weight(), layer.real_weight()
    assert first.requires_grad
    assert first.data_ptr() != second.data_ptr()


def test_gradients_flow_in_evaluation(case: tuple[nn.Module, Tensor]) -> None:
    layer, x = case
    layer(x).square().sum().backward()
    in_evaluation = layer.weight.grad.clone()
    layer.zero_grad()
    layer.train()(x).square().sum().backward()
    assert in_evaluation.count_nonzero() > 0
    assert torch.equal(in_evaluation, layer.weight.grad)


@pytest.mark.parametrize("swap", SWAPS)
def test_a_swapped_weight_is_noticed_and_so_is_the_swap_back(case: tuple[nn.Module, Tensor], swap: Callable) -> None:
    layer, x = case
    live, average = layer.weight.detach().clone(), torch.randn_like(layer.weight)
    before = cached(layer, x)
    swap(layer, average.clone())
    during = cached(layer, x)
    assert torch.equal(during, fresh(layer, x))
    assert (during - before).abs().max() > 1e-2
    swap(layer, live)
    assert torch.equal(cached(layer, x), before)


@pytest.mark.parametrize("swap", [swap for swap in SWAPS if swap is not through_data_copy])
def test_a_swap_is_noticed_by_address_or_version_where_values_are_not_compared(
    case: tuple[nn.Module, Tensor], swap: Callable
) -> None:
    layer, x = case
    layer._cache._entry = layer._cache._entry._replace(snapshot=None)
    swap(layer, torch.randn_like(layer.weight))
    assert torch.equal(cached(layer, x), fresh(layer, x))


def test_an_optimizer_step_is_noticed(case: tuple[nn.Module, Tensor]) -> None:
    layer, x = case
    before = cached(layer, x)
    layer(x).square().sum().backward()
    torch.optim.SGD(layer.parameters(), lr=0.1).step()
    assert torch.equal(cached(layer, x), fresh(layer, x))
    assert (cached(layer, x) - before).abs().max() > 1e-2


@pytest.mark.parametrize("dtype", [torch.float64, torch.bfloat16])
def test_a_change_of_dtype_is_noticed(case: tuple[nn.Module, Tensor], dtype: torch.dtype) -> None:
    layer, x = case
    layer.to(dtype)
    y = cached(layer, x.to(dtype))
    assert y.dtype == dtype
    assert torch.equal(y, fresh(layer, x.to(dtype)))


def test_inference_mode_leaves_training_possible(case: tuple[nn.Module, Tensor]) -> None:
    layer, x = case
    expected = fresh(layer, x)
    through_copy(layer, layer.weight.detach().clone())
    with torch.inference_mode():
        assert torch.equal(layer(x), expected)
        assert layer.real_weight().data_ptr() == layer.real_weight().data_ptr()
    assert torch.equal(cached(layer, x), expected)
    layer(x).sum().backward()
    assert layer.weight.grad.isfinite().all()


@pytest.mark.parametrize("name", LAYERS)
def test_a_layer_born_in_inference_mode_notices_writes(name: str) -> None:
    with torch.inference_mode():
        layer, x = LAYERS[name]()
        before = layer(x)
        layer.weight.mul_(2.0)
        layer.bias.mul_(2.0)
        assert_close(layer(x), 2 * before)


def test_other_weights_by_functional_call_are_used(case: tuple[nn.Module, Tensor]) -> None:
    layer, x = case
    weight = torch.randn_like(layer.weight)
    expected = copy.deepcopy(layer)
    through_copy(expected, weight)
    kept = layer._cache._entry
    with torch.no_grad():
        assert torch.equal(functional_call(layer, {"weight": weight}, x), fresh(expected, x))
    assert layer._cache._entry is kept
    assert torch.equal(cached(layer, x), fresh(layer, x))


def test_a_copy_has_its_own_empty_cache(case: tuple[nn.Module, Tensor]) -> None:
    layer, x = case
    twin = copy.deepcopy(layer)
    assert layer._cache._entry is not None
    assert twin._cache is not layer._cache
    assert twin._cache._entry is None
    before = cached(layer, x)
    twin.weight.data.mul_(2.0)
    assert torch.equal(cached(layer, x), before)
    assert torch.equal(cached(twin, x), fresh(twin, x))


def saved_bytes(layer: nn.Module) -> bytes:
    buffer = io.BytesIO()
    torch.save(layer, buffer)
    return buffer.getvalue()


def test_pickling_does_not_carry_the_matrix(case: tuple[nn.Module, Tensor]) -> None:
    layer, x = case
    assert copy.copy(layer._cache)._entry is None
    file = saved_bytes(layer)
    assert len(file) == len(saved_bytes(copy.deepcopy(layer)))
    restored = torch.load(io.BytesIO(file), weights_only=False)
    assert restored._cache._entry is None
    assert torch.equal(cached(restored, x), cached(layer, x))


def test_the_matrix_is_no_part_of_the_state(case: tuple[nn.Module, Tensor]) -> None:
    layer, _ = case
    assert set(layer.state_dict()) == {"weight", "bias"}
    assert list(layer.buffers()) == []
    assert len(list(layer.parameters())) == 2


def test_nothing_is_kept_of_a_layer_without_memory() -> None:
    layer = QLinear(3, 5).to("meta")
    assert cached(layer, torch.empty(2, 4, 3, device="meta")).shape == (2, 4, 5)
    assert layer._cache._entry is None


def test_the_cache_asks_for_the_matrix_only_when_the_weight_changed() -> None:
    cache, weight, calls = RealWeightCache(), nn.Parameter(torch.ones(4, 1, 1)), []

    def assemble(weight: Tensor) -> Tensor:
        calls.append(1)
        return weight.detach().clone()

    with torch.no_grad():
        for _ in range(3):
            cache.get(weight, assemble)
        weight.data.add_(1.0)
        for _ in range(3):
            assert torch.equal(cache.get(weight, assemble), weight)
    assert len(calls) == 2
    cache.get(weight, assemble)
    assert len(calls) == 3


@pytest.mark.parametrize("layer", [QLinear(4, 6), QConv2d(4, 6, (2, 3), groups=2), QConvTranspose1d(4, 6, 3, groups=2)])
def test_the_real_weight_is_sixteen_signed_copies_of_the_quaternion_weight(layer: nn.Module) -> None:
    real, weight = layer.real_weight(), layer.weight
    assert real.numel() == 4 * weight.numel()
    assert_close(real.abs().sum(), 4 * weight.abs().sum())
