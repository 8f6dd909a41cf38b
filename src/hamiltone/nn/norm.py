"""Quaternion normalisation: QRMSNorm (Eq. 17-18), QLayerNorm and QBatchNorm.

Each divides by a real number, so the four components of a quaternion keep their proportions; the first two, without
bias, commute with a rotation of the whole input. The paper leaves the last two open: see docs/deviations.md.
"""

from typing import Any

import torch
from torch import Tensor, distributed, nn

from hamiltone.nn.tracing import is_traced


def _check_sequence(name: str, x: Tensor, dim: int) -> None:
    if x.dim() < 2 or x.shape[-2] != 4 or x.shape[-1] != dim:
        raise ValueError(f"{name} expected (..., 4, {dim}), got shape {tuple(x.shape)}")


def _widened(x: Tensor) -> Tensor:
    """Half-precision input in float32, where squares neither overflow nor vanish."""
    return x.float() if x.dtype in (torch.float16, torch.bfloat16) else x


class QRMSNorm(nn.Module):
    """Each quaternion divided by the root mean square of its own four components, times a real gain (Eq. 17-18).

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
        _check_sequence("QRMSNorm", x, self.dim)
        wide = _widened(x)
        inverse = torch.rsqrt(wide.square().mean(-2, keepdim=True) + self.eps)
        return (wide * (inverse * self.gain)).to(x.dtype)

    def extra_repr(self) -> str:
        """Sizes in quaternions."""
        return f"{self.dim}, eps={self.eps}"


class QLayerNorm(nn.Module):
    """Each component centred over the channels, all divided by one RMS; gain per quaternion, bias per real.

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
        _check_sequence("QLayerNorm", x, self.dim)
        wide = _widened(x)
        centred = wide - wide.mean(-1, keepdim=True)
        inverse = torch.rsqrt(centred.square().mean((-2, -1), keepdim=True) + self.eps)
        y = centred * (inverse * self.gain)
        return (y if self.bias is None else y + self.bias).to(x.dtype)

    def extra_repr(self) -> str:
        """Sizes in quaternions."""
        return f"{self.dim}, eps={self.eps}, bias={self.bias is not None}"


class QBatchNorm(nn.Module):
    """Batch normalisation of quaternion channels: a mean per component, one modulus variance per quaternion.

    The variance is E‖x - E x‖² / 4, so that a real component has unit variance on average. Gain per quaternion, bias
    per real. In evaluation it is an affine map that `fold` merges into the convolution before it. After
    `synchronise_batch_norms` the batch is that of all processes together.

    Shape:
        x: ``(B, 4, channels, ...)``, any number of axes after the channels
        returns: the same
        gain: ``(channels,)``, bias: ``(4, channels)``
    """

    running_mean: Tensor
    running_var: Tensor
    num_batches_tracked: Tensor

    def __init__(self, channels: int, eps: float = 1e-5, momentum: float = 0.1) -> None:
        super().__init__()
        self.channels, self.eps, self.momentum, self.synchronised = channels, eps, momentum, False
        self.gain = nn.Parameter(torch.ones(channels))
        self.bias = nn.Parameter(torch.zeros(4, channels))
        self.register_buffer("running_mean", torch.zeros(4, channels))
        self.register_buffer("running_var", torch.ones(channels))
        self.register_buffer("num_batches_tracked", torch.tensor(0))

    def affine(self, mean: Tensor, var: Tensor) -> tuple[Tensor, Tensor]:
        """The map as ``x * scale + shift`` with scale ``(channels,)`` and shift ``(4, channels)``."""
        scale = self.gain * torch.rsqrt(var + self.eps)
        return scale, self.bias - mean * scale

    def forward(self, x: Tensor) -> Tensor:
        """Normalise by the batch in training, by the running statistics in evaluation."""
        if x.dim() < 3 or x.shape[1] != 4 or x.shape[2] != self.channels:
            raise ValueError(f"QBatchNorm expected (B, 4, {self.channels}, ...), got shape {tuple(x.shape)}")
        wide = _widened(x)
        mean, var = self._batch_statistics(wide) if self.training else (self.running_mean, self.running_var)
        scale, shift = self.affine(mean, var)
        trailing = (1,) * (x.dim() - 3)
        return (wide * scale.view(-1, *trailing) + shift.view(4, -1, *trailing)).to(x.dtype)

    def _batch_statistics(self, x: Tensor) -> tuple[Tensor, Tensor]:
        count = x.numel() // (4 * self.channels)
        if count < 2:
            raise ValueError(f"QBatchNorm in training needs two values per channel, got shape {tuple(x.shape)}")
        mean, var = _statistics(x) if is_traced() else _Statistics.apply(x)
        if self.synchronised and _is_distributed():
            mean, var, count = _over_processes(mean, var, count)
        with torch.no_grad():
            self.num_batches_tracked.add_(1)
            self.running_mean.lerp_(mean.detach().to(self.running_mean.dtype), self.momentum)
            unbiased = var.detach() * (count / (count - 1))
            self.running_var.lerp_(unbiased.to(self.running_var.dtype), self.momentum)
        return mean, var

    def extra_repr(self) -> str:
        """Sizes in quaternions."""
        return f"{self.channels}, eps={self.eps}, momentum={self.momentum}"


def _statistics(x: Tensor) -> tuple[Tensor, Tensor]:
    """Mean ``(4, C)`` and modulus variance ``(C,)`` of ``(B, 4, C, ...)``."""
    var, mean = torch.var_mean(x, dim=(0, *range(3, x.dim())), correction=0)
    return mean, var.mean(0)


class _Statistics(torch.autograd.Function):
    """`_statistics` by the kernel of torch's batch norm, which is several times faster; compilers do better without."""

    @staticmethod
    def forward(x: Tensor) -> tuple[Tensor, Tensor]:
        tiny = 1e-30  # keeps the reciprocal of a constant channel finite
        _, mean, inverse = torch.native_batch_norm(x.flatten(1, 2), None, None, None, None, True, 0.0, tiny)
        return mean.unflatten(0, (4, -1)), inverse.pow(-2).unflatten(0, (4, -1)).mean(0)

    @staticmethod
    def setup_context(ctx: Any, inputs: tuple[Tensor], output: tuple[Tensor, Tensor]) -> None:
        ctx.save_for_backward(inputs[0], output[0])

    @staticmethod
    def backward(ctx: Any, of_mean: Tensor, of_var: Tensor) -> Tensor:
        x, mean = ctx.saved_tensors
        trailing = (1,) * (x.dim() - 3)
        slope = of_var * (2 / (x.numel() // mean.shape[1]))  # d var / d x = 2 (x - mean) / (4 N)
        shift = of_mean / (x.numel() // mean.numel())
        centred = x - mean.view(4, -1, *trailing)
        return torch.addcmul(shift.view(4, -1, *trailing), centred, slope.view(-1, *trailing))


def synchronise_batch_norms(model: nn.Module) -> None:
    """Let every `QBatchNorm` in the model normalise over the batches of all processes, where there are several."""
    for module in model.modules():
        if isinstance(module, QBatchNorm):
            module.synchronised = True


def _is_distributed() -> bool:
    return distributed.is_available() and distributed.is_initialized() and distributed.get_world_size() > 1


def _over_processes(mean: Tensor, var: Tensor, count: int) -> tuple[Tensor, Tensor, int]:
    """Mean ``(4, C)``, variance ``(C,)`` and count of the batches of all processes joined; gradients flow to each."""
    from torch.distributed.nn.functional import all_reduce

    counts = torch.tensor([count], dtype=mean.dtype, device=mean.device)
    distributed.all_reduce(counts)
    share = count / counts
    joint = all_reduce(share * mean)
    # Within the processes plus between them: squares of means would cancel where the mean is large.
    var = all_reduce(share * (var + (mean - joint).square().mean(0)))
    return joint, var, int(counts)
