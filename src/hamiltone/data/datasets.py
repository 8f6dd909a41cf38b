"""Data sets of ``(noisy, clean)`` segments that are determined by their seed and by a key ``(epoch, index)``.

>>> dataset = SyntheticSpeech(segment=8000, length=4)
>>> loader = torch.utils.data.DataLoader(dataset, batch_size=2, sampler=dataset.keys(epoch=0))
>>> [noisy.shape for noisy, clean in loader]
[torch.Size([2, 8000]), torch.Size([2, 8000])]
"""

from hamiltone.torch_extra import MissingTorchError  # noqa: F401

# isort: split
import hashlib
from abc import ABC, abstractmethod
from pathlib import Path
from typing import Literal

import numpy as np
import torch
from torch import Tensor
from torch.utils.data import Dataset

from hamiltone.data.audio_store import open_store
from hamiltone.data.augment import retune
from hamiltone.data.files import FileRecordings, Progress, Recordings, audio_files, speaker_of
from hamiltone.data.mixing import PLAIN, Variety, compose
from hamiltone.data.pairs import refuse_test_files, refuse_test_pairs
from hamiltone.data.randomness import Key, epoch_order, generator
from hamiltone.data.rooms import RecordedRooms, Rooms, decaying_room
from hamiltone.data.signals import Signal
from hamiltone.data.sources import (
    Babble,
    NoiseBlend,
    NoiseSource,
    PairAudio,
    PairNoise,
    RecordedNoise,
    SpeechPool,
    SyntheticNoise,
)
from hamiltone.data.synthetic import speech as synthetic_speech
from hamiltone.errors import InputError


class Segments(Dataset[tuple[Tensor, Tensor]], ABC):
    """Training segments by key; a subclass implements `make`, which draws one segment from a random generator.

    Every epoch goes through the items in a different order, so keys need no shuffling.

    Args:
        segment: Samples of a segment.
        items: How many pairs or recordings there are to draw from.
        length: Segments of an epoch, fewer or more than items; by default as many.
        seed: Together with epoch and index it determines everything random about a segment.

    Shape:
        dataset[epoch, index]: noisy and clean, float32 ``(segment,)`` each
    """

    def __init__(self, segment: int, items: int, length: int | None, seed: int) -> None:
        self.segment, self.items, self.seed = segment, items, seed
        self.length = items if length is None else length
        if segment < 1 or self.length < 1:
            raise InputError(f"expected a segment and a length of at least one, got {segment} and {self.length}")

    def __len__(self) -> int:
        return self.length

    def __getitem__(self, key: Key) -> tuple[Tensor, Tensor]:
        epoch, index = key
        if not 0 <= index < self.length:
            raise IndexError(f"index {index} of {self.length}")
        item = epoch_order(self.seed, epoch, self.items)[index % self.items]
        noisy, clean = self.make(generator(self.seed, epoch, index), item)
        return torch.from_numpy(np.ascontiguousarray(noisy)), torch.from_numpy(np.ascontiguousarray(clean))

    def keys(self, epoch: int) -> list[Key]:
        """All keys of an epoch: a sampler for a `DataLoader`."""
        return [(epoch, index) for index in range(self.length)]

    @abstractmethod
    def make(self, rng: np.random.Generator, item: int) -> tuple[Signal, Signal]:
        """Noisy and clean ``(segment,)`` with the speech of this item, from this generator alone."""


class PairSegments(Segments):
    """A random part of every pair, as it was recorded: the paper's setting. Shorter pairs end in silence.

    Args:
        audio: The decoded pairs.
        segment: Samples of a segment.
        seed: Together with epoch and index it determines everything random about a segment.
    """

    def __init__(self, audio: PairAudio, segment: int, *, seed: int = 0) -> None:
        refuse_test_pairs(audio.pairs)
        super().__init__(segment, len(audio), None, seed)
        self._audio = audio

    def make(self, rng: np.random.Generator, item: int) -> tuple[Signal, Signal]:
        """A part of the pair `item`."""
        count = min(self._audio.frames(item), self.segment)
        start = int(rng.integers(self._audio.frames(item) - count + 1))
        noisy, clean = self._audio.read(item, start, count)
        end = (0, self.segment - count)
        return np.pad(noisy, end), np.pad(clean, end)


class RemixedPairs(Segments):
    """Clean speech of one pair with noise of another pair, of folders, of other speakers, or synthetic.

    Args:
        audio: The decoded pairs.
        segment: Samples of a segment.
        length: Segments of an epoch; by default one for each item.
        seed: Together with epoch and index it determines everything random about a segment.
        variety: How mixtures vary.
        recorded: Noise from folders; without it that kind of noise is left out.
        borrowed: Speech from folders; without it all speech is that of the pairs.
        rooms: Draws impulse responses for reverberant mixtures.
    """

    def __init__(
        self,
        audio: PairAudio,
        segment: int,
        *,
        length: int | None = None,
        seed: int = 0,
        variety: Variety | None = None,
        recorded: Recordings | None = None,
        borrowed: SpeechPool | None = None,
        rooms: Rooms = decaying_room,
    ) -> None:
        refuse_test_pairs(audio.pairs)
        super().__init__(segment, len(audio), length, seed)
        self._variety = variety = variety or Variety()
        self._pool, self._borrowed, self._rooms = audio.speech(), borrowed, rooms
        self._originals = PairSegments(audio, segment, seed=seed)
        self._noise = _blend(variety, self._pool, recorded, PairNoise(audio))

    def make(self, rng: np.random.Generator, item: int) -> tuple[Signal, Signal]:
        """A mixture with the speech of the pair `item`."""
        if rng.random() < self._variety.original:
            return self._originals.make(rng, item)
        pool = self._pool
        if self._borrowed is not None and rng.random() < self._variety.borrowed:
            pool, item = self._borrowed, int(rng.integers(len(self._borrowed)))
        speech = _speech(rng, pool, item, self.segment, self._variety)
        noise = self._noise(rng, self.segment, pool.speakers[item])
        return compose(rng, speech, noise, self._variety, self._rooms)


class MixtureFolder(Segments):
    """Speech, noise and rooms from folders as in the DNS Challenge, mixed afresh in every epoch.

    Args:
        speech: Clean speech by speaker.
        noise: Recordings of noise.
        segment: Samples of a segment.
        length: Segments of an epoch; by default one for each item.
        seed: Together with epoch and index it determines everything random about a segment.
        variety: How mixtures vary.
        rooms: Draws impulse responses for reverberant mixtures.
    """

    def __init__(
        self,
        speech: SpeechPool,
        noise: Recordings,
        segment: int,
        *,
        length: int | None = None,
        seed: int = 0,
        variety: Variety | None = None,
        rooms: Rooms = decaying_room,
    ) -> None:
        refuse_test_files(speech.paths)
        super().__init__(segment, len(speech), length, seed)
        self._variety = variety or Variety()
        self._pool, self._rooms = speech, rooms
        self._noise = _blend(self._variety, speech, noise)

    @classmethod
    def open(
        cls,
        root: Path,
        segment: int,
        *,
        part: Literal["train", "validation"] = "train",
        held_out: float = 0.02,
        cache: Path | None = None,
        skip: bool = False,
        progress: Progress | None = None,
        length: int | None = None,
        seed: int = 0,
        variety: Variety | None = None,
    ) -> "MixtureFolder":
        """The folders `clean`, `noise` and, if there is one, `impulse_responses` under `root`, with their subfolders.

        About `held_out` of the speakers and of the noise files belong to the validation part, by their names alone.
        Without a `cache` every file is decoded when it is needed; with one, all are decoded there once.
        """
        recordings: list[Recordings] = []
        for name in ("clean", "noise"):
            groups = {path: speaker_of(path) if name == "clean" else path.name for path in audio_files(root / name)}
            paths = [path for path, group in groups.items() if (_share(group) < held_out) == (part == "validation")]
            if not paths:
                raise InputError(f"{root / name}: nothing is left for the {part} part; change held_out from {held_out}")
            recordings.append(
                open_store(paths, cache, skip=skip, progress=progress) if cache else FileRecordings(paths, skip=skip)
            )
        clean, noise = recordings
        speakers = [speaker_of(path) for path in clean.paths]
        responses = root / "impulse_responses"
        rooms = RecordedRooms(responses, skip=skip) if responses.is_dir() else decaying_room
        pool = SpeechPool(clean, range(len(clean)), speakers)
        return cls(pool, noise, segment, length=length, seed=seed, variety=variety, rooms=rooms)

    def make(self, rng: np.random.Generator, item: int) -> tuple[Signal, Signal]:
        """A mixture with the speech of the recording `item`."""
        speech = _speech(rng, self._pool, item, self.segment, self._variety)
        noise = self._noise(rng, self.segment, self._pool.speakers[item])
        return compose(rng, speech, noise, self._variety, self._rooms)


class SyntheticSpeech(Segments):
    """Synthetic speech and noise, which need no corpus. By default speech plus noise and no other effect.

    Args:
        segment: Samples of a segment.
        length: Segments of an epoch.
        seed: Together with epoch and index it determines everything random about a segment.
        variety: How mixtures vary.
    """

    def __init__(self, segment: int, *, length: int = 1000, seed: int = 0, variety: Variety = PLAIN) -> None:
        super().__init__(segment, length, length, seed)
        self._variety = variety
        self._noise = NoiseBlend([(1.0, SyntheticNoise())], variety.layered)

    def make(self, rng: np.random.Generator, item: int) -> tuple[Signal, Signal]:
        """A mixture that no other key has."""
        speech = synthetic_speech(rng, self.segment)
        return compose(rng, speech, self._noise(rng, self.segment, ""), self._variety)


class FullPairs(Dataset[tuple[Tensor, Tensor]]):
    """Whole pairs as they were recorded, for validation.

    Args:
        audio: The decoded pairs.

    Shape:
        dataset[index]: noisy and clean, float32 ``(L,)`` each, L being the length of the pair
    """

    def __init__(self, audio: PairAudio) -> None:
        refuse_test_pairs(audio.pairs)
        self._audio = audio
        self.names = [pair.name for pair in audio.pairs]

    def __len__(self) -> int:
        return len(self._audio)

    def __getitem__(self, index: int) -> tuple[Tensor, Tensor]:
        noisy, clean = self._audio.read(index, 0, self._audio.frames(index))
        return torch.from_numpy(noisy), torch.from_numpy(clean)


def _speech(rng: np.random.Generator, pool: SpeechPool, item: int, length: int, variety: Variety) -> Signal:
    """A segment of the recording `item`, sometimes with the voice changed."""
    if rng.random() >= variety.retuned:
        return pool.segment(rng, item, length)
    return retune(rng, lambda longer: pool.segment(rng, item, longer), length)


def _blend(
    variety: Variety, pool: SpeechPool, recorded: Recordings | None, remixed: NoiseSource | None = None
) -> NoiseBlend:
    sources: list[tuple[float, NoiseSource]] = [(variety.synthetic, SyntheticNoise())]
    if remixed:
        sources.append((variety.remixed, remixed))
    if recorded is not None:
        refuse_test_files(recorded.paths)
        sources.append((variety.recorded, RecordedNoise(recorded)))
    if len(set(pool.speakers)) > 1:
        sources.append((variety.babble, Babble(pool)))
    return NoiseBlend(sources, variety.layered)


def _share(name: str) -> float:
    """A number from 0 to 1 that depends on the name alone."""
    return int.from_bytes(hashlib.sha256(name.encode(errors="surrogateescape")).digest()[:4]) / 2**32
