"""The distance of waveforms sample by sample."""

import torch
from torch import Tensor

from hamiltone.losses.batch import as_waveforms


def rms_loss(estimate: Tensor, target: Tensor) -> Tensor:
    """Root mean square error of each waveform, averaged over the batch (Eq. 71): √(mean (ŝ - s)²).

    Shape:
        estimate, target: ``(B, L)``
        returns: ``()``

    >>> rms_loss(torch.tensor([[3.0, 0.0, 0.0, 1.0]]), torch.tensor([[0.0, 0.0, 0.0, 1.0]]))
    tensor(1.5000)
    """
    estimate, target = as_waveforms(estimate, target)
    # The norm, not a square root: its gradient at a perfect estimate is zero instead of infinite.
    return (torch.linalg.vector_norm(estimate - target, dim=-1) / estimate.shape[-1] ** 0.5).mean()
