"""The short-time Fourier transform and its exact inverse, for every length from one sample up."""

from hamiltone.torch_extra import MissingTorchError  # noqa: F401

# isort: split
import torch
from torch import Tensor, nn
from torch.nn import functional as F


class STFT(nn.Module):
    """Centred frames of a Hann window; zeros beyond both ends, so short input needs no reflection.

    The signal is padded to whole hops, which keeps the overlap of windows away from zero up to the last sample: the
    inverse is exact everywhere.

    Args:
        n_fft: Samples of a frame; even.
        hop: Samples between frames, at most half a frame.

    Shape:
        waveform: ``(B, L)``
        spectrum: complex ``(B, T, F)`` with T = ceil(L / hop) + 1 frames and F = n_fft / 2 + 1 bins
    """

    window: Tensor

    def __init__(self, n_fft: int, hop: int) -> None:
        super().__init__()
        if n_fft % 2 or not 0 < hop <= n_fft // 2:
            raise ValueError(f"expected an even n_fft and a hop of at most half of it, got {n_fft} and {hop}")
        self.n_fft, self.hop = n_fft, hop
        self.register_buffer("window", torch.hann_window(n_fft), persistent=False)

    @property
    def bins(self) -> int:
        """The number F of frequency bins."""
        return self.n_fft // 2 + 1

    def forward(self, waveform: Tensor) -> Tensor:
        """Waveform ``(B, L)`` to spectrum ``(B, T, F)``."""
        padded = F.pad(waveform, (0, -waveform.shape[-1] % self.hop))
        spectrum = torch.stft(
            padded, self.n_fft, self.hop, window=self.window, center=True, pad_mode="constant", return_complex=True
        )
        return spectrum.mT

    def inverse(self, spectrum: Tensor, length: int) -> Tensor:
        """Spectrum ``(B, T, F)`` to the first `length` samples ``(B, L)``."""
        padded = (spectrum.shape[1] - 1) * self.hop
        waveform = torch.istft(spectrum.mT, self.n_fft, self.hop, window=self.window, center=True, length=padded)
        return waveform[:, :length]

    def extra_repr(self) -> str:
        return f"n_fft={self.n_fft}, hop={self.hop}"
