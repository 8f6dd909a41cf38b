"""Record what every attention of a model computes, without changing what the model returns."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import cached_property

import torch
from torch import Tensor, nn

from hamiltone.nn import QAttention, ScoreRule


@dataclass(frozen=True)
class AttentionCall:
    """One call of one attention: what went into its score rule and what came out; the rest follows from that.

    Scores and maps are recomputed by the explicit path when they are asked for, since the fused one never forms them.

    Shape:
        q: ``(B, H, N, 4, D)``, k, v: ``(B, H, M, 4, D)``, outputs: ``(B, H, N, 4, D)``, before the output projection
        scores, maps: ``(B, H, S, N, M)``, S being the number of the rule's maps
    """

    layer: str
    rule: ScoreRule
    q: Tensor
    k: Tensor
    v: Tensor
    outputs: Tensor
    mask: Tensor | None = None
    causal: bool = False

    @cached_property
    def scores(self) -> Tensor:
        """The scaled scores before mask and softmax."""
        return self.rule.scores(self.q, self.k)

    @cached_property
    def maps(self) -> Tensor:
        """The attention maps (Eq. 11, 15)."""
        return self.by(self.rule)[1]

    def by(self, rule: ScoreRule) -> tuple[Tensor, Tensor]:
        """Outputs and maps of any rule on these queries, keys and values."""
        return rule.explicit(self.q, self.k, self.v, mask=self.mask, causal=self.causal)

    def parts(self, limit: int = 2**23) -> Iterator["AttentionCall"]:
        """The call in groups of sequences whose maps hold at most `limit` numbers together, at least one each."""
        one = self.rule.maps * self.q.shape[1] * self.q.shape[2] * self.k.shape[2]
        size = max(1, limit // one)
        for start in range(0, len(self.q), size):
            rows = slice(start, start + size)
            mask = self.mask if self.mask is None or len(self.mask) == 1 else self.mask[rows]
            yield replace(self, q=self.q[rows], k=self.k[rows], v=self.v[rows], outputs=self.outputs[rows], mask=mask)


class AttentionCalls(list[AttentionCall]):
    """The calls in the order in which they happened."""

    def by_layer(self) -> dict[str, AttentionCall]:
        """The calls of each layer joined along the batch axis: inference cuts its work into tiles."""
        layers: dict[str, list[AttentionCall]] = {}
        for call in self:
            layers.setdefault(call.layer, []).append(call)
        return {layer: _joined(calls) for layer, calls in layers.items()}


def _joined(calls: list[AttentionCall]) -> AttentionCall:
    first = calls[0]
    if len(calls) == 1:
        return first
    if any(call.mask is not None for call in calls):
        raise ValueError(f"{first.layer} was called {len(calls)} times with masks; look at the calls one by one")
    q, k, v, outputs = (torch.cat([getattr(call, name) for call in calls]) for name in ("q", "k", "v", "outputs"))
    return replace(first, q=q, k=k, v=v, outputs=outputs)


class _Listener(ScoreRule):
    """Passes every call on to a rule and records it."""

    def __init__(self, rule: ScoreRule, layer: str, notes: AttentionCalls) -> None:
        self.rule, self.layer, self.notes, self.maps = rule, layer, notes, rule.maps

    def scores(self, q: Tensor, k: Tensor) -> Tensor:
        return self.rule.scores(q, k)

    def attend(
        self, q: Tensor, k: Tensor, v: Tensor, *, mask: Tensor | None = None, causal: bool = False, dropout: float = 0.0
    ) -> Tensor:
        y = self.rule.attend(q, k, v, mask=mask, causal=causal, dropout=dropout)
        self._note(q, k, v, y, mask, causal)
        return y

    def explicit(
        self, q: Tensor, k: Tensor, v: Tensor, *, mask: Tensor | None = None, causal: bool = False, dropout: float = 0.0
    ) -> tuple[Tensor, Tensor]:
        y, maps = self.rule.explicit(q, k, v, mask=mask, causal=causal, dropout=dropout)
        self._note(q, k, v, y, mask, causal)
        return y, maps

    def _note(self, q: Tensor, k: Tensor, v: Tensor, y: Tensor, mask: Tensor | None, causal: bool) -> None:
        q, k, v, y = (tensor.detach() for tensor in (q, k, v, y))
        self.notes.append(AttentionCall(self.layer, self.rule, q, k, v, y, mask, causal))


@contextmanager
def capture(model: nn.Module) -> Iterator[AttentionCalls]:
    """Record every call of every `QAttention` in a model, folded ones too, while the block lasts.

    >>> from hamiltone.nn import SharedScoreAttention
    >>> attention = SharedScoreAttention(8, heads=2)
    >>> with capture(attention) as calls:
    ...     y = attention(torch.randn(1, 5, 4, 8))
    >>> calls[0].maps.shape, calls[0].outputs.shape
    (torch.Size([1, 2, 1, 5, 5]), torch.Size([1, 2, 5, 4, 4]))
    """
    notes = AttentionCalls()
    attentions = {name: module for name, module in model.named_modules() if isinstance(module, QAttention)}
    if not attentions:
        raise ValueError(f"{type(model).__name__} holds no QAttention to record")
    rules = {name: module.rule for name, module in attentions.items()}
    for name, module in attentions.items():
        module.rule = _Listener(rules[name], name, notes)
    try:
        yield notes
    finally:
        for name, module in attentions.items():
            module.rule = rules[name]


@torch.no_grad()
def record(model: nn.Module, x: Tensor) -> dict[str, AttentionCall]:
    """Run a model on x and return what each of its attentions did, by layer."""
    with capture(model) as notes:
        model(x)
    return notes.by_layer()
