"""Streaming models in place of trained ones."""

import numpy as np
import torch

from cases import randomise_
from hamiltone.models import Enhancer, RowConfig, build, folded
from hamiltone.nn import QBatchNorm
from hamiltone.runtime.backend import Spectrum

SMALL = RowConfig(channels=3, dim=4, memory=4, rows=6, blocks=1, heads=2)


def untrained(config: RowConfig = SMALL) -> Enhancer:
    """As initialised, but with a phase correction, statistics that are not those of the start, and a wide mask."""
    with torch.random.fork_rng():
        torch.manual_seed(3)
        enhancer = build(config).eval()
        for module in enhancer.modules():
            if isinstance(module, QBatchNorm):
                randomise_(module)
        torch.nn.init.normal_(enhancer.network.head.read.weight, std=0.5)
    return enhancer


def streaming_model(config: RowConfig = SMALL) -> Enhancer:
    return folded(untrained(config))


class Counting:
    """Multiplies by a constant and counts the frames it has seen."""

    sample_rate, n_fft, hop = 16_000, 512, 256

    def __init__(self, factor: float = 1.0) -> None:
        self.factor, self.seen = factor, 0

    def step(self, spectrum: Spectrum) -> Spectrum:
        self.seen += 1
        return np.full_like(spectrum, self.factor)

    def reset(self) -> None:
        self.seen = 0

    def fresh(self) -> "Counting":
        return type(self)(self.factor)
