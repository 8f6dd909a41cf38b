"""Small videos with a clicking sound, made by PyAV, and what they hold."""

from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

av = pytest.importorskip("av")

RATE = 48_000
SECONDS = 3.0
CLICKS = (0.5, 1.25, 2.5)  # seconds after the first sample


def clicks(channels: int = 2) -> NDArray[np.float32]:
    """Three short bursts of a tone in a faint noise, ``(L, C)``."""
    sound = 1e-3 * np.random.default_rng(0).standard_normal((round(SECONDS * RATE), channels))
    burst = 0.5 * np.sin(2 * np.pi * 1000 * np.arange(480) / RATE) * np.hanning(480)
    for second in CLICKS:
        start = round(second * RATE) - 240
        sound[start : start + 480] += burst[:, None]
    return sound.astype(np.float32)


def make_video(
    path: Path,
    picture: str = "mpeg4",
    sound: str = "aac",
    *,
    start: float = 0.0,
    gap: float = 0.0,
    sounds: int = 1,
    format: str | None = None,
) -> Path:
    """Three seconds of picture, and of sound that begins at `start` and pauses for `gap` seconds in its middle."""
    with av.open(str(path), "w", format=format) as container:
        container.metadata["title"] = "a talk"
        video = container.add_stream(picture, rate=25, width=64, height=48)
        video.pix_fmt = "yuv420p"
        streams = [container.add_stream(sound, rate=RATE, layout="stereo", bit_rate=96_000) for _ in range(sounds)]
        names = [entry.name for entry in streams[0].codec_context.codec.audio_formats]
        resamplers = [av.AudioResampler(names[0], "stereo", RATE) for _ in streams]
        container.set_chapters(
            [
                {"id": 1, "start": 0, "end": 1000, "time_base": Fraction(1, 1000), "metadata": {"title": "one"}},
                {"id": 2, "start": 1000, "end": 3000, "time_base": Fraction(1, 1000), "metadata": {"title": "two"}},
            ]
        )
        samples, half = clicks(), round(SECONDS * RATE) // 2
        for number in range(75):
            image = np.full((48, 64, 3), number * 3, np.uint8)
            image[:, number % 64] = 255
            frame = av.VideoFrame.from_ndarray(image, "rgb24")
            frame.pts, frame.time_base = number, Fraction(1, 25)
            container.mux(video.encode(frame))
            part = slice(number * RATE // 25, (number + 1) * RATE // 25)
            for stream, resampler in zip(streams, resamplers, strict=True):
                block = av.AudioFrame.from_ndarray(np.ascontiguousarray(samples[part].T), "fltp", "stereo")
                block.sample_rate, block.time_base = RATE, Fraction(1, RATE)
                block.pts = part.start + round((start + (gap if part.start >= half else 0)) * RATE)
                for piece in resampler.resample(block):
                    container.mux(stream.encode(piece))
        container.mux(video.encode(None))
        for stream in streams:
            container.mux(stream.encode(None))
    return path


def packets(path: Path, kind: str = "video", number: int = 0) -> list[tuple[float, bytes]]:
    """The time and the bytes of every packet of a stream."""
    with av.open(str(path)) as container:
        stream = getattr(container.streams, kind)[number]
        return [
            (float((packet.pts if packet.pts is not None else packet.dts or 0) * packet.time_base), bytes(packet))
            for packet in container.demux(stream)
            if packet.size
        ]


def sound_of(path: Path, number: int = 0) -> tuple[float, NDArray[np.float32]]:
    """The time of the first sample of a file, and its sound ``(L, C)``, with silence where time stamps leave a gap."""
    blocks: list[NDArray[Any]] = []
    begin, count = 0.0, 0
    with av.open(str(path)) as container:
        resampler = av.AudioResampler("fltp")
        for frame in container.decode(container.streams.audio[number]):
            time = float(frame.pts * frame.time_base) if frame.pts is not None else begin + count / frame.sample_rate
            rate = frame.sample_rate
            if not blocks:
                begin = time
            missing = round((time - begin) * rate) - count
            if missing > 0.05 * rate:
                blocks.append(np.zeros((missing, blocks[0].shape[1]), np.float32))
                count += missing
            for piece in resampler.resample(frame):
                blocks.append(piece.to_ndarray().T)
                count += len(blocks[-1])
    return begin, np.concatenate(blocks)


def click_times(path: Path) -> list[float]:
    """When the clicks of a video are heard, after its first picture."""
    begin, sound = sound_of(path)
    first = packets(path)[0][0]
    loud = np.flatnonzero(np.abs(sound[:, 0]) > 0.1 * np.abs(sound).max())
    groups = np.split(loud, np.flatnonzero(np.diff(loud) > RATE // 10) + 1)
    return [begin - first + float(group[[0, -1]].mean()) / RATE for group in groups]
