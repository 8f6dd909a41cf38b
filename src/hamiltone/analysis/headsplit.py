"""The head split of the released code: heads cut from the flat axis [r | i | j | k], for the ablation.

With four heads each head is one component: it scores and mixes that component alone, no head sees a whole quaternion,
and the four maps are not shared. That is what the public code computes; whether the paper's numbers come from it we
do not know.
"""

import math

from torch import Tensor, nn
from torch.nn import functional as F

from hamiltone.nn import QAttention, ScoreRule


class ComponentScore(ScoreRule):
    """Q_α K_αᵀ / √D for each component α on its own: as many products as one shared score, and four maps.

    In an attention with one head, ``D = C``, this is the released code with four; with H heads it is that with 4H.
    """

    maps = 4

    def scores(self, q: Tensor, k: Tensor) -> Tensor:
        """The four real products of Eq. 10, not summed."""
        return q.transpose(2, 3) @ k.transpose(2, 3).mT / math.sqrt(q.shape[-1])

    def attend(
        self, q: Tensor, k: Tensor, v: Tensor, *, mask: Tensor | None = None, causal: bool = False, dropout: float = 0.0
    ) -> Tensor:
        """One fused kernel with the components as further heads."""
        batch, heads = q.shape[:2]
        queries, keys, values = (tensor.transpose(2, 3).flatten(0, 1) for tensor in (q, k, v))  # (B·H, 4, N, D)
        if mask is not None:
            mask = mask.expand(batch, heads, -1, -1).flatten(0, 1)[:, None]
        y = F.scaled_dot_product_attention(queries, keys, values, attn_mask=mask, dropout_p=dropout, is_causal=causal)
        return y.unflatten(0, (batch, heads)).transpose(2, 3)


def with_rule(model: nn.Module, rule: ScoreRule, heads: int) -> nn.Module:
    """Give every attention of a model another rule and number of heads, in place; parameters stay as they are."""
    for module in model.modules():
        if isinstance(module, QAttention):
            if module.dim % heads:
                raise ValueError(f"heads must divide dim, got {heads} heads for {module.dim} quaternions")
            module.rule, module.heads = rule, heads
    return model
