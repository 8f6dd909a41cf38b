"""Chunks of live sound in, chunks of the same size without noise out."""

import threading
import time
import warnings
from collections import deque
from collections.abc import Iterator
from contextlib import contextmanager
from math import gcd
from numbers import Real
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from hamiltone.audio.formats import to_pcm
from hamiltone.audio.spectra import Samples
from hamiltone.audio.upper_band import UpperBand
from hamiltone.errors import InputError
from hamiltone.runtime.backend import StepBackend, resolve_step
from hamiltone.runtime.bands import fill_empty, high_band_gain
from hamiltone.runtime.enhancement import is_number
from hamiltone.runtime.fifo import Fifo
from hamiltone.runtime.frames import Frames
from hamiltone.runtime.resampling import Resampler
from hamiltone.runtime.times import Times

if TYPE_CHECKING:
    from hamiltone.models import Enhancer

LOWEST_RATE, HIGHEST_RATE = 8_000, 192_000
MOST_CHANNELS = 256
_LOUDEST = 1e6  # 120 dB over full scale cannot be sound
_LARGEST_GAIN = 1e20  # times the loudest sample, float32 can still hold it
_FADE_SECONDS = 0.02  # from one strength to the other


class Stream:
    """Removes noise from live sound, chunk by chunk, with a constant delay and in constant memory.

    `process` returns as many samples as it is given, like an audio effect: the enhanced signal `latency` samples later,
    silence before that. `flush` returns the last `latency` samples and makes the stream ready for another signal. The
    whole output, without the first `latency` samples, is as long as the whole input and aligned with it.

    Samples that are NaN, infinite or beyond a million times full scale count as silence; the first causes a warning.

    Threads may share a stream: its methods wait for each other, so that one thread may call `reset` while another
    feeds chunks.

    Args:
        sample_rate: In whole Hz, from 8 to 192 kHz.
        model: A bundled model by name, a checkpoint or a graph by file, a model, or a back end; made for streams. A
            model or a back end may be handed to any number of streams.
        channels: All get the gain that the model finds for their mean, which keeps the stereo image.
        strength: Blends the input (0) with the enhanced signal (1); it can be changed at any time, with a short fade.
        separate: Enhance every channel separately, as if it were the only one.

    Attributes:
        latency: The constant delay in samples.
        times: How long every frame took.

    Shape:
        chunk: ``(L,)`` if there is one channel, or ``(channels, L)``; L >= 0, floating point of full scale one or int16
        returns: the same shape and type
    """

    def __init__(
        self,
        sample_rate: int,
        model: "str | Path | Enhancer | StepBackend" = "live",
        channels: int = 1,
        strength: float = 1.0,
        *,
        separate: bool = False,
    ) -> None:
        if not _is_whole(sample_rate) or not LOWEST_RATE <= sample_rate <= HIGHEST_RATE:
            raise InputError(f"expected a sample rate in whole Hz from 8000 to 192000, got {sample_rate!r}")
        if not _is_whole(channels) or not 1 <= channels <= MOST_CHANNELS:
            raise InputError(f"expected 1 to {MOST_CHANNELS} channels, got {channels!r}")
        backend = resolve_step(model)
        if backend.n_fft != 2 * backend.hop:
            raise InputError(f"expected a model with a hop of half a frame, got {backend.n_fft} and {backend.hop}")
        self.sample_rate = int(sample_rate)
        self.channels = channels = int(channels)
        self.strength, self.times = strength, Times()

        groups = channels if separate else 1
        self._backends = [backend.fresh() for _ in range(groups)]  # one that is handed in may serve other streams, too
        self._groups = [slice(n, n + 1) for n in range(channels)] if separate else [slice(None)]
        self._frames = Frames(backend.n_fft, channels)
        self._hop, self._model_rate = backend.hop, backend.sample_rate
        self._forward = self._back = None
        if self.sample_rate != self._model_rate:
            self._forward = Resampler(self.sample_rate, self._model_rate, channels)
            self._back = Resampler(self._model_rate, self.sample_rate, 2 * channels)
        rates = {"model_rate": self._model_rate, "hop": backend.hop, "n_fft": backend.n_fft}
        self._uppers = [UpperBand(self.sample_rate, **rates) for _ in self._groups]
        self.latency = self._delay()
        self._fresh, self._dry = Fifo(channels), Fifo(channels)
        self._ready = Fifo(channels, zeros=self.latency)
        self._high: deque[list[float]] = deque(maxlen=2 + self._most_frames())  # gains of the last frames
        self._end: int | None = None  # of the signal, in samples of the model's rate
        self._warned, self._like = False, np.zeros(0 if channels == 1 else (channels, 0), np.float32)
        self._lock = threading.RLock()
        self.reset()

    @property
    def strength(self) -> float:
        """The share of the enhanced signal in the output."""
        return self._strength

    @strength.setter
    def strength(self, strength: float) -> None:
        if not is_number(strength) or not 0 <= strength <= 1:
            raise InputError(f"expected a strength from 0 to 1, got {strength!r}")
        self._strength = float(strength)

    def process(self, chunk: NDArray[Any]) -> NDArray[Any]:
        """The next samples of the enhanced signal, as many as in `chunk`."""
        samples, result = self._rows(chunk), np.empty_like(chunk)
        target = self._rows(result)
        with self._lock, self._whole_or_reset():
            self._like = result[..., :0].copy()  # not a view, which would keep the chunk in memory
            for start in range(0, samples.shape[1], self.sample_rate):  # a second at a time, to hold no more than that
                piece = slice(start, start + self.sample_rate)
                enhanced = self._run(self._sound(samples[:, piece]))
                target[:, piece] = to_pcm(enhanced, 16) >> 16 if result.dtype.kind == "i" else enhanced
        return result

    def flush(self) -> NDArray[Any]:
        """The last `latency` samples of the enhanced signal; the stream then starts over."""
        with self._lock:
            self._end = -(-self._taken * self._model_rate // self.sample_rate)
            last = self.process(np.zeros((*self._like.shape[:-1], self.latency), self._like.dtype))
            self.reset()
        return last

    def reset(self) -> None:
        """Forget the input so far and start over."""
        parts = (*self._backends, self._frames, self._fresh, self._dry, self._ready, self._forward, self._back)
        with self._lock:
            for part in (*parts, *self._uppers):
                if part is not None:
                    part.reset()
            self._high.clear()
            self._taken = self._done = 0  # samples of the stream, in and out
            self._hops = 0  # taken by the model
            self._end = None
            self._mix = self._strength
            self._warned = False

    @contextmanager
    def _whole_or_reset(self) -> Iterator[None]:
        """Start over after an error or Ctrl-C: a chunk that was only half processed would shift all that follow."""
        try:
            yield
        except BaseException:
            self.reset()
            raise

    def _rows(self, chunk: object) -> NDArray[Any]:
        """A view of a chunk as ``(channels, L)``."""
        if not isinstance(chunk, np.ndarray):
            raise InputError(f"expected a chunk as a numpy array, got a {type(chunk).__name__}")
        rows = chunk[None] if chunk.ndim == 1 else chunk
        if rows.ndim != 2 or len(rows) != self.channels:
            shape = "(L,) or (1, L)" if self.channels == 1 else f"({self.channels}, L)"
            raise InputError(f"expected a chunk of shape {shape}, got {chunk.shape}")
        if chunk.dtype.kind != "f" and chunk.dtype.name != "int16":  # in any byte order
            raise InputError(f"expected samples in floating point or int16, got {chunk.dtype}")
        return rows

    def _sound(self, samples: NDArray[Any]) -> Samples:
        if samples.dtype.name == "int16":
            return samples.astype(np.float32) / np.float32(32768)
        if samples.dtype == np.float16:  # too narrow for the loudest samples
            samples = samples.astype(np.float32)
        usable = np.abs(samples) <= _LOUDEST
        if usable.all():
            return samples.astype(np.float32, copy=False)
        if not self._warned:
            self._warned = True
            warnings.warn("NaN, infinite or absurdly loud samples in the stream count as silence", stacklevel=3)
        return np.where(usable, samples, 0).astype(np.float32)

    def _run(self, samples: Samples) -> Samples:
        """Take samples, run the model on every complete hop, and return as many samples."""
        self._taken += samples.shape[1]
        self._dry.push(samples)
        source = self._fresh if self._forward is None else self._forward
        source.push(samples)
        if self._forward is None:
            while len(self._fresh) >= self._hop:
                self._step(self._fresh.pop(self._hop))
        else:
            while self._forward.waiting >= self._hop:
                self._step(self._forward.pull(self._hop))
        return self._ready.pop(samples.shape[1])

    def _step(self, hop: Samples) -> None:
        """Run the model on one hop ``(channels, hop)`` at its rate, and pass what is then complete to the output."""
        started = time.perf_counter()
        if self._end is not None:
            self._silence(hop, self._hops)
        spectrum = self._frames.analyse(hop)
        high, seen = [], min(self.sample_rate / self._model_rate, 1.0)
        for channels, backend, upper in zip(self._groups, self._backends, self._uppers, strict=True):
            reference = fill_empty(spectrum[channels].mean(0), seen=seen)
            gain = backend.step(reference)
            if not np.abs(gain).max() < _LARGEST_GAIN:
                raise InputError("the model's gain is NaN or absurdly large; the model is damaged or diverged")
            high.append(self._upper_gain(upper, channels, float(high_band_gain(reference, gain, seen=seen))))
            spectrum[channels] *= gain
        filtered = self._frames.synthesise(spectrum)
        self._high.append(high)
        self._hops += 1
        self.times.add(time.perf_counter() - started)
        if self._hops == 1:
            return  # this hop precedes the signal
        if self._end is not None:
            self._silence(filtered, self._hops - 2)
        self._emit(filtered if self._back is None else self._widen(filtered))

    def _upper_gain(self, upper: UpperBand, channels: slice, gain: float) -> float:
        """The gain of the newest frame above the model's band, from that in its top octave."""
        if self.sample_rate <= self._model_rate:
            return gain
        start = round(self._hops * upper.step) - upper.size // 2 - self._done  # of the frame, from the next sample out
        samples = self._dry.peek(min(start + upper.size, len(self._dry)))[channels, max(start, 0) :].mean(0)
        before = max(-start, 0)
        power = upper.powers_of(np.pad(samples, (before, upper.size - before - len(samples))))
        return float(upper.gains(np.array([gain]), power[None], self._hops)[0])

    def _silence(self, hop: Samples, number: int) -> None:
        """Silence what lies after the end of the signal."""
        assert self._end is not None
        hop[:, max(self._end - number * self._hop, 0) :] = 0

    def _widen(self, filtered: Samples) -> Samples:
        """Resample to the stream's rate, and add the scaled band above the model's."""
        assert self._back is not None
        self._back.push(np.concatenate([filtered, self._frames.last]))
        both = self._back.pull(self._back.waiting)
        enhanced, low = both[: self.channels], both[self.channels :]
        count = both.shape[1]
        high = self._dry.peek(count) - low
        place = (self._done + np.arange(count)) * (self._model_rate / (self.sample_rate * self._hop))
        frames = np.arange(self._hops - len(self._high), self._hops)
        for channels, gains in zip(self._groups, np.transpose(self._high), strict=True):
            high[channels] *= np.interp(place, frames, gains).astype(np.float32)
        return enhanced + high

    def _emit(self, enhanced: Samples) -> None:
        count = enhanced.shape[1]
        self._done += count
        step = 1 / (_FADE_SECONDS * self.sample_rate)
        toward = np.clip(self._strength - self._mix, -step * np.arange(1, count + 1), step * np.arange(1, count + 1))
        mix = (self._mix + toward).astype(np.float32)
        self._ready.push((1 - mix) * self._dry.pop(count) + mix * enhanced)
        if count:
            self._mix += float(toward[-1])

    def _delay(self) -> int:
        """The largest lead of the input over the samples that are ready, just before a hop is complete."""
        if self._forward is None or self._back is None:
            return 2 * self._hop - 1
        period = self._model_rate // gcd(self._model_rate, self.sample_rate)
        return max(
            self._forward.needed((hops + 1) * self._hop) - 1 - self._back.ready((hops - 1) * self._hop)
            for hops in range(1, period + 2 + self._back.reach // self._hop)
        )

    def _most_frames(self) -> int:
        """How many frames can lie between the newest one and the next sample out."""
        return 1 if self._back is None else 2 + self._back.reach // self._hop


def _is_whole(value: object) -> bool:
    return isinstance(value, Real) and float(value).is_integer()
