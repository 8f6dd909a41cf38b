"""Enhancement of a waveform in memory."""

import sys
from numbers import Real
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from hamiltone.audio.formats import to_pcm
from hamiltone.errors import InputError
from hamiltone.runtime.backend import resolve_model
from hamiltone.runtime.enhancement import WINDOW_SECONDS, Model, Settings, enhance_blocks
from hamiltone.runtime.survey import survey_recording

if TYPE_CHECKING:
    from torch import Tensor
    from typing_extensions import TypeIs

Waveform = TypeVar("Waveform", NDArray[Any], "Tensor")
_MOST_CHANNELS = 1024  # more than that is a transposed waveform


def enhance(
    waveform: Waveform,
    sample_rate: int,
    *,
    model: Model = None,
    strength: float = 1.0,
    window_seconds: float = WINDOW_SECONDS,
) -> Waveform:
    """Remove noise from a recording of speech.

    Any sample rate will do, and any number of channels: two that belong together share one gain, others are enhanced
    each by itself. `strength` blends the input (0) with the enhanced signal (1). Loading a model takes a moment; for
    many waveforms, load it once with `hamiltone.runtime.resolve_model` and hand it in. The arithmetic is in float32.

    Shape:
        waveform: array or tensor ``(L,)`` or ``(channels, L)``, L >= 1; floating point of any level, or PCM in int16 or
            int32
        returns: the same kind, shape, type and device
    """
    settings = Settings(resolve_model(model), strength, window_seconds)
    if not isinstance(sample_rate, Real) or sample_rate // 1 != sample_rate:
        raise InputError(f"expected the sample rate in whole Hz, got {sample_rate!r}")
    rate = int(sample_rate)
    frames = _to_frames(waveform)
    survey = survey_recording(
        _ArrayReader(frames).read,
        name="the waveform",
        sample_rate=rate,
        channels=frames.shape[1],
        model_rate=settings.model.sample_rate,
    )
    if strength == 0:
        return waveform.clone() if _is_tensor(waveform) else waveform.copy()
    blocks = enhance_blocks(_ArrayReader(frames).read, survey, settings, rate, name="the waveform")
    return _from_frames(np.concatenate(list(blocks)), waveform)


class _ArrayReader:
    """Reads blocks from an array ``(L, C)``."""

    def __init__(self, frames: NDArray[Any]) -> None:
        self._rest = frames

    def read(self, frames: int) -> NDArray[Any]:
        block, self._rest = self._rest[:frames], self._rest[frames:]
        return block


def _to_frames(waveform: "NDArray[Any] | Tensor") -> NDArray[np.float32]:
    """Waveform ``(L,)`` or ``(channels, L)`` to floating-point frames ``(L, C)`` of full scale one."""
    if not isinstance(waveform, np.ndarray) and not _is_tensor(waveform):
        raise InputError(f"expected a waveform as a numpy array or a tensor, got a {type(waveform).__name__}")
    shape = tuple(waveform.shape)
    if len(shape) not in (1, 2) or (len(shape) == 2 and not 1 <= shape[0] <= _MOST_CHANNELS):
        raise InputError(f"expected a waveform of shape (L,) or (channels, L), got {shape}")
    bits = _pcm_bits(waveform)
    if _is_tensor(waveform):
        waveform = waveform.detach().cpu()
        waveform = (waveform.float() if waveform.is_floating_point() else waveform).numpy()
    if not bits and waveform.dtype.kind != "f":
        raise InputError(f"expected samples in floating point, int16 or int32, got {waveform.dtype}")
    samples = waveform / 2.0 ** (bits - 1) if bits else waveform
    with np.errstate(over="ignore"):  # what float32 cannot hold is then reported as infinite
        return np.ascontiguousarray(np.atleast_2d(samples).T, dtype=np.float32)


def _from_frames(frames: NDArray[np.float32], like: Waveform) -> Waveform:
    """Frames ``(L, C)`` to the kind, shape, type and device of `like`."""
    samples: NDArray[Any] = np.ascontiguousarray(frames.T).reshape(tuple(like.shape))
    bits = _pcm_bits(like)
    if bits:
        samples = to_pcm(samples, bits) >> (32 - bits)
    if _is_tensor(like):
        import torch

        return torch.from_numpy(samples).to(like.device, like.dtype)
    return samples.astype(like.dtype)


def _is_tensor(waveform: object) -> "TypeIs[Tensor]":
    """Whether it is a tensor; if so, torch is already loaded."""
    torch = sys.modules.get("torch")
    return torch is not None and isinstance(waveform, torch.Tensor)


def _pcm_bits(waveform: "NDArray[Any] | Tensor") -> int | None:
    name = str(waveform.dtype).removeprefix("torch.") if _is_tensor(waveform) else waveform.dtype.name
    return {"int16": 16, "int32": 32}.get(name)  # in any byte order
