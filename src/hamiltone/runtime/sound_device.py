"""A stream between microphone and loudspeaker."""

import importlib
import math
import threading
import time
from collections.abc import Callable
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from hamiltone.errors import InputError
from hamiltone.runtime.interrupt import Interrupt
from hamiltone.runtime.stream import Stream
from hamiltone.runtime.times import Times

PATIENCE = 3.0
"""Seconds without sound after which a device counts as gone."""
_LIST = "list the devices with hamiltone live --devices"


class Device(Protocol):
    """The part of `sounddevice.Stream` that is used: it calls a `Session` for every block until it is closed."""

    @property
    def active(self) -> bool:
        """Whether blocks are still coming."""

    def abort(self) -> None:
        """Stop at once."""

    def close(self) -> None:
        """Release the devices."""


class Session:
    """Processes every block, and keeps what the meter shows.

    Attributes:
        late: Blocks that took longer than they last.
        dropouts: Blocks before which the device lost sound.
        times: How long the blocks took.
    """

    def __init__(self, stream: Stream) -> None:
        self.stream, self.times = stream, Times()
        self.late = self.dropouts = self.samples = 0
        self._levels, self._shown, self._lock = (0.0, 0.0), False, threading.Lock()
        self.error: Exception | None = None
        self.seen = time.monotonic()
        self._strength = stream.strength
        self.bypassed = False

    def toggle(self) -> None:
        """Switch the bypass on or off; the delay stays the same."""
        self.bypassed = not self.bypassed
        self.stream.strength = 0.0 if self.bypassed else self._strength

    def callback(self, indata: NDArray[Any], outdata: NDArray[Any], frames: int, when: Any, status: Any) -> None:
        """Enhance a block ``(frames, channels)``; the device's thread calls it."""
        started = time.perf_counter()
        try:
            outdata[:] = self.stream.process(indata.T).T
        except Exception as error:  # it must not be lost in the device's thread; `run_device` raises it
            outdata[:] = 0
            self.error = self.error or error
        self._hear(_peak(indata), _peak(outdata))
        self.samples += frames
        self.dropouts += bool(status)
        elapsed = time.perf_counter() - started
        self.times.add(elapsed)
        self.late += elapsed > frames / self.stream.sample_rate
        self.seen = time.monotonic()

    def levels(self) -> tuple[float, float]:
        """The peaks in and out, of full scale one, since the last call; the same again if no block has come."""
        with self._lock:
            self._shown = True
            return self._levels

    def _hear(self, *peaks: float) -> None:
        with self._lock:
            before = (0.0, 0.0) if self._shown else self._levels
            self._levels, self._shown = (max(before[0], peaks[0]), max(before[1], peaks[1])), False


def run_device(
    session: Session,
    device: Device,
    *,
    key: Callable[[float], str],
    show: Callable[[Session], None],
    interrupt: Interrupt,
    patience: float = PATIENCE,
) -> None:
    """Run until a key or a signal ends it; a device that stops or delivers nothing raises an `InputError`.

    `key` waits a number of seconds for a key: b switches the bypass, q quits. `show` is called repeatedly.
    """
    try:
        while session.error is None:
            show(session)
            with interrupt.wait():
                pressed = key(0.1)
            if pressed == "q":
                return
            if pressed == "b":
                session.toggle()
            if not device.active or time.monotonic() - session.seen > patience:
                raise InputError(f"the audio device stopped; is it still connected? ({_LIST})")
        raise session.error
    except KeyboardInterrupt:
        pass
    finally:
        device.abort()
        device.close()


def open_device(session: Session, block: int, source: str | None, target: str | None) -> Device:
    """Open and start the real devices; names are those of `list_devices`, parts of them, or numbers."""
    sounddevice, stream = _sounddevice(), session.stream
    try:
        device = sounddevice.Stream(
            samplerate=stream.sample_rate,
            blocksize=block,
            device=(_device(source), _device(target)),
            channels=stream.channels,
            dtype="float32",
            latency="low",
            callback=session.callback,
        )
        device.start()
    except (sounddevice.PortAudioError, ValueError) as error:
        raise InputError(f"cannot open the audio devices: {_one_line(error)}; {_LIST}") from error
    return device


def default_rate(source: str | None) -> int:
    """The sample rate that the microphone prefers."""
    sounddevice = _sounddevice()
    try:
        return int(sounddevice.query_devices(_device(source), "input")["default_samplerate"])
    except (sounddevice.PortAudioError, ValueError) as error:
        raise InputError(f"there is no microphone to use: {_one_line(error)}; {_LIST}") from error


def list_devices() -> str:
    """The devices by number and name."""
    return str(_sounddevice().query_devices()) or "there are no audio devices"


def peak_decibels(peak: float) -> float:
    """A peak in decibels of full scale, from -90 to 120."""
    return min(max(20 * math.log10(max(peak, 1e-9)), -90.0), 120.0)


def _peak(block: NDArray[Any]) -> float:
    """The largest sample; NaN and infinite ones count as silence, as they do for the stream."""
    return float(np.abs(block).max(initial=0.0, where=np.isfinite(block)))


def _device(name: str | None) -> int | str | None:
    return int(name) if name is not None and name.isdecimal() else name


def _one_line(error: Exception) -> str:
    return str(error).splitlines()[0].rstrip(".") if str(error) else type(error).__name__


def _sounddevice() -> Any:
    try:
        return importlib.import_module("sounddevice")
    except ModuleNotFoundError:
        raise InputError("microphone and loudspeaker need sounddevice: pip install 'hamiltone[live]'") from None
    except OSError as error:
        raise InputError(
            f"sounddevice cannot use PortAudio ({_one_line(error)}); on Debian: apt install libportaudio2"
        ) from None
