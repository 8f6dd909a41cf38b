"""The short-time Fourier transform of a stream, hop by hop."""

import numpy as np

from hamiltone.audio.spectra import Samples, Spectrum, hann


class Frames:
    """The frames of `hamiltone.audio.spectra.stft`, with a hop of half a frame, as a signal grows.

    A frame spans two hops; the first one begins in the silence before the signal. A hop is complete as soon as the
    frame that begins with it is filtered, so the output is one hop behind the input.

    Shape:
        hop: float32 ``(channels, hop)``
        spectrum: complex64 ``(channels, F)``, F = hop + 1
    """

    def __init__(self, n_fft: int, channels: int) -> None:
        hop = n_fft // 2
        window = hann(n_fft)
        self.hop = hop
        self._analysis = window.astype(np.float32)
        energy = np.square(window[:hop]) + np.square(window[hop:])
        self._synthesis = (window / np.tile(energy, 2)).astype(np.float32)
        self._frame = np.zeros((channels, n_fft), np.float32)
        self._rest = np.zeros((channels, hop), np.float32)

    @property
    def last(self) -> Samples:
        """The hop before the newest one, unfiltered; `synthesise` returns it filtered."""
        return self._frame[:, : self.hop]

    def analyse(self, hop: Samples) -> Spectrum:
        """The spectrum of the frame that ends with this hop."""
        self._frame[:, : self.hop] = self._frame[:, self.hop :]
        self._frame[:, self.hop :] = hop
        return np.fft.rfft(self._frame * self._analysis).astype(np.complex64, copy=False)

    def synthesise(self, spectrum: Spectrum) -> Samples:
        """The first hop of the frame, now that all frames that cover it have been filtered."""
        frame = np.fft.irfft(spectrum).astype(np.float32, copy=False) * self._synthesis
        whole = self._rest + frame[:, : self.hop]
        self._rest = frame[:, self.hop :]
        return whole

    def reset(self) -> None:
        """Start with a new signal."""
        self._frame[:] = 0
        self._rest[:] = 0
