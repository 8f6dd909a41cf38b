"""Streaming enhancers exported to ONNX: each graph takes one spectral frame and its caches, and returns both.

The first input and the first output are the frame ``(1, F, 1, 2)``, real and imaginary part last; the other inputs and
outputs are the caches, in the same order, zero at the start.
"""

import math
from collections.abc import Callable
from pathlib import Path

import numpy as np
import onnxruntime

HOP = 256
FRAME = 2 * HOP


def with_graph(path: Path, *, root: bool = False, least: float = 0.0) -> Callable[[np.ndarray], np.ndarray]:
    """An enhancer of 16 kHz signals ``(L,)``, aligned with its input: the window's delay is removed.

    `root` takes the square root of the Hann window; `least` replaces zeros, which some graphs cannot handle.
    """
    graph = FrameGraph(path)
    window = np.hanning(FRAME + 1)[:-1].astype(np.float32) ** (0.5 if root else 1.0)

    def enhance(noisy: np.ndarray) -> np.ndarray:
        spectrum = analyse(noisy, window)
        parts = spectrum.view(np.float32)
        parts[parts == 0] = least
        return synthesise(graph(spectrum), window, len(noisy))

    return enhance


class FrameGraph:
    """A graph in onnxruntime on one thread. Bound buffers avoid copies, which matter if there are many caches."""

    def __init__(self, path: Path) -> None:
        options = onnxruntime.SessionOptions()
        options.intra_op_num_threads = options.inter_op_num_threads = 1
        self.session = onnxruntime.InferenceSession(path, options, providers=["CPUExecutionProvider"])

    def __call__(self, spectrum: np.ndarray) -> np.ndarray:
        """Enhance frame by frame.

        Shape:
            spectrum: complex64 ``(T, F)``
            returns: the same
        """
        frame, answer, there, back = self._bindings()
        enhanced = np.empty_like(spectrum)
        for number, bins in enumerate(spectrum):
            frame.update_inplace(bins.view(np.float32).reshape(frame.shape()))
            self.session.run_with_iobinding(back if number % 2 else there)
            enhanced[number] = answer.numpy().reshape(-1, 2).view(np.complex64)[:, 0]
        return enhanced

    def _bindings(self) -> tuple:
        """Buffers of the frame going in and of the one coming out, and two bindings between two sets of caches."""
        inputs, outputs = self.session.get_inputs(), self.session.get_outputs()
        frame, *one = (_zeros(value.shape) for value in inputs)
        answer, *other = (_zeros(value.shape) for value in outputs)
        bindings = []
        for before, after in ((one, other), (other, one)):
            binding = self.session.io_binding()
            for value, buffer in zip(inputs, (frame, *before), strict=True):
                binding.bind_ortvalue_input(value.name, buffer)
            for value, buffer in zip(outputs, (answer, *after), strict=True):
                binding.bind_ortvalue_output(value.name, buffer)
            bindings.append(binding)
        return frame, answer, *bindings


def _zeros(shape: list[int]) -> onnxruntime.OrtValue:
    return onnxruntime.OrtValue.ortvalue_from_numpy(np.zeros(shape, np.float32))


def analyse(signal: np.ndarray, window: np.ndarray) -> np.ndarray:
    """Spectra of overlapping frames; the first ends after one hop, the last begins less than one before the end.

    Shape:
        signal: ``(L,)``
        returns: complex64 ``(T, F)``
    """
    padded = np.pad(signal.astype(np.float32), (HOP, HOP + -len(signal) % HOP))
    frames = np.lib.stride_tricks.sliding_window_view(padded, FRAME)[::HOP]
    return np.fft.rfft(frames * window)


def synthesise(spectrum: np.ndarray, window: np.ndarray, length: int) -> np.ndarray:
    """The signal whose frames come nearest to these: windowed again, added, and divided by the windows' power.

    Shape:
        spectrum: ``(T, F)``
        returns: ``(length,)``
    """
    frames = (np.fft.irfft(spectrum) * window).reshape(-1, 2, HOP)
    power = np.square(window).reshape(2, HOP).sum(0)
    return ((frames[1:, 0] + frames[:-1, 1]) / power).reshape(-1)[:length]


def size(path: Path) -> dict[str, int]:
    """Parameters of a graph, fixed filter banks included, and its multiply-accumulates per second of 16 kHz audio."""
    import onnx

    model = onnx.shape_inference.infer_shapes(onnx.load(path), strict_mode=True, data_prop=True)
    graph = model.graph
    weights = {value.name: list(value.dims) for value in graph.initializer}
    shapes = weights | {
        value.name: [axis.dim_value for axis in value.type.tensor_type.shape.dim]
        for value in (*graph.input, *graph.output, *graph.value_info)
    }
    numbers = sum(math.prod(value.dims) for value in graph.initializer if value.data_type == onnx.TensorProto.FLOAT)
    macs = sum(_node_macs(node, shapes) for node in graph.node)
    return {"parameters": numbers, "macs_per_second": macs * 16_000 // HOP}


def _node_macs(node: object, shapes: dict[str, list[int]]) -> int:
    """The multiply-accumulates of matrix products, convolutions and recurrences; element-wise nodes are not counted."""
    match node.op_type:
        case "MatMul":
            x, _, y = (shapes[name] for name in (*node.input, *node.output))
            macs = math.prod(y) * x[-1]
        case "Conv":
            macs = math.prod(shapes[node.output[0]]) * math.prod(shapes[node.input[1]][1:])
        case "ConvTranspose":
            macs = math.prod(shapes[node.input[0]]) * math.prod(shapes[node.input[1]][1:])
        case "GRU":
            steps, batch, _ = shapes[node.input[0]]
            macs = steps * batch * sum(math.prod(shapes[name]) for name in node.input[1:3])
        case _:
            return 0
    if not macs:
        raise ValueError(f"{node.name}: the graph does not state the shapes of its tensors")
    return macs
