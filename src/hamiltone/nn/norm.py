"""Quaternion normalisation of sequences: QRMSNorm (Eq. 17-18) and QLayerNorm; `hamiltone.nn.batch_norm` has QBatchNorm.

Each divides by a real number, so the four components of a quaternion keep their proportions; these two, without bias,
commute with a rotation of the whole input. The paper does not define QLayerNorm and QBatchNorm: see docs/deviations.md.
"""

import torch
from torch import Tensor, nn


def check_sequence(name: str, x: Tensor, dim: int) -> None:
    """Raise an error unless x is ``(..., 4, dim)``; `name` is the layer that expects it."""
    if x.dim() < 2 or x.shape[-2] != 4 or x.shape[-1] != dim:
        raise ValueError(f"{name} expected (..., 4, {dim}), got shape {tuple(x.shape)}")


def widened(x: Tensor) -> Tensor:
    """Half-precision input as float32, in which squares neither overflow nor vanish."""
    return x.float() if x.dtype in (torch.float16, torch.bfloat16) else x


class QRMSNorm(nn.Module):
    """Each quaternion divided by the root mean square of its own four components, times a real gain (Eq. 17-18)::

        y = γ q / √((q_0² + q_1² + q_2² + q_3²) / 4 + ε)

    Args:
        dim: Quaternions of a position.
        eps: ε, which keeps the division finite where a quaternion is zero.

    Shape:
        x: ``(..., 4, dim)``
        returns: the same
        gain: ``(dim,)``
    """

    def __init__(self, dim: int, eps: float = 1e-6) -> None:
        super().__init__()
        self.dim, self.eps = dim, eps
        self.gain = nn.Parameter(torch.ones(dim))

    def forward(self, x: Tensor) -> Tensor:
        """Normalise every quaternion on its own."""
        check_sequence("QRMSNorm", x, self.dim)
        wide = widened(x)
        inverse = torch.rsqrt(wide.square().mean(-2, keepdim=True) + self.eps)
        return (wide * (inverse * self.gain)).to(x.dtype)

    def extra_repr(self) -> str:
        return f"{self.dim}, eps={self.eps}"


class QLayerNorm(nn.Module):
    """Each component centred over the channels, all divided by one RMS; gain per quaternion, bias per real.

    With the mean over the channels μ_c of each component c::

        y_c = γ (x_c - μ_c) / √(mean of all (x_c - μ_c)² + ε) + β_c

    Args:
        dim: Quaternions of a position.
        eps: ε, which keeps the division finite where all channels are equal.
        bias: Whether to add β.

    Shape:
        x: ``(..., 4, dim)``
        returns: the same
        gain: ``(dim,)``, bias: ``(4, dim)``
    """

    def __init__(self, dim: int, eps: float = 1e-5, bias: bool = True) -> None:
        super().__init__()
        self.dim, self.eps = dim, eps
        self.gain = nn.Parameter(torch.ones(dim))
        self.bias = nn.Parameter(torch.zeros(4, dim)) if bias else None

    def forward(self, x: Tensor) -> Tensor:
        """Normalise every position on its own."""
        check_sequence("QLayerNorm", x, self.dim)
        wide = widened(x)
        centred = wide - wide.mean(-1, keepdim=True)
        inverse = torch.rsqrt(centred.square().mean((-2, -1), keepdim=True) + self.eps)
        y = centred * (inverse * self.gain)
        return (y if self.bias is None else y + self.bias).to(x.dtype)

    def extra_repr(self) -> str:
        return f"{self.dim}, eps={self.eps}, bias={self.bias is not None}"
