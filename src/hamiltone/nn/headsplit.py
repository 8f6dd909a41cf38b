"""The head split of the released code: heads cut from the flat axis [r | i | j | k].

With four heads each head is one component: it scores and mixes that component alone, no head sees a whole quaternion,
and the four maps are not shared. This is what the released code computes instead of Eq. 9-13; which of the two produced
the paper's numbers is not known.
"""

from torch import Tensor
from torch.nn import functional as F

from hamiltone.nn.scores import Scale, ScoreRule


class ComponentScore(ScoreRule):
    """Each component on its own, S_c = Q_c K_cᵀ / √D: as many products as one shared score, and four maps.

    In an attention with one head, ``D = C``, this is the released code with four heads; with H heads, with 4H.
    """

    maps = 4
    products = 4
    scale = Scale.QUATERNIONS

    def scores(self, q: Tensor, k: Tensor) -> Tensor:
        """The four real products of Eq. 10, not summed."""
        return q.transpose(2, 3) @ k.transpose(2, 3).mT * self.scale.factor(q.shape[-1])

    def attend(
        self, q: Tensor, k: Tensor, v: Tensor, *, mask: Tensor | None = None, causal: bool = False, dropout: float = 0.0
    ) -> Tensor:
        """One fused kernel with the components as further heads; its default scale 1/√D is the rule's."""
        batch, heads = q.shape[:2]
        queries, keys, values = (tensor.transpose(2, 3).flatten(0, 1) for tensor in (q, k, v))  # (B·H, 4, N, D)
        if mask is not None:
            mask = mask.expand(batch, heads, -1, -1).flatten(0, 1)[:, None]
        y = F.scaled_dot_product_attention(queries, keys, values, attn_mask=mask, dropout_p=dropout, is_causal=causal)
        return y.unflatten(0, (batch, heads)).transpose(2, 3)
