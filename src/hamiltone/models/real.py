"""The real-valued twin: the same architecture with every quaternion layer replaced by a real one of the same width."""

from torch import Tensor, nn

from hamiltone.algebra import flatten, unflatten
from hamiltone.nn import QBatchNorm, QConv1d, QConv2d, QConvTranspose2d, QDropout, QLayerNorm, QLinear, QRMSNorm
from hamiltone.nn.folded import RealConv1d, RealConv2d, RealConvTranspose2d, RealLinear


class RealLayerNorm(nn.LayerNorm):
    """Ordinary layer norm over the 4C reals of each position of ``(..., 4, C)``."""

    def forward(self, x: Tensor) -> Tensor:
        """Normalise every position on its own."""
        return unflatten(super().forward(flatten(x)))


class RealBatchNorm1d(nn.BatchNorm1d):
    """Ordinary batch norm of the 4C real channels of ``(B, 4, C, N)``."""

    def forward(self, x: Tensor) -> Tensor:
        """Normalise every real channel on its own."""
        return unflatten(super().forward(flatten(x, dim=1)), dim=1)


class RealBatchNorm2d(nn.BatchNorm2d):
    """Ordinary batch norm of the 4C real channels of ``(B, 4, C, T, F)``."""

    def forward(self, x: Tensor) -> Tensor:
        """Normalise every real channel on its own."""
        return unflatten(super().forward(flatten(x, dim=1)), dim=1)


def real_twin(module: nn.Module, *, rank: int = 2) -> nn.Module:
    """Replace, in place, every quaternion layer by its freshly initialised real counterpart; return the result.

    Heads of arbitrary real projections are ordinary heads, so shared-score attention becomes standard attention; the
    query-key norm, which only the quaternion models have, is removed. `rank` is that of the maps around a batch norm.
    """
    if isinstance(module, QLinear):
        return RealLinear(4 * module.in_dim, 4 * module.out_dim, module.bias is not None)
    if isinstance(module, QConv1d | QConv2d | QConvTranspose2d):
        twin = {QConv1d: RealConv1d, QConv2d: RealConv2d, QConvTranspose2d: RealConvTranspose2d}[type(module)]
        sizes = (4 * module.in_channels, 4 * module.out_channels, module.kernel_size)
        return twin(*sizes, **module.geometry(), bias=module.bias is not None)
    if isinstance(module, QLayerNorm):
        return RealLayerNorm(4 * module.dim, module.eps)
    if isinstance(module, QBatchNorm):
        norm = RealBatchNorm1d if rank == 1 else RealBatchNorm2d
        return norm(4 * module.channels, module.eps, module.momentum)
    if isinstance(module, QRMSNorm):
        return nn.Identity()
    if isinstance(module, QDropout):
        return nn.Dropout(module.p)
    if isinstance(module, nn.Sequential):
        rank = 1 if any(isinstance(child, QConv1d) for child in module) else rank
    for name, child in module.named_children():
        setattr(module, name, real_twin(child, rank=rank))
    return module
