"""Timings and memory on this machine: methods interleaved in one run, memory in fresh processes.

`attention` measures one layer, `model` whole speech models, `classifier` those of images and text, `runtime` the
bundled models in onnxruntime and in torch. `timing` interleaves the methods, `child` calls a function in a fresh
process, `machine` describes this computer, and `tables` formats the rows.
"""

from hamiltone.torch_extra import MissingTorchError  # noqa: F401
