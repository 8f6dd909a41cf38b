"""The order of samples: a function of seed and step, never of what a worker did before."""

import itertools
import signal
from collections.abc import Generator, Iterator, Sequence
from typing import Any

import torch
from torch.utils.data import DataLoader

from hamiltone.data.randomness import Key, epoch_order
from hamiltone.errors import InputError
from hamiltone.training.config import Batches
from hamiltone.training.interrupt import stop_signals
from hamiltone.training.task import KeyedData, Ragged

POOL = 50
"""Batches whose samples are sorted by length together: enough to save padding, few enough to stay shuffled."""


class BatchOrder:
    """The keys of the batches of one process from a given step on, without end.

    A step takes `batches.size` samples of the shuffled epoch; they are cut into `accumulate` parts and each part into
    one share per process; `share` is the rank of this one and their number. An incomplete last batch is left out.
    With `lengths` of the samples, batches hold samples of similar length, in a shuffled order.
    """

    def __init__(
        self,
        samples: int,
        batches: Batches,
        seed: int,
        start: int = 0,
        share: tuple[int, int] = (0, 1),
        lengths: Sequence[int] | None = None,
    ) -> None:
        self.samples, self.batches, self.seed, self.start = samples, batches, seed, start
        self.rank, self.world = share
        self.lengths = lengths
        self.steps_per_epoch = samples // batches.size
        parts = batches.accumulate * self.world
        if batches.size % parts:
            raise InputError(
                f"batches.size = {batches.size} cannot be cut into {batches.accumulate} parts (accumulate) "
                f"for {self.world} processes; make it a multiple of {parts}"
            )
        if not self.steps_per_epoch:
            raise InputError(f"batches.size = {batches.size} exceeds the {samples} samples of an epoch")

    def __iter__(self) -> Iterator[list[Key]]:
        share = self.batches.size // (self.batches.accumulate * self.world)
        first, position = divmod(self.start, self.steps_per_epoch)
        for epoch in itertools.count(first):
            for indices in self._epoch(epoch)[position:]:
                batch = [(epoch, index) for index in indices]
                for part in range(self.batches.accumulate):
                    yield batch[(part * self.world + self.rank) * share :][:share]
            position = 0

    def _epoch(self, epoch: int) -> list[list[int]]:
        """The samples of every batch of an epoch."""
        order, size = list(epoch_order(self.seed, epoch, self.samples)), self.batches.size
        order = order[: size * self.steps_per_epoch]
        if self.lengths is None:
            return _cut(order, size)
        pools = [sorted(pool, key=self.lengths.__getitem__) for pool in _cut(order, POOL * size)]
        batches = [batch for pool in pools for batch in _cut(pool, size)]
        return [batches[number] for number in epoch_order(self.seed, epoch, len(batches))]


def _cut(order: list[int], size: int) -> list[list[int]]:
    return [order[first : first + size] for first in range(0, len(order), size)]


def stream(data: KeyedData, order: BatchOrder, device: torch.device) -> Generator[Any]:
    """The batches of an order, made ahead by worker processes if the recipe asks for them.

    The loader draws its workers' seeds from a separate generator, so it does not touch torch's global one.
    """
    loader: DataLoader[Any] = DataLoader(
        data,  # type: ignore[arg-type]  # keys are pairs
        batch_sampler=order,
        num_workers=order.batches.workers,
        pin_memory=device.type == "cuda",
        collate_fn=data.collate if isinstance(data, Ragged) else None,
        worker_init_fn=_leave_signals_to_the_run,
        generator=torch.Generator(),
    )
    yield from loader


def _leave_signals_to_the_run(worker: int) -> None:
    """Signals reach the whole process group, but the run saves first and then ends its workers itself, with SIGTERM.

    So a worker ignores all signals but a second SIGTERM.
    """
    for number in stop_signals():
        signal.signal(number, signal.SIG_IGN)
    signal.signal(signal.SIGTERM, lambda *_: signal.signal(signal.SIGTERM, signal.SIG_DFL))
