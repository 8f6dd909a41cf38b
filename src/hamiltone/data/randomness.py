"""Randomness that belongs to a sample, not to the process that happens to make it."""

from functools import lru_cache

import numpy as np

Key = tuple[int, int]
"""Epoch and index of a sample."""


def generator(seed: int, epoch: int, index: int) -> np.random.Generator:
    """The generator of one sample: equal keys give equal streams in every process; any other key an independent one.

    >>> generator(0, 3, 5).random() == generator(0, 3, 5).random()
    True
    """
    return np.random.default_rng(np.random.SeedSequence((seed, epoch, index)))


@lru_cache(maxsize=4)
def epoch_order(seed: int, epoch: int, count: int) -> tuple[int, ...]:
    """The numbers below `count` in an order that belongs to the epoch.

    >>> sorted(epoch_order(0, 3, 5))
    [0, 1, 2, 3, 4]
    """
    sequence = np.random.SeedSequence((seed, epoch), spawn_key=(1,))  # apart from the streams of the samples
    return tuple(np.random.default_rng(sequence).permutation(count).tolist())
