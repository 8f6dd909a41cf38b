import math
import random
from collections.abc import Callable

import numpy as np
import pytest
import torch

from hamiltone.nn import QConv2d, QConvTranspose1d, QLinear, isotropic_, polar_

INITS = [isotropic_, polar_]
FAN_IN, FAN_OUT = 300, 200


@pytest.mark.parametrize("init", INITS)
def test_weights_have_the_variance_of_glorot(init: Callable) -> None:
    weight = init(torch.empty(4, FAN_OUT, FAN_IN), FAN_IN, FAN_OUT)
    glorot = 2 / (4 * FAN_IN + 4 * FAN_OUT)
    assert weight.square().mean().item() == pytest.approx(glorot, rel=0.02)
    assert weight.mean((1, 2)).abs().max() < 4 * math.sqrt(2 * glorot / (FAN_IN * FAN_OUT))


@pytest.mark.parametrize("init", INITS)
def test_gain_multiplies_the_weights(init: Callable) -> None:
    seed = torch.Generator()
    one = init(torch.empty(4, 5, 3), 3, 5, generator=seed.manual_seed(3))
    three = init(torch.empty(4, 5, 3), 3, 5, gain=3.0, generator=seed.manual_seed(3))
    torch.testing.assert_close(three, 3 * one)


@pytest.mark.parametrize(("init", "shares"), [(polar_, [1 / 2, 1 / 6, 1 / 6, 1 / 6]), (isotropic_, [1 / 4] * 4)])
def test_energy_is_split_between_the_components(init: Callable, shares: list[float]) -> None:
    energy = init(torch.empty(4, FAN_OUT, FAN_IN), FAN_IN, FAN_OUT).square().mean((1, 2))
    assert (energy / energy.sum()).tolist() == pytest.approx(shares, abs=0.01)


@pytest.mark.parametrize("init", INITS)
def test_modulus_is_chi_distributed_with_four_degrees_of_freedom(init: Callable) -> None:
    modulus = torch.linalg.vector_norm(init(torch.empty(4, FAN_OUT, FAN_IN), FAN_IN, FAN_OUT), dim=0)
    sigma = 1 / math.sqrt(2 * (FAN_IN + FAN_OUT))
    assert modulus.mean().item() == pytest.approx(sigma * math.sqrt(9 * math.pi / 8), rel=0.01)
    assert modulus.square().mean().item() == pytest.approx(4 * sigma**2, rel=0.01)


@pytest.mark.parametrize("init", INITS)
@pytest.mark.parametrize(
    ("layer", "shape"),
    [
        (lambda init: QLinear(64, 64, init=init), (500, 4, 64)),
        (lambda init: QConv2d(16, 16, 3, init=init), (20, 4, 16, 6, 6)),
        (lambda init: QConv2d(32, 32, 3, groups=2, init=init), (20, 4, 32, 6, 6)),
    ],
    ids=["linear", "convolution", "groups"],
)
def test_output_keeps_the_variance_of_the_input(init: Callable, layer: Callable, shape: tuple[int, ...]) -> None:
    assert layer(init)(torch.randn(shape)).var().item() == pytest.approx(1.0, rel=0.1)


@pytest.mark.parametrize("init", INITS)
def test_torch_seed_alone_decides(init: Callable) -> None:
    def draw(seed: int, elsewhere: int) -> torch.Tensor:
        torch.manual_seed(seed)
        np.random.seed(elsewhere)
        random.seed(elsewhere)
        return QLinear(3, 5, init=init).weight.detach()

    assert torch.equal(draw(1, 1), draw(1, 2))
    assert not torch.equal(draw(1, 1), draw(2, 1))


@pytest.mark.parametrize("init", INITS)
def test_a_generator_replaces_the_global_one(init: Callable) -> None:
    state = torch.get_rng_state()
    one, two = (init(torch.empty(4, 5, 3), 3, 5, generator=torch.Generator().manual_seed(9)) for _ in range(2))
    assert torch.equal(one, two)
    assert torch.equal(torch.get_rng_state(), state)


def test_layers_hand_their_fans_in_quaternions_and_start_without_bias() -> None:
    fans = []

    def record(weight: torch.Tensor, fan_in: int, fan_out: int) -> torch.Tensor:
        fans.append((fan_in, fan_out))
        return torch.nn.init.zeros_(weight)

    layers = [
        QLinear(3, 5, init=record),
        QConv2d(4, 6, (3, 2), groups=2, init=record),
        QConvTranspose1d(4, 6, 5, init=record),
    ]
    assert fans == [(3, 5), (12, 18), (20, 30)]
    assert all(layer.bias.count_nonzero() == 0 for layer in layers)
