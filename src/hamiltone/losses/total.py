"""The training loss of the speech models (Eq. 70)."""

import math
from dataclasses import asdict, dataclass

from torch import Tensor, nn

from hamiltone.losses.bark import Bark
from hamiltone.losses.pesq import PESQLoss, pesq_loss
from hamiltone.losses.sisdr import sisdr_loss
from hamiltone.losses.stft import complex_l1_loss, multi_resolution_stft_loss
from hamiltone.losses.waveform import rms_loss


@dataclass(frozen=True)
class LossWeights:
    """The weight of every term of Eq. 70, by default the paper's; a term of weight zero is not computed.

    Args:
        mstft: `multi_resolution_stft_loss`.
        sisdr: `sisdr_loss`.
        rms: `rms_loss` (Eq. 71).
        complex_l1: `complex_l1_loss` (Eq. 72).
        pesq: `pesq_loss`.
    """

    mstft: float = 3.5
    sisdr: float = 2.0
    rms: float = 1.0
    complex_l1: float = 2.5
    pesq: float = 1.0

    def __post_init__(self) -> None:
        weights = asdict(self).values()
        if not all(0 <= weight < math.inf for weight in weights) or not any(weights):
            raise ValueError(f"expected weights that are not negative, and one above zero, got {self}")


PAPER_WEIGHTS = LossWeights()


def loss_terms(
    estimate: Tensor,
    target: Tensor,
    weights: LossWeights = PAPER_WEIGHTS,
    *,
    n_fft: int = 400,
    hop: int = 100,
    bark: Bark | None = None,
) -> dict[str, Tensor]:
    """The terms of Eq. 70, each ``()``, under the names of their weights but without them.

    Args:
        estimate: What the model made.
        target: What it should have made.
        weights: Terms of weight zero are left out.
        n_fft: Samples of a frame of the complex distance: the model's.
        hop: Samples between its frames.
        bark: Constants of the PESQ term, if they are at hand on the right device.

    Shape:
        estimate, target: ``(B, L)`` at 16 kHz
    """
    terms = {
        "mstft": lambda: multi_resolution_stft_loss(estimate, target),
        "sisdr": lambda: sisdr_loss(estimate, target),
        "rms": lambda: rms_loss(estimate, target),
        "complex_l1": lambda: complex_l1_loss(estimate, target, n_fft, hop),
        "pesq": lambda: pesq_loss(estimate, target, bark),
    }
    return {name: term() for name, term in terms.items() if getattr(weights, name)}


def weighted_sum(terms: dict[str, Tensor], weights: LossWeights = PAPER_WEIGHTS) -> Tensor:
    """The sum of all terms, each times its weight (Eq. 70)."""
    first, *others = (getattr(weights, name) * term for name, term in terms.items())
    return sum(others, start=first)


class EnhancementLoss(nn.Module):
    """The training loss (Eq. 70), with the constants of the PESQ term as buffers::

        L = 3.5 L_mstft + 2 L_sisdr + L_rms + 2.5 L_complex + L_pesq

    Args:
        weights: The weight of every term; by default the paper's, as above.
        n_fft: Samples of a frame of the complex distance: the model's.
        hop: Samples between its frames.

    Shape:
        estimate, target: ``(B, L)`` at 16 kHz
        returns: ``()``
    """

    def __init__(self, weights: LossWeights = PAPER_WEIGHTS, *, n_fft: int = 400, hop: int = 100) -> None:
        super().__init__()
        self.weights, self.n_fft, self.hop = weights, n_fft, hop
        self.pesq = PESQLoss()

    def forward(self, estimate: Tensor, target: Tensor) -> Tensor:
        """The weighted sum."""
        return weighted_sum(self.terms(estimate, target), self.weights)

    def terms(self, estimate: Tensor, target: Tensor) -> dict[str, Tensor]:
        """The unweighted terms, for a log; `weighted_sum` makes the loss of them."""
        return loss_terms(estimate, target, self.weights, n_fft=self.n_fft, hop=self.hop, bark=self.pesq.bark)

    def extra_repr(self) -> str:
        """The weights, and the frame and hop of the complex distance."""
        return f"{self.weights}, n_fft={self.n_fft}, hop={self.hop}"
