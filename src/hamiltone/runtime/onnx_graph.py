"""Exported graphs in onnxruntime: spectra in, gains out."""

import os
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hamiltone.audio.spectra import Spectrum
from hamiltone.errors import InputError
from hamiltone.runtime.description import GAIN, KEY, SPECTRUM, Description, from_json

States = tuple[NDArray[np.float32], ...]


class OnnxGraph:
    """A graph that ``hamiltone export`` wrote, checked and ready to run.

    Args:
        source: The file, or its content.
        threads: CPU threads; None is one per core.

    Shape:
        spectrum: complex64 ``(1, T, F)``
        gain: the same
    """

    def __init__(self, source: str | Path | bytes, *, threads: int | None = None) -> None:
        name = "the graph" if isinstance(source, bytes) else str(source)
        self._name, self._session = name, _open(source, name, threads)
        metadata = self._session.get_modelmeta().custom_metadata_map
        if KEY not in metadata:
            raise InputError(f"{name} is an ONNX file, but not from hamiltone export: it has no {KEY!r} entry")
        try:
            self.description = from_json(metadata[KEY])
            _check_shapes(self._session, self.description)
        except InputError as error:
            raise InputError(f"{name} cannot be used: {error}") from None

    @property
    def sample_rate(self) -> int:
        """The sample rate that the model was trained for."""
        return self.description.sample_rate

    @property
    def n_fft(self) -> int:
        """The length of a frame."""
        return self.description.n_fft

    @property
    def hop(self) -> int:
        """The samples between frames."""
        return self.description.hop

    @property
    def streams(self) -> bool:
        """Whether the graph processes one frame at a time."""
        return self.description.kind == "step"

    def gain(self, spectrum: Spectrum) -> Spectrum:
        """The gain of all frames of a recording."""
        return self.gain_after(spectrum, ())[0]

    @property
    def causal(self) -> bool:
        """Whether the model never looks ahead, so that it can go on from the states after some frames."""
        return bool(self.description.states)

    def gain_after(self, spectrum: Spectrum, states: States) -> tuple[Spectrum, States]:
        """The gain of the next frames and the states after them; an empty tuple stands for the first frame.

        A step graph takes one frame after the other.
        """
        states = states or self.first_states()
        if not self.streams:
            return self._run(spectrum, states)
        gains = []
        for frame in range(spectrum.shape[1]):
            gain, states = self._run(spectrum[:, frame : frame + 1], states)
            gains.append(gain)
        return np.concatenate(gains, axis=1), states

    def first_states(self) -> States:
        """The states before the first frame."""
        return tuple(np.zeros(state.shape, np.float32) for state in self.description.states)

    def step(self, spectrum: Spectrum, states: States) -> tuple[Spectrum, States]:
        """The gain of the next frame ``(1, 1, F)`` of a stream, and the states after it."""
        if not self.streams:
            raise ValueError("this graph takes whole windows, not the frames of a stream; gain and gain_after run it")
        return self._run(spectrum, states)

    def _run(self, spectrum: Spectrum, states: States) -> tuple[Spectrum, States]:
        pairs = np.ascontiguousarray(spectrum, np.complex64).view(np.float32).reshape(*spectrum.shape, 2)
        names = [state.name for state in self.description.states]
        feed = {SPECTRUM: pairs, **dict(zip(names, states, strict=True))}
        try:
            gain, *after = self._session.run([GAIN, *(state.next for state in self.description.states)], feed)
        except Exception as error:  # onnxruntime's own have no common base
            raise InputError(f"{self._name} is damaged: it cannot be run: {_first_line(error)}") from None
        if gain.shape != pairs.shape:
            raise InputError(f"{self._name} is damaged: it returns {gain.shape} for {pairs.shape}")
        return np.ascontiguousarray(gain).view(np.complex64)[..., 0], tuple(after)


def import_onnxruntime() -> Any:
    """The module onnxruntime, with its telemetry off, which would also store an identifier on this machine."""
    os.environ.setdefault("ORT_DISABLE_TELEMETRY", "1")
    try:
        import onnxruntime  # type: ignore[import-untyped]
    except ImportError:
        raise InputError("running an ONNX file needs onnxruntime: pip install onnxruntime") from None
    return onnxruntime


def _first_line(error: Exception) -> str:
    lines = str(error).strip().splitlines()
    return lines[0] if lines else repr(error)


def _open(source: str | Path | bytes, name: str, threads: int | None) -> Any:
    """An ``onnxruntime.InferenceSession``; onnxruntime has no types."""
    onnxruntime = import_onnxruntime()
    if not isinstance(source, bytes) and not Path(source).is_file():
        raise InputError(f"there is no file {name}")
    options = onnxruntime.SessionOptions()
    options.log_severity_level = 4  # failures are raised anyway
    options.intra_op_num_threads = threads or 0
    options.enable_mem_pattern = False  # a plan of memory for every length of window: up to twice the memory, no gain
    content = source if isinstance(source, bytes) else str(source)
    try:
        return onnxruntime.InferenceSession(content, options, providers=["CPUExecutionProvider"])
    except Exception as error:  # onnxruntime's own have no common base
        raise InputError(f"{name} is not an ONNX file, or is damaged: {_first_line(error)}") from None


def _check_shapes(session: Any, description: Description) -> None:
    """Compare the inputs and outputs of a graph with its description."""
    spectrum, states = description.spectrum_shape, description.states
    takes = {SPECTRUM: spectrum, **{state.name: state.shape for state in states}}
    returns = {GAIN: spectrum, **{state.next: state.shape for state in states}}
    for verb, expected, nodes in (("take", takes, session.get_inputs()), ("return", returns, session.get_outputs())):
        found = {node.name: _shape(node) for node in nodes}
        if found != {name: _shape_text(shape) for name, shape in expected.items()}:
            listed = ", ".join(f"{name} {shape}" for name, shape in found.items())
            wanted = ", ".join(f"{name} {_shape_text(shape)}" for name, shape in expected.items())
            raise InputError(f"its graph should {verb} {wanted}, but has {listed}")


def _shape(node: Any) -> str:
    kind = "" if node.type == "tensor(float)" else f"{node.type} "
    return kind + _shape_text(tuple(size if isinstance(size, int) else None for size in node.shape))


def _shape_text(shape: tuple[int | None, ...]) -> str:
    return f"({', '.join('T' if size is None else str(size) for size in shape)})"
