"""A slow scalar quaternion oracle, written straight from the paper's equations and sharing nothing with the library.

A quaternion is a tuple of four floats, a row is a list of quaternions; tensors only carry numbers in and out.
"""

import math
from collections.abc import Callable, Iterable
from itertools import product as positions
from typing import Any

import torch
from torch import Tensor

Quaternion = tuple[float, float, float, float]
Row = list[Quaternion]
Bias = Callable[[int, int, int, int], float]

ZERO: Quaternion = (0.0, 0.0, 0.0, 0.0)
UNITS: dict[str, Quaternion] = {
    "1": (1.0, 0.0, 0.0, 0.0),
    "i": (0.0, 1.0, 0.0, 0.0),
    "j": (0.0, 0.0, 1.0, 0.0),
    "k": (0.0, 0.0, 0.0, 1.0),
}


def multiply(p: Quaternion, q: Quaternion) -> Quaternion:
    """Eq. 4."""
    return (
        p[0] * q[0] - p[1] * q[1] - p[2] * q[2] - p[3] * q[3],
        p[0] * q[1] + p[1] * q[0] + p[2] * q[3] - p[3] * q[2],
        p[0] * q[2] - p[1] * q[3] + p[2] * q[0] + p[3] * q[1],
        p[0] * q[3] + p[1] * q[2] - p[2] * q[1] + p[3] * q[0],
    )


def conjugate(q: Quaternion) -> Quaternion:
    """Eq. 3."""
    return (q[0], -q[1], -q[2], -q[3])


def norm(q: Quaternion) -> float:
    """Eq. 3."""
    return math.sqrt(multiply(q, conjugate(q))[0])


def add(quaternions: Iterable[Quaternion]) -> Quaternion:
    total = ZERO
    for q in quaternions:
        total = (total[0] + q[0], total[1] + q[1], total[2] + q[2], total[3] + q[3])
    return total


def scale(q: Quaternion, factor: float) -> Quaternion:
    return (q[0] * factor, q[1] * factor, q[2] * factor, q[3] * factor)


def rows(x: Tensor) -> list[Row]:
    """``(N, 4, C)`` to N rows of C quaternions."""
    return [[tuple(q) for q in row] for row in x.detach().double().transpose(1, 2).tolist()]


def tensor(x: list[Row]) -> Tensor:
    """Undo `rows`, in float64."""
    return torch.tensor(x, dtype=torch.float64).transpose(1, 2)


def cells(x: Tensor) -> dict[tuple[int, ...], Quaternion]:
    """``(4, ...)`` to a quaternion for each index of the other axes."""
    x = x.detach().double()
    return {at: tuple(x[(slice(None), *at)].tolist()) for at in positions(*map(range, x.shape[1:]))}


def left_multiply(u: Quaternion, x: Tensor, dim: int) -> Tensor:
    """Every quaternion q of x becomes u ⊗ q."""
    matrix = torch.tensor([multiply(u, unit) for unit in UNITS.values()], dtype=torch.float64).T
    return torch.tensordot(matrix, x.double(), dims=([1], [dim])).movedim(0, dim).to(x.dtype)


def right_multiply(x: Tensor, u: Quaternion, dim: int) -> Tensor:
    """Every quaternion q of x becomes q ⊗ u."""
    matrix = torch.tensor([multiply(unit, u) for unit in UNITS.values()], dtype=torch.float64).T
    return torch.tensordot(matrix, x.double(), dims=([1], [dim])).movedim(0, dim).to(x.dtype)


def linear(row: Row, weight: Tensor, bias: Tensor | None = None) -> Row:
    """Eq. 21 for one position: y_o = Σ_i x_i ⊗ w_oi + b_o, weight ``(4, O, I)``."""
    w = cells(weight)
    b = {} if bias is None else cells(bias)
    return [
        add([*(multiply(x, w[o, i]) for i, x in enumerate(row)), b.get((o,), ZERO)]) for o in range(weight.shape[1])
    ]


def convolution(
    x: Tensor,
    weight: Tensor,
    bias: Tensor | None,
    *,
    stride: tuple[int, ...],
    padding: tuple[int, ...],
    dilation: tuple[int, ...],
    groups: int,
) -> Tensor:
    """Eq. 29-32 for one sample: x ``(4, I, *size)``, weight ``(4, O, I / groups, *kernel)``."""
    size, kernel = x.shape[2:], weight.shape[3:]
    outputs, inputs = weight.shape[1], weight.shape[2]
    length = [
        (n + 2 * p - d * (k - 1) - 1) // s + 1
        for n, p, d, k, s in zip(size, padding, dilation, kernel, stride, strict=True)
    ]
    xs, ws = cells(x), cells(weight)
    bs = {} if bias is None else cells(bias)
    y = torch.zeros(4, outputs, *length, dtype=torch.float64)
    for o, *at in positions(range(outputs), *map(range, length)):
        first = o // (outputs // groups) * inputs
        total = bs.get((o,), ZERO)
        for i, *tap in positions(range(inputs), *map(range, kernel)):
            source = (a * s + t * d - p for a, s, t, d, p in zip(at, stride, tap, dilation, padding, strict=True))
            total = add([total, multiply(xs.get((first + i, *source), ZERO), ws[(o, i, *tap)])])
        y[(slice(None), o, *at)] = torch.tensor(total, dtype=torch.float64)
    return y


def transposed_convolution(
    x: Tensor,
    weight: Tensor,
    bias: Tensor | None,
    *,
    stride: tuple[int, ...],
    padding: tuple[int, ...],
    output_padding: tuple[int, ...],
    dilation: tuple[int, ...],
    groups: int,
) -> Tensor:
    """Every input quaternion stamps the kernel into the output: weight ``(4, I, O / groups, *kernel)``."""
    size, kernel = x.shape[2:], weight.shape[3:]
    inputs, outputs = weight.shape[1], weight.shape[2]
    length = [
        (n - 1) * s - 2 * p + d * (k - 1) + extra + 1
        for n, s, p, d, k, extra in zip(size, stride, padding, dilation, kernel, output_padding, strict=True)
    ]
    xs, ws = cells(x), cells(weight)
    bs = {} if bias is None else cells(bias)
    y = {(o, *at): bs.get((o,), ZERO) for o, *at in positions(range(outputs * groups), *map(range, length))}
    for i, *at in positions(range(inputs), *map(range, size)):
        first = i // (inputs // groups) * outputs
        for o, *tap in positions(range(outputs), *map(range, kernel)):
            target = (a * s + t * d - p for a, s, t, d, p in zip(at, stride, tap, dilation, padding, strict=True))
            where = (first + o, *target)
            if where in y:
                y[where] = add([y[where], multiply(xs[(i, *at)], ws[(i, o, *tap)])])
    out = torch.zeros(4, outputs * groups, *length, dtype=torch.float64)
    for where, q in y.items():
        out[(slice(None), *where)] = torch.tensor(q, dtype=torch.float64)
    return out


def rms_norm(row: Row, gain: Tensor, eps: float) -> Row:
    """Eq. 17-18."""
    return [
        scale(q, g / math.sqrt((q[0] ** 2 + q[1] ** 2 + q[2] ** 2 + q[3] ** 2) / 4 + eps))
        for q, g in zip(row, gain.tolist(), strict=True)
    ]


def layer_norm(row: Row, gain: Tensor, bias: Tensor | None, eps: float) -> Row:
    """Each component centred over the channels, everything divided by one RMS over all 4C reals."""
    mean = scale(add(row), 1 / len(row))
    centred = [add([q, scale(mean, -1.0)]) for q in row]
    factor = 1 / math.sqrt(sum(norm(q) ** 2 for q in centred) / (4 * len(row)) + eps)
    b = {} if bias is None else cells(bias)
    gains = gain.tolist()
    return [add([scale(q, factor * gains[c]), b.get((c,), ZERO)]) for c, q in enumerate(centred)]


def moments(quaternions: list[Quaternion]) -> tuple[Quaternion, float]:
    """The mean of each component and the modulus variance E‖q - E q‖² / 4."""
    mean = scale(add(quaternions), 1 / len(quaternions))
    spread = sum(norm(add([q, scale(mean, -1.0)])) ** 2 for q in quaternions)
    return mean, spread / (4 * len(quaternions))


def softmax(scores: list[float]) -> list[float]:
    """Over one row; a row that may see nothing has no weights."""
    top = max(scores)
    if top == -math.inf:
        return [0.0] * len(scores)
    powers = [math.exp(s - top) for s in scores]
    return [p / sum(powers) for p in powers]


def shared_maps(q: list[Row], k: list[Row], bias: Callable[[int, int], float]) -> list[list[list[float]]]:
    """Eq. 9-11: the one map softmax(Re(Q ⊗ K†) / √(4 d_h))."""
    root = math.sqrt(4 * len(q[0]))

    def score(i: int, j: int) -> float:
        return add(multiply(a, conjugate(b)) for a, b in zip(q[i], k[j], strict=True))[0] / root + bias(i, j)

    return [[softmax([score(i, j) for j in range(len(k))]) for i in range(len(q))]]


def hamilton_maps(q: list[Row], k: list[Row], bias: Callable[[int, int], float]) -> list[list[list[float]]]:
    """Eq. 14-15: four maps, softmax of each component of Q ⊗ Kᵀ / √d_h."""
    root = math.sqrt(len(q[0]))

    def score(i: int, j: int) -> Quaternion:
        return scale(add(multiply(a, b) for a, b in zip(q[i], k[j], strict=True)), 1 / root)

    scores = [[score(i, j) for j in range(len(k))] for i in range(len(q))]
    return [
        [softmax([s[component] + bias(i, j) for j, s in enumerate(row)]) for i, row in enumerate(scores)]
        for component in range(4)
    ]


def apply_maps(maps: list[list[list[float]]], v: list[Row]) -> list[Row]:
    """Eq. 12-13 (one map) or 16 (four): component α of the output is A_α V_α."""

    def entry(i: int, channel: int) -> Quaternion:
        return tuple(
            sum(a * v[j][channel][component] for j, a in enumerate(maps[component % len(maps)][i]))
            for component in range(4)
        )

    return [[entry(i, channel) for channel in range(len(v[0]))] for i in range(len(maps[0]))]


MAPS = {"shared": shared_maps, "hamilton": hamilton_maps}


def no_bias(b: int, h: int, i: int, j: int) -> float:
    return 0.0


def multi_head(
    state: dict[str, Tensor],
    heads: int,
    rule: str,
    x: Tensor,
    context: Tensor | None = None,
    bias: Bias = no_bias,
    eps: float = 1e-6,
) -> tuple[Tensor, Tensor]:
    """The whole layer (Eq. 8-18) from its named parameters: outputs ``(B, N, 4, C)`` and maps ``(B, H, S, N, M)``."""
    context = x if context is None else context

    def project(name: str, row: Row) -> Row:
        row = linear(row, state[f"{name}.weight"], state.get(f"{name}.bias"))
        gain = state.get(f"{name}_norm.gain")
        return row if gain is None else rms_norm(row, gain, eps)

    outputs, all_maps = [], []
    for b in range(x.shape[0]):
        q = [project("query", row) for row in rows(x[b])]
        k = [project("key", row) for row in rows(context[b])]
        v = [project("value", row) for row in rows(context[b])]
        width = len(q[0]) // heads
        joined: list[Row] = [[] for _ in q]
        maps = []
        for h in range(heads):
            part = slice(h * width, (h + 1) * width)
            q_h, k_h, v_h = ([row[part] for row in rows_] for rows_ in (q, k, v))
            maps.append(MAPS[rule](q_h, k_h, lambda i, j, b=b, h=h: bias(b, h, i, j)))
            for row, piece in zip(joined, apply_maps(maps[-1], v_h), strict=True):
                row.extend(piece)
        outputs.append(tensor([project("out", row) for row in joined]))
        all_maps.append(maps)
    return torch.stack(outputs), torch.tensor(all_maps, dtype=torch.float64)


def additive_bias(shape: tuple[int, int, int, int], options: dict[str, Any]) -> Bias:
    """What the mask arguments of an attention mean for the score of query i and key j, in words of floats."""
    mask, padding = options.get("mask"), options.get("key_padding_mask")
    offset = shape[3] - shape[2]

    def bias(b: int, h: int, i: int, j: int) -> float:
        total = 0.0
        if mask is not None:
            entry = mask.expand(shape)[b, h, i, j].item()
            total += (0.0 if entry else -math.inf) if mask.dtype == torch.bool else entry
        if padding is not None and not padding[b, j]:
            total = -math.inf
        if options.get("causal") and j > i + offset:
            total = -math.inf
        return total

    return bias
