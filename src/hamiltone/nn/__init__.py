"""Quaternion layers with a visible component axis; every size counts quaternions.

Sequences are ``(B, N, 4, C)``, signals ``(B, 4, C, N)``, maps ``(B, 4, C, T, F)``; components run real, i, j, k.

- attention: `scores` has the shared score and the Hamilton score, `headsplit` that of the released code, and `rules`
  their names; `attention` puts projections, heads, `masks` and a cache around a score, `rotary` encodes positions,
  `pooling` shortens keys. `multihead` has the interface of ``nn.MultiheadAttention``, `qtn` is the local baseline;
- layers: `linear`, `conv`, `recurrent`, `norm`, `batch_norm`, `activation`, `dropout` and `concat`; `blocks` joins them
  into Transformer and Conformer blocks;
- weights: `init` draws them, `weight` assembles the real matrix that computes with one, and `fold` turns a whole module
  into plain real layers, those of `folded`;
- `conv2d` is a faster convolution on a CPU, and `tracing` says whether code is executed or traced.
"""

from hamiltone.torch_extra import MissingTorchError  # noqa: F401

# isort: split
from hamiltone.nn.activation import QGLU, QPReLU, SplitActivation
from hamiltone.nn.attention import HamiltonAttention, KVCache, QAttention, SharedScoreAttention
from hamiltone.nn.batch_norm import QBatchNorm, QSequenceBatchNorm
from hamiltone.nn.blocks import QConformerBlock, QConvModule, QFeedForward, QTransformerBlock
from hamiltone.nn.concat import concat
from hamiltone.nn.conv import QConv1d, QConv2d, QConvTranspose1d, QConvTranspose2d
from hamiltone.nn.dropout import QDropout
from hamiltone.nn.fold import fold
from hamiltone.nn.headsplit import ComponentScore
from hamiltone.nn.init import isotropic_, polar_
from hamiltone.nn.linear import QLinear
from hamiltone.nn.multihead import SharedScoreMultihead
from hamiltone.nn.norm import QLayerNorm, QRMSNorm
from hamiltone.nn.qtn import QTNAttention
from hamiltone.nn.recurrent import QGRU
from hamiltone.nn.rotary import QRotary
from hamiltone.nn.rules import make_rule, register_rule
from hamiltone.nn.scores import HamiltonScore, Scale, ScoreRule, SharedScore

__all__ = [
    "QGLU",
    "QGRU",
    "ComponentScore",
    "HamiltonAttention",
    "HamiltonScore",
    "KVCache",
    "QAttention",
    "QBatchNorm",
    "QConformerBlock",
    "QConv1d",
    "QConv2d",
    "QConvModule",
    "QConvTranspose1d",
    "QConvTranspose2d",
    "QDropout",
    "QFeedForward",
    "QLayerNorm",
    "QLinear",
    "QPReLU",
    "QRMSNorm",
    "QRotary",
    "QSequenceBatchNorm",
    "QTNAttention",
    "QTransformerBlock",
    "Scale",
    "ScoreRule",
    "SharedScore",
    "SharedScoreAttention",
    "SharedScoreMultihead",
    "SplitActivation",
    "concat",
    "fold",
    "isotropic_",
    "make_rule",
    "polar_",
    "register_rule",
]
