"""The quaternion gated recurrent unit: memory along a sequence, one position at a time or a whole sequence at once."""

from typing import Any

import torch
from torch import Tensor, nn
from torch.autograd.function import once_differentiable
from torch.nn import functional as F

from hamiltone.algebra import flatten, unflatten
from hamiltone.nn.linear import QLinear
from hamiltone.nn.tracing import is_traced


class QGRU(nn.Module):
    """A gated recurrent unit (Cho et al. 2014) whose products are quaternion products.

    With σ and tanh on every component by itself and ∘ between components::

        r = σ(x ⊗ W_r + h ⊗ U_r + b_r)              how much of the past the candidate sees
        z = σ(x ⊗ W_z + h ⊗ U_z + b_z)              how much of the past is kept
        n = tanh(x ⊗ W_n + b_n + r ∘ (h ⊗ U_n + c_n))
        h ← (1 - z) ∘ n + z ∘ h

    It has a quarter of the weights of a real unit of the same width. The state is explicit: a sequence in pieces, each
    with the state that the previous piece returned, gives the same result as the whole sequence.

    Args:
        in_dim: Quaternions of the input.
        dim: Quaternions of the state, and of the output for each direction.
        bidirectional: Whether a second unit reads the sequence backwards; its output follows the first one's along the
            channels, and no state can be passed in.

    Shape:
        x: ``(B, N, 4, in_dim)``
        state: ``(B, 4, dim)``, zero if it is left out
        returns: ``(B, N, 4, dim)``, or ``(B, N, 4, 2 dim)`` in both directions, and the state after the last position
        input: `QLinear` to ``3 dim``, and hidden: `QLinear` from ``dim`` to ``3 dim``; channels hold r, z and n in turn

    >>> unit = QGRU(3, 5)
    >>> y, state = unit(torch.randn(2, 7, 4, 3))
    >>> y.shape, state.equal(y[:, -1])
    (torch.Size([2, 7, 4, 5]), True)
    """

    def __init__(self, in_dim: int, dim: int, *, bidirectional: bool = False) -> None:
        super().__init__()
        self.in_dim, self.dim, self.bidirectional = in_dim, dim, bidirectional
        directions = 2 if bidirectional else 1
        self.input = nn.ModuleList(QLinear(in_dim, 3 * dim) for _ in range(directions))
        self.hidden = nn.ModuleList(QLinear(dim, 3 * dim) for _ in range(directions))

    def forward(self, x: Tensor, state: Tensor | None = None) -> tuple[Tensor, Tensor]:
        """Process the sequence, starting from `state`."""
        if x.dim() != 4 or x.shape[2] != 4 or x.shape[3] != self.in_dim:
            raise ValueError(f"QGRU expected (B, N, 4, {self.in_dim}), got shape {tuple(x.shape)}")
        if state is not None and (self.bidirectional or state.shape != (x.shape[0], 4, self.dim)):
            expected = "no state in both directions" if self.bidirectional else f"a state ({x.shape[0]}, 4, {self.dim})"
            raise ValueError(f"QGRU expected {expected}, got shape {tuple(state.shape)}")
        return run_gru(flatten(x), state, self.real_weights(), self.dim, self.bidirectional)

    def real_weights(self) -> list[Tensor]:
        """Input and hidden matrices and biases of each direction, in the order of ``torch.gru``: gate by gate."""
        weights: list[Tensor] = []
        for pair in zip(self.input, self.hidden, strict=True):
            layers = [layer for layer in pair if isinstance(layer, QLinear)]
            weights += [layer.real_weight() for layer in layers]
            weights += [layer.bias.flatten() for layer in layers if layer.bias is not None]
        return [gate_major(values) for values in weights]

    def extra_repr(self) -> str:
        return f"{self.in_dim}, {self.dim}, bidirectional={self.bidirectional}"


def gate_major(x: Tensor) -> Tensor:
    """Reorder the first axis from ``(4, 3, dim)``, component by component, to ``(3, 4, dim)``, gate by gate."""
    return x.unflatten(0, (4, 3, -1)).transpose(0, 1).flatten(0, 2)


def run_gru(
    x: Tensor, state: Tensor | None, weights: list[Tensor], dim: int, bidirectional: bool
) -> tuple[Tensor, Tensor]:
    """The recurrence on flat real sequences ``(B, N, 4 in_dim)``; returns output and state as quaternions."""
    directions = 2 if bidirectional else 1
    first = x.new_zeros(directions, x.shape[0], 4 * dim) if state is None else flatten(state)[None]
    x = x.transpose(0, 1)  # time first in memory: every step then reads one block
    if _pays(x):
        y, last = _trained(x, first, weights)
    else:
        y, last = torch.gru(x, first, weights, True, 1, 0.0, False, bidirectional, False)
    y = y.transpose(0, 1).unflatten(-1, (directions, 4, dim)).transpose(2, 3).flatten(3)  # (B, N, 4, directions · dim)
    return y, unflatten(last[0])


def _pays(x: Tensor) -> bool:
    """Whether a gradient is needed on a CPU, where torch's own recurrence takes three times as long for it."""
    return (
        torch.is_grad_enabled()
        and x.device.type == "cpu"
        and x.dtype == torch.float32
        and not is_traced()
        and not torch.is_autocast_enabled("cpu")
    )


def _trained(x: Tensor, first: Tensor, weights: list[Tensor]) -> tuple[Tensor, Tensor]:
    """``torch.gru`` through `_Recurrence`, one direction after the other."""
    outputs = []
    for direction, state in enumerate(first):
        of_input, of_hidden, input_bias, hidden_bias = weights[4 * direction : 4 * direction + 4]
        backwards = direction == 1
        drive = F.linear(x.flip(0) if backwards else x, of_input, input_bias)
        y: Tensor = _Recurrence.apply(drive, state, of_hidden, hidden_bias)
        outputs.append(y.flip(0) if backwards else y)
    return torch.cat(outputs, -1), outputs[0][-1:]


class _Recurrence(torch.autograd.Function):
    """The recurrence alone, whose gradient takes three small operations per step and the rest for all steps at once.

    Shape:
        drive: ``(N, B, 3H)``, the input's contribution to the gates r, z and n
        state: ``(B, H)``, weight: ``(3H, H)``, bias: ``(3H,)``
        returns: ``(N, B, H)``
    """

    @staticmethod
    def forward(ctx: Any, drive: Tensor, state: Tensor, weight: Tensor, bias: Tensor) -> Tensor:
        steps, batch, size = *drive.shape[:2], state.shape[1]
        states = drive.new_empty(steps + 1, batch, size)
        states[0] = state
        gates = drive[..., : 2 * size] + bias[: 2 * size]  # r and z
        recalled, candidates = drive.new_empty(steps, batch, size), drive.new_empty(steps, batch, size)
        of_gates, of_candidate = weight[: 2 * size].mT, weight[2 * size :].mT
        for step in range(steps):
            before, gate, recall, candidate = states[step], gates[step], recalled[step], candidates[step]
            gate.addmm_(before, of_gates).sigmoid_()
            torch.addmm(bias[2 * size :], before, of_candidate, out=recall)
            torch.addcmul(drive[step, :, 2 * size :], gate[:, :size], recall, out=candidate).tanh_()
            torch.lerp(candidate, before, gate[:, size:], out=states[step + 1])
        ctx.save_for_backward(states, gates, recalled, candidates, weight)
        return states[1:]

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, gradient: Tensor) -> tuple[Tensor, ...]:
        states, gates, recalled, candidates, weight = ctx.saved_tensors
        steps, batch, size = candidates.shape
        r, z, before = gates[..., :size], gates[..., size:], states[:-1]
        # From the gradient of a state to those of the candidate and of the hidden product's part in r, z and n
        at_candidate = (1 - z) * (1 - candidates.square())
        factors = torch.stack(
            [at_candidate * recalled * r * (1 - r), (before - candidates) * z * (1 - z), at_candidate * r], 2
        )  # (N, B, 3, H)
        of_hidden, of_states = torch.empty_like(factors), torch.empty_like(candidates)
        passed = torch.zeros_like(states[0])
        for step in reversed(range(steps)):
            of_state, at_gates = of_states[step], of_hidden[step]
            torch.add(gradient[step], passed, out=of_state)
            torch.mul(of_state[:, None], factors[step], out=at_gates)
            passed = torch.addcmul(at_gates.view(batch, -1) @ weight, of_state, z[step])
        flat = of_hidden.view(steps * batch, -1)
        of_weight, of_bias = flat.mT @ before.reshape(steps * batch, size), flat.sum(0)
        of_drive = of_hidden.view(steps, batch, -1)
        of_drive[..., 2 * size :] = of_states * at_candidate
        return of_drive, passed, of_weight, of_bias
