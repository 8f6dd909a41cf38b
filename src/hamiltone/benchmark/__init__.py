"""Timings and memory on this machine: methods interleaved in one run, memory in fresh processes."""

import hamiltone.torch_extra  # noqa: F401
