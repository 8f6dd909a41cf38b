"""The training loss of the speech models (Eq. 70): one table of weights, and the weighted sum."""

import math
from collections.abc import Callable
from dataclasses import asdict, dataclass
from functools import partial

from torch import Tensor, nn

from hamiltone.losses.compressed import compressed_spectrum_loss
from hamiltone.losses.pesq import PESQLoss
from hamiltone.losses.sisdr import sisdr_loss
from hamiltone.losses.stft import complex_l1_loss, multi_resolution_stft_loss
from hamiltone.losses.waveform import rms_loss


@dataclass(frozen=True)
class LossWeights:
    """The weight of each term, those of Eq. 70 and others. Zero switches a term off."""

    mstft: float = 0.0
    """Multi-resolution STFT loss."""
    sisdr: float = 0.0
    """Negative SI-SDR."""
    rms: float = 0.0
    """Root mean square error of the waveform (Eq. 71)."""
    complex_l1: float = 0.0
    """Distance of the complex spectra (Eq. 72)."""
    pesq: float = 0.0
    """The differentiable PESQ loss."""
    compressed: float = 0.0
    """Distance of compressed spectra."""

    def __post_init__(self) -> None:
        weights = asdict(self)
        for name, weight in weights.items():
            if not 0 <= weight < math.inf:
                raise ValueError(f"expected a finite weight of at least zero for {name}, got {weight}")
        if not any(weights.values()):
            raise ValueError("expected a weight above zero")


PAPER_WEIGHTS = LossWeights(mstft=3.5, sisdr=2.0, rms=1.0, complex_l1=2.5, pesq=1.0)


class EnhancementLoss(nn.Module):
    """The training loss, as a total and its terms. With the paper's weights (Eq. 70)::

        L = 3.5 L_mstft + 2 L_sisdr + L_rms + 2.5 L_complex + L_pesq

    Args:
        weights: The weight of every term; terms of weight zero are not computed.
        n_fft: Samples of a frame of the terms that look at spectra as the model does; use the model's.
        hop: Samples between these frames.

    Shape:
        estimate, target: ``(B, L)`` at 16 kHz
        returns: the total ``()``, and the terms by name, ``()`` each and without their weights
    """

    def __init__(self, weights: LossWeights = PAPER_WEIGHTS, *, n_fft: int = 400, hop: int = 100) -> None:
        super().__init__()
        self.weights, self.n_fft, self.hop = weights, n_fft, hop
        self.pesq = PESQLoss()  # a module: its constants move to the device once

    def forward(self, estimate: Tensor, target: Tensor) -> tuple[Tensor, dict[str, Tensor]]:
        terms: dict[str, Callable[[Tensor, Tensor], Tensor]] = {
            "mstft": multi_resolution_stft_loss,
            "sisdr": sisdr_loss,
            "rms": rms_loss,
            "complex_l1": partial(complex_l1_loss, n_fft=self.n_fft, hop=self.hop),
            "pesq": self.pesq,
            "compressed": compressed_spectrum_loss,
        }
        weights = {name: weight for name, weight in asdict(self.weights).items() if weight}
        losses = {name: terms[name](estimate, target) for name in weights}
        total = sum((weights[name] * loss for name, loss in losses.items()), start=estimate.new_zeros(()))
        return total, losses

    def extra_repr(self) -> str:
        return f"{self.weights}, n_fft={self.n_fft}, hop={self.hop}"
