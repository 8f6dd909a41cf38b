"""Whether the maps of the four components attend to the same positions (Eq. 20; Tables 4, 10 and 11)."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from hamiltone.analysis.capture import AttentionCall, record
from hamiltone.analysis.statistics import Spread, spread

COMPONENT_PAIRS = tuple(combinations(range(4), 2))
"""Pairs of components: (0, 1), (0, 2), (0, 3), (1, 2), (1, 3), (2, 3)."""


@dataclass(frozen=True)
class Rates:
    """The agreement of one utterance, ``(layers, H, 6)``, and what chance would give, averaged over the layers."""

    layers: tuple[str, ...]
    rates: NDArray[np.float64]
    chance: float


@dataclass(frozen=True)
class HeadAgreement:
    """The agreement of one head of one layer, over utterances and pairs."""

    layer: str
    head: int
    rate: Spread


@dataclass(frozen=True)
class TopAgreement:
    """Agreement of the `count` largest weights; `chance` is count / M, averaged over the layers."""

    count: int
    pairs: dict[str, Spread]
    heads: tuple[HeadAgreement, ...]
    overall: Spread
    chance: float

    @property
    def ratio(self) -> float:
        """The agreement as a multiple of the chance level."""
        return self.overall.mean / self.chance


def agreement(maps: Tensor, count: int = 1) -> Tensor:
    """The share of the `count` largest weights of each query that two components have in common.

    For ``count=1`` this is Eq. 20: the share of queries n with argmax_m A_c[n, m] = argmax_m A_d[n, m], for two
    components c and d. Two random choices share ``count / M``.

    Shape:
        maps: ``(B, H, 4, N, M)``
        returns: ``(B, H, 6)``, one rate for each of `COMPONENT_PAIRS`, averaged over the queries

    >>> maps = torch.eye(5).expand(1, 1, 4, 5, 5)
    >>> agreement(maps)
    tensor([[[1., 1., 1., 1., 1., 1.]]])
    """
    if maps.dim() != 5 or maps.shape[2] != 4:
        raise ValueError(f"expected one map per component, (B, H, 4, N, M), got shape {tuple(maps.shape)}")
    if not 1 <= count <= maps.shape[-1]:
        raise ValueError(f"count must lie between 1 and the {maps.shape[-1]} keys, got {count}")
    top = maps.topk(count, dim=-1).indices  # (B, H, 4, N, count)
    rates = [
        (top[:, :, first, :, :, None] == top[:, :, second, :, None, :]).sum((-1, -2)).double().mean(-1) / count
        for first, second in COMPONENT_PAIRS
    ]
    return torch.stack(rates, -1).float()


def layer_agreement(call: AttentionCall, count: int = 1) -> Tensor:
    """The rates of one layer over all of its sequences.

    Shape:
        returns: ``(H, 6)``
    """
    parts = [agreement(part.maps, count).double().sum(0) for part in call.parts()]
    return torch.stack(parts).sum(0) / len(call.q)


def utterance_rates(layers: Mapping[str, AttentionCall], count: int = 1) -> Rates:
    """The rates of all layers of one utterance."""
    rates = torch.stack([layer_agreement(layer, count) for layer in layers.values()])
    chances = [count / layer.k.shape[2] for layer in layers.values()]
    return Rates(tuple(layers), rates.numpy(), sum(chances) / len(chances))


def agreement_of(utterances: Sequence[Rates], count: int = 1) -> TopAgreement:
    """Agreement over several utterances.

    A pair's deviation is over utterances, layers and heads; a head's over utterances and pairs; the overall one over
    utterances, layers and heads of the mean of the six pairs. The paper does not say what its own is taken over.
    """
    every = np.stack([one.rates for one in utterances])  # (utterances, layers, heads, pairs)
    heads = [
        HeadAgreement(layer, head, spread([one[row, head] for one in every]))
        for row, layer in enumerate(utterances[0].layers)
        for head in range(every.shape[2])
    ]
    return TopAgreement(
        count=count,
        pairs={
            f"{a}-{b}": spread([one[..., column] for one in every]) for column, (a, b) in enumerate(COMPONENT_PAIRS)
        },
        heads=tuple(heads),
        overall=spread([one.mean(-1) for one in every]),
        chance=sum(one.chance for one in utterances) / len(utterances),
    )


def study_agreement(
    model: nn.Module, inputs: Iterable[Tensor], counts: Sequence[int] = (1, 5)
) -> tuple[TopAgreement, ...]:
    """Run a model with component-wise maps on inputs one by one and measure how far the maps agree.

    Shape:
        inputs: whatever the model takes; waveforms ``(1, L)`` for an enhancer
    """
    found: dict[int, list[Rates]] = {count: [] for count in counts}
    for x in inputs:
        layers = record(model, x)
        for count, rates in found.items():
            rates.append(utterance_rates(layers, count))
    return tuple(agreement_of(rates, count) for count, rates in found.items())
