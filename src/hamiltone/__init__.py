"""Quaternion self-attention with shared scores."""

__version__ = "0.1.0.dev0"
