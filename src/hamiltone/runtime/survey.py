"""The first pass over a recording: what must be known about the whole before any window is enhanced, and its damage."""

from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from hamiltone.audio.completeness import breaks_off, hides_another
from hamiltone.audio.formats import AudioInfo, Block
from hamiltone.audio.io import Reader, open_damaged, open_reader
from hamiltone.audio.soxr_resampling import BlockResampler
from hamiltone.errors import InputError
from hamiltone.runtime.windows import Read

_BLOCK_SAMPLES = 2**19  # over all channels
_LOWEST_RATE, _HIGHEST_RATE = 1000, 768_000
_MOST_CHANNELS = 256
_MOST_PER_SECOND = 2**24  # samples over all channels: windows last a second or more, at odd rates two
_LOUDEST = 1e30  # float32 ends at 3e38, and spectra are sums
_SILENCE = 1e-20  # float32 samples can still be divided by a level above this
# Two unrelated channels of equal level lose 3 dB in their mean, as does one channel beside a silent one; a voice in the
# middle loses nothing, and a voice under equally loud noise that differs between the channels 1.2 dB.
_PAIR_LOSS_DB = 2.5


@dataclass(frozen=True)
class Group:
    """Channels that get the same gain, and the root mean square of their mean over the whole recording (not zero)."""

    channels: tuple[int, ...]
    level: float


@dataclass(frozen=True)
class Survey:
    """The length of a recording, its channels by groups, and its largest sample."""

    frames: int
    groups: tuple[Group, ...]
    peak: float = 0.0


def survey_recording(read: Read, *, name: str, sample_rate: int, channels: int, model_rate: int) -> Survey:
    """Read a recording to its end.

    Energies are measured at the model's rate, since that is where the model expects unit level. Two channels are one
    group, to keep the stereo image, unless their mean loses more than 2.5 dB against them: then they hold different
    sounds, or opposite phases, and each is enhanced separately. With any other number, every channel is separate.
    """
    if not _LOWEST_RATE <= sample_rate <= _HIGHEST_RATE:
        raise InputError(f"{name}: expected a sample rate from {_LOWEST_RATE} to {_HIGHEST_RATE} Hz, got {sample_rate}")
    if channels > _MOST_CHANNELS:
        raise InputError(f"{name}: expected at most {_MOST_CHANNELS} channels, got {channels}")
    if channels * sample_rate > _MOST_PER_SECOND:
        most = _MOST_PER_SECOND // sample_rate
        raise InputError(f"{name}: expected at most {most} channels at {sample_rate} Hz, got {channels}; split it")
    resampler = BlockResampler(sample_rate, model_rate, channels)
    energy, mean_energy, frames, samples, loudest = np.zeros(channels), 0.0, 0, 0, 0.0
    last, size = False, min(65_536, _BLOCK_SAMPLES // channels)
    while not last:
        block = read(size)
        if not np.isfinite(block).all():
            raise InputError(f"{name}: contains NaN or infinite samples")
        if (peak := float(np.abs(block).max(initial=0))) > _LOUDEST:
            raise InputError(f"{name}: has samples of {peak:.0e}, too large to compute with; scale it down first")
        frames, loudest = frames + len(block), max(loudest, peak)
        last = len(block) < size
        block = resampler.push(block, last=last)
        samples += len(block)
        energy += np.square(block, dtype=np.float64).sum(axis=0)
        mean_energy += np.square(block.mean(axis=1), dtype=np.float64).sum()
    if not frames:
        raise InputError(f"{name}: holds no samples")

    if channels == 2 and mean_energy > energy.mean() * 10 ** (-_PAIR_LOSS_DB / 10):
        return Survey(frames, (Group((0, 1), _level(mean_energy, samples)),), loudest)
    groups = (Group((channel,), _level(energy[channel], samples)) for channel in range(channels))
    return Survey(frames, tuple(groups), loudest)


def _level(energy: float, samples: int) -> float:
    level = float(np.sqrt(energy / max(samples, 1)))
    return level if level > _SILENCE else 1.0


@dataclass(frozen=True)
class Recording:
    """How to open a source again, its survey, and its damage, if any."""

    info: AudioInfo
    survey: Survey
    damage: str
    open: Callable[..., Reader]

    def second_pass(self, reader: Reader) -> Read:
        """Reads as many frames as the survey counted; a file that became shorter raises an `InputError`."""
        name, left = self.info.path, self.survey.frames
        if (reader.info.sample_rate, reader.info.channels) != (self.info.sample_rate, self.info.channels):
            raise InputError(f"{name}: changed while it was being read")

        def read(frames: int) -> Block:
            nonlocal left
            frames = min(frames, left)
            block = reader.read(frames)
            if len(block) < frames:
                raise InputError(f"{name}: became shorter while it was being read")
            left -= frames
            return block

        return read


def examine(source: Path, model_rate: int) -> Recording:
    """Read a source to its end; if it breaks off early, with the decoder that gets further."""
    recording = _read_through(source, open_reader, model_rate)
    if not recording.damage:
        return recording
    with suppress(InputError):
        further = _read_through(source, open_damaged, model_rate)
        if recording.survey.frames < further.survey.frames <= further.info.frames:
            return replace(
                further, damage=further.damage or "damaged; it was read to its end, but may sound wrong at the damage"
            )
    return recording


def _read_through(source: Path, open_source: Callable[..., Reader], model_rate: int) -> Recording:
    with open_source(source) as reader:
        info = reader.info
        survey = survey_recording(
            reader.read,
            name=str(source),
            sample_rate=info.sample_rate,
            channels=info.channels,
            model_rate=model_rate,
        )
        damage = ""
        if reader.joined or hides_another(source):
            damage = "several files in one, of which only the first is read"
            damage += ' without PyAV: pip install "hamiltone[media]"' if reader.lacks_pyav else ""
        elif reader.missing:
            damage = f"damaged or truncated: it is {reader.missing:.2f} s shorter than its header says"
        elif reader.damaged:
            damage = "damaged: parts of it could not be decoded"
        elif breaks_off(source):
            damage = "truncated, or its recording was never finished: it lacks the end of an ogg stream"
        return Recording(info, survey, damage, open_source)
