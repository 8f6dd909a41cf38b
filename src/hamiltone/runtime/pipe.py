"""A stream between two pipes of raw PCM."""

import time
from dataclasses import dataclass
from io import BufferedReader
from typing import Any, BinaryIO

import numpy as np
from numpy.typing import NDArray

from hamiltone.errors import InputError
from hamiltone.runtime.interrupt import Interrupt
from hamiltone.runtime.stream import Stream

SAMPLE_TYPES: dict[str, np.dtype[Any]] = {"s16le": np.dtype("<i2"), "f32le": np.dtype("<f4")}
_MOST_BYTES = 1 << 16


@dataclass
class Passed:
    """What was processed: samples per channel, seconds of computing, and bytes of an incomplete sample at the end."""

    samples: int = 0
    busy: float = 0.0
    odd_bytes: int = 0


def pass_through(
    stream: Stream, source: BufferedReader, target: BinaryIO, encoding: str, interrupt: Interrupt
) -> Passed:
    """Enhance interleaved samples from `source` to `target` until the source ends, the target closes or a signal comes.

    The output is exactly as long as the input and aligned with it: the initial silence of a stream is left out, so a
    reader gets its first sample after the latency. Every chunk is written immediately.
    """
    sample, passed, held, silence = SAMPLE_TYPES[encoding], Passed(), b"", stream.latency
    size = sample.itemsize * stream.channels

    def read() -> bytes:
        try:
            with interrupt.wait():
                return source.read1(_MOST_BYTES)
        except KeyboardInterrupt:
            return b""
        except OSError as error:
            raise InputError(f"cannot read standard input: {error.strerror}") from error

    def write(chunk: NDArray[Any]) -> None:
        nonlocal silence
        chunk = np.atleast_2d(chunk)  # nothing went in: the stream does not know the shape
        rest, silence = chunk[:, silence:], max(silence - chunk.shape[1], 0)
        with interrupt.wait():
            target.write(rest.T.astype(sample).tobytes())
            target.flush()

    try:
        while data := read():
            data = held + data
            whole = len(data) // size * size
            held = data[whole:]
            started = time.perf_counter()
            frames = np.frombuffer(data[:whole], sample).reshape(-1, stream.channels)
            enhanced = stream.process(frames.T.astype(sample.newbyteorder("=")))
            passed.busy += time.perf_counter() - started
            passed.samples += len(frames)
            write(enhanced)
        passed.odd_bytes = len(held)
        write(stream.flush())
    except (BrokenPipeError, KeyboardInterrupt):
        pass  # the reader has closed the pipe, or the user has stopped it
    except OSError as error:
        raise InputError(f"cannot write standard output: {error.strerror}") from error
    return passed
