"""A step graph with a memory of the frames it has seen."""

from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from hamiltone.errors import InputError
from hamiltone.runtime.onnx_graph import OnnxGraph


class OnnxStep:
    """An exported model that never looks ahead, frame by frame.

    Shape:
        spectrum: complex64 ``(F,)``
        returns: the gain, the same
    """

    def __init__(self, graph: OnnxGraph, name: str | Path = "this graph") -> None:
        if not graph.streams and graph.causal:
            raise InputError(f"{name} takes whole windows, not the frames of a stream; export it without --window")
        if not graph.streams:
            raise InputError(f"{name} looks ahead: it enhances recordings, not streams; choose live")
        self._graph, self._states = graph, graph.first_states()
        self.sample_rate, self.n_fft, self.hop = graph.sample_rate, graph.n_fft, graph.hop

    def step(self, spectrum: NDArray[np.complex64]) -> NDArray[np.complex64]:
        """The gain of the next frame."""
        gain, self._states = self._graph.step(spectrum[None, None], self._states)
        return gain[0, 0]

    def reset(self) -> None:
        """Forget all frames."""
        self._states = self._graph.first_states()

    def fresh(self) -> "OnnxStep":
        """Another one with the same weights and a separate memory."""
        return OnnxStep(self._graph)
