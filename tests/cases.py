"""What several test files need: random parameters, one example of every kind of mask, and two rules of a user's own."""

import math
from typing import Any

import torch
from torch import Tensor, nn

from hamiltone.nn import ScoreRule

BATCH, HEADS, LENGTH = 2, 2, 5


def randomise_(module: nn.Module) -> nn.Module:
    """Give every parameter and statistic a value that no initialisation has, so that none can hide."""
    with torch.no_grad():
        for parameter in module.parameters():
            parameter.copy_(0.7 * torch.randn_like(parameter))
        for name, buffer in module.named_buffers():
            if name.endswith("running_mean"):
                buffer.copy_(torch.randn_like(buffer))
            elif name.endswith("running_var"):
                buffer.copy_(0.5 + torch.rand_like(buffer))
    return module


def random_mask(*shape: int) -> Tensor:
    """Boolean, about two thirds True."""
    return torch.rand(shape, generator=torch.Generator().manual_seed(1)) < 0.65


def dead_row(*, dtype: torch.dtype) -> Tensor:
    """Query 1 of every batch may see nothing."""
    allowed = torch.ones(LENGTH, LENGTH, dtype=torch.bool)
    allowed[1] = False
    return allowed if dtype == torch.bool else torch.zeros(LENGTH, LENGTH).masked_fill(~allowed, -math.inf)


def _masks() -> dict[str, dict[str, Any]]:
    noise = torch.randn(LENGTH, LENGTH, generator=torch.Generator().manual_seed(2))
    padding = torch.tensor([[True, True, True, False, False], [True, False, True, True, True]])
    closed = noise.masked_fill(noise > 0.8, -math.inf)
    return {
        "none": {},
        "bool (N, M)": {"mask": random_mask(LENGTH, LENGTH)},
        "bool (M,)": {"mask": torch.tensor([True, False, True, True, False])},
        "bool (N, 1)": {"mask": torch.tensor([[True], [False], [True], [True], [False]])},
        "bool (B, 1, 1, M)": {"mask": random_mask(BATCH, 1, 1, LENGTH)},
        "bool (H, N, M)": {"mask": random_mask(HEADS, LENGTH, LENGTH)},
        "bool (B, H, N, M)": {"mask": random_mask(BATCH, HEADS, LENGTH, LENGTH)},
        "bool, a dead row": {"mask": dead_row(dtype=torch.bool)},
        "float (N, M)": {"mask": noise},
        "float (H, 1, 1)": {"mask": torch.tensor([0.5, -0.5])[:, None, None]},
        "float with -inf": {"mask": closed},
        "float, a dead row": {"mask": dead_row(dtype=torch.float32)},
        "padding": {"key_padding_mask": padding},
        "padding, an empty sequence": {"key_padding_mask": padding & torch.tensor([[True], [False]])},
        "causal": {"causal": True},
        "causal and padding": {"causal": True, "key_padding_mask": padding},
        "causal and bool": {"causal": True, "mask": random_mask(BATCH, 1, LENGTH, LENGTH)},
        "bool and padding": {"mask": random_mask(LENGTH, LENGTH), "key_padding_mask": padding},
        "causal, float and padding": {"causal": True, "mask": closed, "key_padding_mask": padding},
    }


MASKS = _masks()


class Distance(ScoreRule):
    """-‖q - k‖²: one map, and no more said than how to score."""

    def scores(self, q: Tensor, k: Tensor) -> Tensor:
        return -(q[:, :, :, None] - k[:, :, None]).square().sum((-2, -1))[:, :, None]


class Componentwise(ScoreRule):
    """q_α · k_α: four maps."""

    maps = 4

    def scores(self, q: Tensor, k: Tensor) -> Tensor:
        return torch.einsum("bhiad,bhjad->bhaij", q, k)
