"""One attention layer at Table 9's setting: score rules, fused and explicit, beside a real-valued layer."""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import partial

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from hamiltone.benchmark.child import call_in_child, peak_growth_mb
from hamiltone.benchmark.timing import interleaved, median_ms
from hamiltone.models.cost import attention_macs
from hamiltone.nn import QAttention, SharedScore, fold, make_rule
from hamiltone.nn.rules import COMPARED

DIM, HEADS = 64, 8  # quaternions: 256 reals
BASE = ("shared", "fused")
"""What every other method is compared with."""


@dataclass(frozen=True)
class AttentionRow:
    """One line of the benchmark; `ratio` is the time over that of the fused shared layer at the same length."""

    length: int
    method: str
    path: str
    macs: int
    ms: float
    peak_mb: float
    ratio: float


def methods(attentions: Sequence[str] = COMPARED) -> list[tuple[str, str]]:
    """What is measured: shared scores and every other rule, fused (if it has a fused path) and explicit, and `real`."""
    rules = dict.fromkeys((BASE[0], *attentions))
    found = [(name, path) for name in rules for path in ("fused", "explicit")]
    return [(name, path) for name, path in found if path == "explicit" or make_rule(name).fused] + [("real", "fused")]


def method_macs(method: str, length: int) -> int:
    """Multiply-accumulates of scores and values; real attention of the same width costs what shared scores do."""
    return attention_macs(SharedScore() if method == "real" else make_rule(method), length, DIM)


class RealAttention(nn.Module):
    """Ordinary multi-head attention of the same real width, for comparison."""

    def __init__(self, dim: int, heads: int) -> None:
        super().__init__()
        self.heads = heads
        self.qkv, self.out = nn.Linear(4 * dim, 12 * dim), nn.Linear(4 * dim, 4 * dim)

    def forward(self, x: Tensor) -> Tensor:
        """``(B, N, 4C)`` to the same."""
        q, k, v = self.qkv(x).unflatten(-1, (3, self.heads, -1)).transpose(1, 3).unbind(2)
        return self.out(F.scaled_dot_product_attention(q, k, v).transpose(1, 2).flatten(2))


def _layer(method: str, path: str) -> Callable[[Tensor], object]:
    """The layer as deployed: folded, in evaluation mode; the explicit path forms its maps."""
    if method == "real":
        real = RealAttention(DIM, HEADS).eval()
        return lambda x: real(x.flatten(2))
    layer = fold(QAttention(DIM, HEADS, make_rule(method)))
    return lambda x: layer(x, need_weights=path == "explicit")


def peak_mb(method: str, path: str, length: int) -> float:
    """Peak memory that one call at `length` adds to this process; run it in a fresh one."""
    layer = _layer(method, path)
    with torch.inference_mode():
        x = torch.randn(1, length, 4, DIM)
        return peak_growth_mb(lambda: layer(x), warm_up=lambda: layer(x[:, :64]))


def bench_attention(
    lengths: Sequence[int],
    attentions: Sequence[str] = COMPARED,
    *,
    seconds: float = 10.0,
    tick: Callable[[str], None] = lambda _: None,
) -> Iterable[AttentionRow]:
    """Yield the rows length by length; `tick` is called with what is being measured."""
    layers = {key: _layer(*key) for key in methods(attentions)}
    for length in lengths:
        with torch.inference_mode():
            x = torch.randn(1, length, 4, DIM)
            runs = {key: partial(layer, x) for key, layer in layers.items()}
            times = interleaved(runs, seconds=seconds, tick=partial(tick, f"T = {length}: time"))
        ms = {key: median_ms(values) for key, values in times.items()}
        for method, path in layers:
            tick(f"T = {length}: memory of {method} {path}")
            yield AttentionRow(
                length=length,
                method=method,
                path=path,
                macs=method_macs(method, length),
                ms=ms[method, path],
                peak_mb=call_in_child(peak_mb, method=method, path=path, length=length),
                ratio=ms[method, path] / ms[BASE],
            )
