"""Quaternion layers with a visible component axis; every size counts quaternions.

Sequences are ``(B, N, 4, C)``, signals ``(B, 4, C, N)``, maps ``(B, 4, C, T, F)``; components run real, i, j, k.
"""

from hamiltone.torch_extra import MissingTorchError  # noqa: F401

# isort: split
from hamiltone.nn.activation import QGLU, QPReLU, SplitActivation
from hamiltone.nn.attention import HamiltonAttention, KVCache, QAttention, SharedScoreAttention
from hamiltone.nn.blocks import QConformerBlock, QConvModule, QFeedForward, QTransformerBlock
from hamiltone.nn.concat import concat
from hamiltone.nn.conv import QConv1d, QConv2d, QConvTranspose1d, QConvTranspose2d
from hamiltone.nn.dropout import QDropout
from hamiltone.nn.fold import fold
from hamiltone.nn.headsplit import ComponentScore
from hamiltone.nn.init import isotropic_, polar_
from hamiltone.nn.linear import QLinear
from hamiltone.nn.multihead import SharedScoreMultihead
from hamiltone.nn.norm import QBatchNorm, QLayerNorm, QRMSNorm, QSequenceBatchNorm
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
