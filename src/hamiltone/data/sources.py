"""The sources of speech and noise for mixtures."""

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol, Self

import numpy as np

from hamiltone.data.audio_store import AudioStore, open_store
from hamiltone.data.files import Progress, Recordings
from hamiltone.data.noise import babble, synthetic_noise
from hamiltone.data.pairs import Pair
from hamiltone.data.signals import SAMPLE_RATE, Signal, active_level, from_decibels
from hamiltone.data.synthetic import NOMINAL_DB
from hamiltone.errors import InputError

_SILENCE = 1e-4  # recordings below this level are amplified as if they had it
_TALKERS = (4, 10)


class PairAudio:
    """The decoded audio of pairs; `select` makes a view of some of them that shares it.

    Args:
        pairs: Where the recordings are.
        clean: The decoded clean recordings.
        noisy: The decoded noisy recordings.
    """

    def __init__(self, pairs: Sequence[Pair], clean: AudioStore, noisy: AudioStore) -> None:
        self.pairs = tuple(pairs)
        self._clean, self._noisy = clean, noisy
        self._rows = [(clean.row(pair.clean), noisy.row(pair.noisy)) for pair in self.pairs]
        for pair, (clean_row, noisy_row) in zip(self.pairs, self._rows, strict=True):
            if clean.frames(clean_row) != noisy.frames(noisy_row):
                raise InputError(f"{pair.noisy}: its length and that of its clean partner differ once decoded")

    @classmethod
    def open(
        cls, pairs: Sequence[Pair], cache: Path, *, sample_rate: int = SAMPLE_RATE, progress: Progress | None = None
    ) -> Self:
        """Decode all pairs into the folder `cache`, unless they are there already."""
        total = 2 * len(pairs)

        def shifted(by: int) -> Progress | None:
            return (lambda done, _: progress(by + done, total)) if progress else None

        clean = open_store([pair.clean for pair in pairs], cache, sample_rate=sample_rate, progress=shifted(0))
        noisy = open_store([pair.noisy for pair in pairs], cache, sample_rate=sample_rate, progress=shifted(len(pairs)))
        return cls(pairs, clean, noisy)

    def select(self, pairs: Sequence[Pair]) -> "PairAudio":
        """The audio of some of the pairs."""
        return PairAudio(pairs, self._clean, self._noisy)

    def __len__(self) -> int:
        return len(self.pairs)

    def frames(self, index: int) -> int:
        """The length of a pair in samples."""
        return self._clean.frames(self._rows[index][0])

    def read(self, index: int, start: int, count: int) -> tuple[Signal, Signal]:
        """Noisy and clean samples, ``(count,)`` each."""
        clean, noisy = self._rows[index]
        return self._noisy.read(noisy, start, count), self._clean.read(clean, start, count)

    def noise(self, index: int, start: int, count: int) -> Signal:
        """The noise of a pair, noisy minus clean, ``(count,)``."""
        noisy, clean = self.read(index, start, count)
        return noisy - clean

    def speech(self) -> "SpeechPool":
        """The clean sides by speaker."""
        return SpeechPool(self._clean, [clean for clean, _ in self._rows], [pair.speaker for pair in self.pairs])


class SpeechPool:
    """Speech by speaker; every segment comes at `NOMINAL_DB` as measured over its whole recording.

    Args:
        recordings: Recordings of speech and perhaps others.
        rows: The numbers of those that belong to the pool.
        speakers: The speaker of each of these.
    """

    def __init__(self, recordings: Recordings, rows: Sequence[int], speakers: Sequence[str]) -> None:
        self._recordings, self._rows, self.speakers = recordings, rows, speakers
        self._of_speaker: dict[str, list[int]] = defaultdict(list)
        for index, speaker in enumerate(speakers):
            self._of_speaker[speaker].append(index)

    def __len__(self) -> int:
        return len(self._rows)

    @property
    def paths(self) -> list[Path]:
        """Where the recordings come from."""
        return [self._recordings.paths[row] for row in self._rows]

    def segment(self, rng: np.random.Generator, index: int, length: int) -> Signal:
        """A random part ``(length,)``; short recordings are followed by others of the same speaker."""
        same, segment, end = self._of_speaker[self.speakers[index]], np.zeros(length, np.float32), 0
        while end < length:
            row = self._rows[index]
            count = min(self._recordings.frames(row), length - end)
            start = int(rng.integers(self._recordings.frames(row) - count + 1))
            gain = from_decibels(NOMINAL_DB) / max(self._recordings.level(row), _SILENCE)
            segment[end : end + count] = self._recordings.read(row, start, count) * np.float32(gain)
            end += count + int(rng.integers(SAMPLE_RATE // 10, SAMPLE_RATE // 2))
            index = same[rng.integers(len(same))]
        return segment

    def others(self, rng: np.random.Generator, speaker: str, count: int) -> list[int]:
        """`count` random recordings of other speakers than `speaker`."""
        chosen: list[int] = []
        while len(chosen) < count:
            drawn = rng.integers(len(self), size=2 * count).tolist()
            chosen += [index for index in drawn if self.speakers[index] != speaker]
        return chosen[:count]


class NoiseSource(Protocol):
    """Draws noise of about unit level."""

    def __call__(self, rng: np.random.Generator, length: int, speaker: str) -> Signal:
        """Noise ``(length,)`` to mix with the speech of `speaker`."""


@dataclass(frozen=True)
class PairNoise:
    """The noise of a random pair."""

    audio: PairAudio

    def __call__(self, rng: np.random.Generator, length: int, speaker: str) -> Signal:
        index = int(rng.integers(len(self.audio)))
        start, count = _part(rng, self.audio.frames(index), length)
        noise = _mirror(self.audio.noise(index, start, count), length)
        return noise / np.float32(max(active_level(noise), _SILENCE))


@dataclass(frozen=True)
class RecordedNoise:
    """A random part of a random recording."""

    recordings: Recordings

    def __call__(self, rng: np.random.Generator, length: int, speaker: str) -> Signal:
        """Noise ``(length,)``; unit level as measured over the whole recording."""
        index = int(rng.integers(len(self.recordings)))
        start, count = _part(rng, self.recordings.frames(index), length)
        noise = _mirror(self.recordings.read(index, start, count), length)
        return noise / np.float32(max(self.recordings.level(index), _SILENCE))


@dataclass(frozen=True)
class Babble:
    """Four to ten others speaking at once."""

    pool: SpeechPool

    def __call__(self, rng: np.random.Generator, length: int, speaker: str) -> Signal:
        talkers = self.pool.others(rng, speaker, int(rng.integers(_TALKERS[0], _TALKERS[1] + 1)))
        return babble(rng, [self.pool.segment(rng, index, length) for index in talkers])


class SyntheticNoise:
    """Synthetic noise."""

    def __call__(self, rng: np.random.Generator, length: int, speaker: str) -> Signal:
        return synthetic_noise(rng, length)


class NoiseBlend:
    """One of several sources by weight; with the probability `layered` a second one up to 15 dB below the first.

    Args:
        sources: Pairs of a weight and a source; a weight of zero leaves the source out.
        layered: The probability of the second noise.
    """

    def __init__(self, sources: Sequence[tuple[float, NoiseSource]], layered: float) -> None:
        self._sources = [source for weight, source in sources if weight]
        weights = [weight for weight, _ in sources if weight]
        if not weights:
            raise InputError("no noise to mix with: every kind that this data set offers has the weight 0")
        self._edges = np.cumsum(weights) / sum(weights)
        self._layered = layered

    def __call__(self, rng: np.random.Generator, length: int, speaker: str) -> Signal:
        noise = self._draw(rng)(rng, length, speaker)
        if rng.random() < self._layered:
            noise = noise + np.float32(from_decibels(-rng.uniform(0, 15))) * self._draw(rng)(rng, length, speaker)
        return noise

    def _draw(self, rng: np.random.Generator) -> NoiseSource:
        return self._sources[
            int(np.searchsorted(self._edges, rng.random(), side="right").clip(0, len(self._edges) - 1))
        ]


def _part(rng: np.random.Generator, frames: int, length: int) -> tuple[int, int]:
    """Start and count of a random part of `length` samples, or of the whole if there are fewer."""
    count = min(frames, length)
    return int(rng.integers(frames - count + 1)), count


def _mirror(noise: Signal, length: int) -> Signal:
    """Play a short noise forwards and backwards until it fills `length`, so that no seam clicks."""
    return noise if len(noise) == length else np.pad(noise, (0, length - len(noise)), "symmetric")
