"""Frames as Loizou's measures cut them: 30 ms, three quarters overlapping, under a Hann window."""

import numpy as np

from hamiltone.metrics.checks import UndefinedScoreError, Waveform


def cut_frames(waveform: Waveform, sample_rate: int) -> Waveform:
    """Windowed frames; as in the original, the last whole frame is left out.

    Shape:
        waveform: ``(L,)``
        returns: ``(T, N)`` with N = 30 ms
    """
    length = round(0.03 * sample_rate)
    hop = length // 4
    count = int(len(waveform) / hop - length / hop)
    if count < 1:
        raise UndefinedScoreError(f"the signals are shorter than two frames of {length} samples")
    window = np.hanning(length + 2)[1:-1]
    return np.lib.stride_tricks.sliding_window_view(waveform, length)[::hop][:count] * window
