"""Quaternion batch normalisation, and its statistics over several processes."""

from typing import Any

import torch
from torch import Tensor, distributed, nn

from hamiltone.nn.norm import check_sequence, widened
from hamiltone.nn.tracing import is_traced


class QBatchNorm(nn.Module):
    """Batch normalisation of quaternion channels: a mean per component, one modulus variance per quaternion.

    For every channel, with the mean E over batch and positions::

        y = γ (x - E x) / √(E‖x - E x‖² / 4 + ε) + β

    The factor 1/4 gives a real component unit variance on average. Gain per quaternion, bias per real. In evaluation it
    is an affine map that `fold` merges into the convolution before it. After `synchronise_batch_norms` the batch is
    that of all processes together.

    Args:
        channels: Quaternion channels.
        eps: ε, which keeps the division finite where a channel is constant.
        momentum: The weight of a new batch in the running statistics that evaluation uses.

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
        wide = widened(x)
        if not self.training:
            return self._affine(wide, self.running_mean, self.running_var).to(x.dtype)
        count = x.numel() // (4 * self.channels)
        if count < 2:
            raise ValueError(f"QBatchNorm in training needs two values per channel, got shape {tuple(x.shape)}")
        if is_traced():
            mean, var = _statistics(wide)
            y = self._affine(wide, mean, var)
        else:
            synchronised = self.synchronised and _is_distributed()
            y, mean, var, total = _Normalise.apply(wide, self.gain, self.bias, self.eps, synchronised)
            count = int(total)
        self._follow(mean.detach(), var.detach() * (count / (count - 1)))
        return y.to(x.dtype)

    def _affine(self, x: Tensor, mean: Tensor, var: Tensor) -> Tensor:
        scale, shift = self.affine(mean, var)
        trailing = (1,) * (x.dim() - 3)
        return x * scale.view(-1, *trailing) + shift.view(4, -1, *trailing)

    @torch.no_grad()
    def _follow(self, mean: Tensor, var: Tensor) -> None:
        self.num_batches_tracked.add_(1)
        self.running_mean.lerp_(mean.to(self.running_mean.dtype), self.momentum)
        self.running_var.lerp_(var.to(self.running_var.dtype), self.momentum)

    def extra_repr(self) -> str:
        return f"{self.channels}, eps={self.eps}, momentum={self.momentum}"


class QSequenceBatchNorm(QBatchNorm):
    """`QBatchNorm`, with the same arguments, of sequences or of anything whose components and channels come last.

    Shape:
        x: ``(..., 4, channels)``
        returns: the same
    """

    def forward(self, x: Tensor) -> Tensor:
        check_sequence("QSequenceBatchNorm", x, self.channels)
        return super().forward(x.reshape(-1, 4, self.channels)).view(x.shape)


def _statistics(x: Tensor) -> tuple[Tensor, Tensor]:
    """Mean ``(4, C)`` and modulus variance ``(C,)`` of ``(B, 4, C, ...)``."""
    var, mean = torch.var_mean(x, dim=(0, *range(3, x.dim())), correction=0)
    return mean, var.mean(0)


class _Normalise(torch.autograd.Function):
    """Batch normalisation with as few passes over the map as torch's own kernels allow.

    Returns the normalised x, the mean ``(4, C)``, the modulus variance ``(C,)`` and the number of values per channel,
    the last three over all processes where it is synchronised; only the first carries gradients.
    """

    @staticmethod
    def forward(
        x: Tensor, gain: Tensor, bias: Tensor, eps: float, synchronised: bool
    ) -> tuple[Tensor, Tensor, Tensor, Tensor]:
        tiny = 1e-30  # keeps the reciprocal of a constant channel finite
        y, own_mean, inverse = torch.native_batch_norm(x.flatten(1, 2), None, None, None, None, True, 0.0, tiny)
        own_mean, deviation = own_mean.unflatten(0, (4, -1)), inverse.reciprocal().unflatten(0, (4, -1))
        mean, var = own_mean, deviation.square().mean(0)
        count = x.new_tensor(float(x.numel() // own_mean.numel()), dtype=torch.float64)
        if synchronised:
            mean, var, count = _over_processes(mean, var, count)
        # The kernel has divided every component by its own deviation: replace it by the common one.
        scale = gain * torch.rsqrt(var + eps)
        shift = bias + (own_mean - mean) * scale
        ratio = (scale * deviation).flatten().view(-1, *(1,) * (x.dim() - 3))
        y = y.mul_(ratio).add_(shift.flatten().view(ratio.shape))
        return y.unflatten(1, (4, -1)), mean, var, count

    @staticmethod
    def setup_context(ctx: Any, inputs: tuple[Any, ...], output: tuple[Tensor, ...]) -> None:
        x, gain, bias, ctx.eps, ctx.synchronised = inputs
        ctx.save_for_backward(x, gain, bias, *output[1:])
        ctx.mark_non_differentiable(*output[1:])

    @staticmethod
    def backward(ctx: Any, gradient: Tensor, *_: Any) -> tuple[Tensor | None, ...]:
        x, gain, bias, mean, var, count = ctx.saved_tensors
        if torch.is_grad_enabled():  # a second derivative is wanted: let autograd compute the first
            return *_differentiable_gradients(x, gain, bias, ctx.eps, gradient), None, None
        inverse = torch.rsqrt(var + ctx.eps)
        _, dot, total = torch.ops.aten.native_batch_norm_backward(
            gradient.flatten(1, 2),
            x.flatten(1, 2),
            None,
            None,
            None,
            mean.flatten(),
            inverse.repeat(4),
            True,
            ctx.eps,
            [False, True, True],
        )
        of_gain, of_bias = dot.unflatten(0, (4, -1)).sum(0), total.unflatten(0, (4, -1))
        dot, total = of_gain, of_bias
        if ctx.synchronised:
            both = torch.cat([dot, total.flatten()])
            distributed.all_reduce(both)
            dot, total = both[: len(dot)], both[len(dot) :].view_as(total)
        # of_x = scale (g - mean of g - x̂ · mean of g x̂), as a g + b x + c
        number = count.to(x.dtype)
        a = gain * inverse
        b = -a * inverse * dot / (4 * number)
        c = -a * total / number - b * mean
        trailing = (1,) * (x.dim() - 3)
        of_x = torch.addcmul(c.view(4, -1, *trailing), gradient, a.view(-1, *trailing))
        return of_x.addcmul_(x, b.view(-1, *trailing)), of_gain, of_bias, None, None


def _differentiable_gradients(
    x: Tensor, gain: Tensor, bias: Tensor, eps: float, gradient: Tensor
) -> tuple[Tensor, ...]:
    trailing = (1,) * (x.dim() - 3)
    with torch.enable_grad():
        mean, var = _statistics(x)
        scale = gain * torch.rsqrt(var + eps)
        y = x * scale.view(-1, *trailing) + (bias - mean * scale).view(4, -1, *trailing)
        return torch.autograd.grad(y, (x, gain, bias), gradient, create_graph=True)


def synchronise_batch_norms(model: nn.Module) -> None:
    """Let every `QBatchNorm` in the model normalise over the batches of all processes, if there are several."""
    for module in model.modules():
        if isinstance(module, QBatchNorm):
            module.synchronised = True


def _is_distributed() -> bool:
    return distributed.is_available() and distributed.is_initialized() and distributed.get_world_size() > 1


def _over_processes(mean: Tensor, var: Tensor, count: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    """Mean ``(4, C)``, variance ``(C,)`` and count of the batches of all processes joined, in one exchange.

    Every exchange makes the processes wait for each other, so all three travel together, in the count's precision.
    """
    own = torch.cat([mean.flatten().to(count), var.to(count), count.view(1)])
    gathered = [torch.empty_like(own) for _ in range(distributed.get_world_size())]
    distributed.all_gather(gathered, own)
    means, variances, counts = torch.stack(gathered).split([mean.numel(), var.numel(), 1], dim=1)
    means, total = means.unflatten(1, mean.shape), counts.sum()
    share = counts / total
    joint = (share[..., None] * means).sum(0)
    # Variance within processes plus between them: squares of means would cancel where the mean is large.
    joint_var = (share * (variances + (means - joint).square().mean(1))).sum(0)
    return joint.to(mean), joint_var.to(var), total
