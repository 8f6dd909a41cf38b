"""Inference in tiles: large temporaries cost page faults and cache misses on a CPU, small ones do not.

The result is the same; only the order of the work changes, so time and memory per second of audio stay constant as
recordings grow. Training and tracing see the whole tensor.
"""

import math
from collections.abc import Callable, Iterator

import torch
from torch import Tensor

from hamiltone.nn.tracing import is_traced

TILE = 2**20
"""Real numbers in one tile's input, about 4 MB, so that the intermediate results of a block stay in cache."""


def tiling() -> bool:
    """Whether the work may be cut into tiles: only if neither autograd nor a tracer records it."""
    return not torch.is_grad_enabled() and not is_traced()


def over_batch(function: Callable[[Tensor], Tensor], x: Tensor) -> Tensor:
    """Apply a function of independent sequences ``(S, N, 4, C)`` to a few of them at a time."""
    count = max(1, TILE // x[:1].numel())
    if not tiling() or x.shape[0] <= count:
        return function(x)
    return _assemble((function(part) for part in x.split(_even(x.shape[0], count))), axis=0, size=x.shape[0])


def over_time(function: Callable[[Tensor], Tensor], x: Tensor, reach: int) -> Tensor:
    """Apply a function of maps ``(B, 4, C, T, F)`` that keeps T and sees `reach` frames to either side.

    Each tile is cut with `reach` extra frames, if there are any, whose results are discarded; at the true ends the
    function pads as usual.
    """
    frames = x.shape[3]
    tile = max(4 * reach, TILE // x[:, :, :, :1].numel(), 1)
    if not tiling() or frames <= tile:
        return function(x)
    tile = _even(frames, tile)

    def parts() -> Iterator[Tensor]:
        for start in range(0, frames, tile):
            first = max(0, start - reach)
            y = function(x[:, :, :, first : start + tile + reach])
            yield y.narrow(3, start - first, min(tile, frames - start))

    return _assemble(parts(), axis=3, size=frames)


def _even(size: int, tile: int) -> int:
    """The length of tiles, at most `tile`, that cuts `size` into the same number of pieces of about equal length."""
    return math.ceil(size / math.ceil(size / tile))


def _assemble(parts: Iterator[Tensor], axis: int, size: int) -> Tensor:
    """Join tiles as they arrive, while they are in cache, in the memory layout of the first."""
    result, done = None, 0
    for part in parts:
        if result is None:
            order = sorted(range(part.dim()), key=part.stride().__getitem__, reverse=True)
            shape = [size if i == axis else part.shape[i] for i in order]
            result = part.new_empty(shape).permute([order.index(i) for i in range(len(order))])
        result.narrow(axis, done, part.shape[axis]).copy_(part)
        done += part.shape[axis]
    assert result is not None
    return result
