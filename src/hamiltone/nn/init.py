"""Initialisation of quaternion weights, seeded by torch's generator alone.

Both rules give every real weight the variance σ² = gain² / (2 (fan_in + fan_out)), fans counted in quaternions: that is
Glorot's 2 / (4 fan_in + 4 fan_out) of the equivalent real layer.
"""

import math
from collections.abc import Callable

import torch
from torch import Tensor

Init = Callable[[Tensor, int, int], Tensor]
"""An initialiser: ``init(weight, fan_in, fan_out)`` fills `weight` ``(4, ...)`` in place and returns it."""


def _sigma(fan_in: int, fan_out: int, gain: float) -> float:
    return gain / math.sqrt(2 * (fan_in + fan_out))


@torch.no_grad()
def isotropic_(
    weight: Tensor, fan_in: int, fan_out: int, *, gain: float = 1.0, generator: torch.Generator | None = None
) -> Tensor:
    """Four independent Gaussians: every direction of the quaternion is equally likely."""
    if weight.is_meta:  # no memory to fill; torch would work it out in Python
        return weight
    return weight.normal_(0.0, _sigma(fan_in, fan_out, gain), generator=generator)


@torch.no_grad()
def polar_(
    weight: Tensor, fan_in: int, fan_out: int, *, gain: float = 1.0, generator: torch.Generator | None = None
) -> Tensor:
    """The polar rule of Gaudet & Maida (2018) and Parcollet et al. (2019): w = m (cos θ + u sin θ).

    The modulus m is chi-distributed with four degrees of freedom, the angle θ uniform in [-π, π) and u a random pure
    unit quaternion. Half of the energy goes to the real part, a sixth to each imaginary one.
    """
    if weight.is_meta:
        return weight

    def sample(count: int) -> Tensor:
        return torch.randn((count, *weight.shape[1:]), generator=generator, dtype=weight.dtype, device=weight.device)

    modulus = _sigma(fan_in, fan_out, gain) * torch.linalg.vector_norm(sample(4), dim=0)
    axis = torch.nn.functional.normalize(sample(3), dim=0)
    angle = torch.empty_like(modulus).uniform_(-math.pi, math.pi, generator=generator)
    weight[0] = modulus * angle.cos()
    weight[1:] = modulus * angle.sin() * axis
    return weight
