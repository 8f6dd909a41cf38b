"""The paper's text classifier: a quaternion Transformer encoder over words, averaged over the sentence."""

import math
from collections.abc import Sequence

import torch
from torch import Tensor, nn

from hamiltone.algebra import flatten, unflatten
from hamiltone.nn import QDropout, QLayerNorm

PADDING = 0
"""The number that pads a sentence to the length of its batch; it is not a word."""


def sinusoids(length: int, width: int) -> Tensor:
    """Fixed positions ``(length, width)``: sines and cosines of geometrically falling frequency (Vaswani et al. 2017).

    >>> sinusoids(50, 8).shape
    torch.Size([50, 8])
    """
    rates = torch.exp(torch.arange(0, width, 2) * (-math.log(10_000.0) / width))
    angles = torch.arange(length)[:, None] * rates
    return torch.stack([angles.sin(), angles.cos()], dim=-1).flatten(1)


class WordEmbedding(nn.Module):
    """A table of real vectors, each cut into four equal parts that become the components of `dim` quaternions.

    Positions are fixed sinusoids, so they cost no parameters; sentences are at most `limit` words long.

    Args:
        vocabulary: How many words there are, padding and the unknown word included.
        dim: Quaternions of a word.
        limit: The longest sentence, in words.
        dropout: The probability with which a quaternion is dropped.

    Shape:
        words: ``(B, N)``, numbers below `vocabulary`, zero for padding
        returns: ``(B, N, 4, dim)``
    """

    positions: Tensor

    def __init__(self, vocabulary: int, dim: int, *, limit: int = 64, dropout: float = 0.0) -> None:
        super().__init__()
        self.scale = math.sqrt(4 * dim)
        self.table = nn.Embedding(vocabulary, 4 * dim, padding_idx=PADDING)
        nn.init.normal_(self.table.weight, std=1 / self.scale)
        with torch.no_grad():
            self.table.weight[PADDING].zero_()
        self.dropout = QDropout(dropout)
        self.register_buffer("positions", unflatten(sinusoids(limit, 4 * dim)), persistent=False)

    def forward(self, words: Tensor) -> Tensor:
        if words.dim() != 2 or not 0 < words.shape[1] <= len(self.positions):
            raise ValueError(f"expected words (B, 0 < N <= {len(self.positions)}), got shape {tuple(words.shape)}")
        return self.dropout(self.scale * unflatten(self.table(words)) + self.positions[: words.shape[1]])


class TextClassifier(nn.Module):
    """Sentences to class scores; padding is masked in the attention of the blocks and in the mean over the words.

    Args:
        embedding: Words to ``(B, N, 4, dim)``.
        blocks: Called with a `key_padding_mask`, such as `QTransformerBlock`.
        dim: Quaternions of a word.
        classes: How many classes there are.

    Shape:
        words: ``(B, N)``, numbers of the vocabulary, zero for padding
        returns: ``(B, classes)``
    """

    def __init__(self, embedding: nn.Module, blocks: Sequence[nn.Module], dim: int, classes: int) -> None:
        super().__init__()
        self.embedding, self.blocks = embedding, nn.ModuleList(blocks)
        self.norm = QLayerNorm(dim)
        self.head = nn.Linear(4 * dim, classes)

    def forward(self, words: Tensor) -> Tensor:
        real = words != PADDING
        x = self.embedding(words)
        for block in self.blocks:
            x = block(x, key_padding_mask=real)
        weights = real / real.sum(1, keepdim=True).clamp_min(1)  # (B, N)
        return self.head((weights[..., None] * flatten(self.norm(x))).sum(1))
