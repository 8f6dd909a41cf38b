"""What agreement of argmax positions does not show: how flat maps are, how far apart, and the true chance level."""

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor, nn

from hamiltone.analysis.agreement import COMPONENT_PAIRS
from hamiltone.analysis.capture import AttentionCall, record
from hamiltone.analysis.statistics import Spread, spread


@dataclass(frozen=True)
class ShuffledAgreement:
    """Agreement of the `count` largest weights between components of different utterances: the chance level of maps
    that share habits of their layer, such as looking at the loudest frames, but not an input.

    `excess` is the agreement within an utterance minus that, utterance by utterance.
    """

    count: int
    rate: Spread
    excess: Spread


@dataclass(frozen=True)
class MapStudy:
    """The maps of four components over utterances.

    `entropy` is that of a map's rows over log M: one for a map that averages all keys alike. `distance` is the
    Jensen-Shannon distance of two components' rows, from 0 (equal) to 1 (disjoint), averaged over the six pairs.
    """

    entropy: Spread
    distance: Spread
    shuffled: tuple[ShuffledAgreement, ...]


def relative_entropy(maps: Tensor) -> Tensor:
    """The entropy of every row over that of a flat one.

    Shape:
        maps: ``(..., N, M)``
        returns: ``(..., N)``

    >>> round(relative_entropy(torch.full((1, 8), 1 / 8)).item(), 5)
    1.0
    """
    return torch.special.entr(maps).sum(-1) / math.log(maps.shape[-1])


def map_distances(maps: Tensor) -> Tensor:
    """The Jensen-Shannon distance between the rows of two components, the root of the divergence in bits.

    Shape:
        maps: ``(B, H, 4, N, M)``
        returns: ``(B, H, 6, N)``, for each of `hamiltone.analysis.agreement.COMPONENT_PAIRS`

    >>> map_distances(torch.eye(4).view(1, 1, 4, 1, 4)).flatten()
    tensor([1., 1., 1., 1., 1., 1.])
    """
    own = torch.special.entr(maps).sum(-1)  # (B, H, 4, N)
    divergences = [
        torch.special.entr((maps[:, :, a] + maps[:, :, b]) / 2).sum(-1) - (own[:, :, a] + own[:, :, b]) / 2
        for a, b in COMPONENT_PAIRS
    ]
    return (torch.stack(divergences, 2) / math.log(2)).clamp(0, 1).sqrt()


def study_maps(model: nn.Module, inputs: Iterable[Tensor], counts: Sequence[int] = (1, 5)) -> MapStudy:
    """Run a model with component-wise maps on at least two inputs of one shape and measure its maps.

    Every utterance is compared with the next one, and the last with the first.

    Shape:
        inputs: whatever the model takes; waveforms ``(1, L)`` for an enhancer
    """
    entropies, distances = [], []
    within: dict[int, list[float]] = {count: [] for count in counts}
    across: dict[int, list[float]] = {count: [] for count in counts}
    first: dict[str, Tensor] = {}
    previous: dict[str, Tensor] = {}
    for x in inputs:
        layers = record(model, x)
        entropy, distance = _flatness(layers)
        entropies.append(entropy)
        distances.append(distance)
        tops = {name: _top(layer, max(counts)) for name, layer in layers.items()}
        for count in counts:
            within[count].append(_common(tops, tops, count))
            if previous:
                across[count].append(_common(previous, tops, count))
        first, previous = first or tops, tops
    for count in counts:
        across[count].append(_common(previous, first, count))
    shuffled = [
        ShuffledAgreement(count, spread(across[count]), spread(np.subtract(within[count], across[count]).tolist()))
        for count in counts
    ]
    return MapStudy(spread(entropies), spread(distances), tuple(shuffled))


def _flatness(layers: Mapping[str, AttentionCall]) -> tuple[float, float]:
    """The mean relative entropy and the mean distance of two components, over all layers."""
    entropies, distances = [], []
    for layer in layers.values():
        maps = [part.maps for part in layer.parts()]
        entropies.append(_mean(relative_entropy(one) for one in maps))
        distances.append(_mean(map_distances(one) for one in maps))
    return float(np.mean(entropies)), float(np.mean(distances))


def _mean(tensors: Iterator[Tensor]) -> float:
    return float(torch.cat([tensor.flatten() for tensor in tensors]).double().mean())


def _top(call: AttentionCall, count: int) -> Tensor:
    """The keys with the largest weights, best first: ``(B, H, 4, N, count)``."""
    return torch.cat([part.maps.topk(count, dim=-1).indices for part in call.parts()])


def _common(first: Mapping[str, Tensor], second: Mapping[str, Tensor], count: int) -> float:
    """The share of the `count` largest weights that two components have in common, over layers, heads and pairs."""
    rates = []
    for layer, tops in first.items():
        other = second[layer]
        if tops.shape != other.shape:
            raise ValueError(f"expected inputs of one shape, got keys {tuple(tops.shape)} and {tuple(other.shape)}")
        for a, b in COMPONENT_PAIRS:
            same = tops[:, :, a, :, :count, None] == other[:, :, b, :, None, :count]
            rates.append(float(same.sum((-1, -2)).double().mean()) / count)
    return float(np.mean(rates))
