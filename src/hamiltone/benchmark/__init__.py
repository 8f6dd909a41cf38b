"""Timings and memory on this machine: methods interleaved in one run, memory in fresh processes."""

from hamiltone.torch_extra import MissingTorchError  # noqa: F401
