"""DNSMOS: ratings predicted by Microsoft's networks without a reference (P.835 and P.808)."""

import sys
from functools import lru_cache
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from hamiltone.metrics.checks import as_waveform, check_audible, check_rate, require

_HOP = 160
"""Samples between frames of the network; a frame spans two hops."""
_FRAMES = 900
_SHIFT = 100
"""Frames in a window, and between windows."""
_REACH = 4
"""Frames to each side that a feature depends on: the network begins with four convolutions of width three."""


class DNSMOS(NamedTuple):
    """Ratings from 1 to 5: signal, background and overall (P.835), and overall (P.808)."""

    sig: float
    bak: float
    ovrl: float
    p808: float


def dnsmos_ratings(estimate: ArrayLike, sample_rate: int, threads: int | None = None) -> DNSMOS:
    """The ratings of one recording, by the `speechmos` package, which repeats anything shorter than 9 s.

    It never sees a reference, and is blind to nothing: level counts. Samples beyond full scale are clipped, as any
    player would; nothing is rescaled. `threads` is the number of CPU threads, by default those of torch, if it is
    loaded, else one per core.

    Shape:
        estimate: ``(L,)`` at 16 kHz
    """
    check_rate("DNSMOS", sample_rate)
    waveform = as_waveform("estimate", estimate)
    check_audible(waveform)
    if threads is None:
        torch = sys.modules.get("torch")
        threads = torch.get_num_threads() if torch else 0
    rate = _rater(threads)
    ratings = rate(np.clip(waveform, -1.0, 1.0).astype(np.float32), sample_rate, is_personalized_MOS=False)
    return DNSMOS(*(float(ratings[f"{name}_mos"]) for name in DNSMOS._fields))


@lru_cache(maxsize=1)
def _rater(threads: int) -> Any:
    """The package's own rater, whose large network runs in `SlidingNetwork`; both run in this many threads."""
    package = require("speechmos.dnsmos")
    folder = Path(package.__file__).parent / "dnsmos_models"
    rater = package.DNSMOS(str(folder / "sig_bak_ovr.onnx"), str(folder / "model_v8.onnx"))
    rater.onnx_sess = SlidingNetwork(folder / "sig_bak_ovr.onnx", threads)
    rater.p808_onnx_sess = _session(str(folder / "model_v8.onnx"), threads)
    return rater


class SlidingNetwork:
    """An inference session for P.835 that does not recompute what a window shares with the previous one.

    The package moves a window of 9 s along by 1 s and runs the network on each, although the four convolutions that
    take almost all the time see no further than four frames. Here they run only on what is new, and on the frames at
    either end, where the window's padding matters.
    """

    def __init__(self, path: Path, threads: int) -> None:
        model = require("onnx").load(path)
        _free_length(model)
        model = require("onnx.shape_inference").infer_shapes(model)
        features = "mos_estimator_logpow/conv2d_3/Relu:0"
        self._front = _part(model, "input_1", features, threads)
        self._back = _part(model, features, "Identity:0", threads)
        self._samples = self._features = np.zeros(0, np.float32)

    def run(self, names: None, inputs: dict[str, NDArray[np.float32]]) -> list[NDArray[np.float32]]:
        """The ratings of windows, in the form of an inference session.

        Shape:
            inputs: ``(1, 144160)`` by the name ``input_1``
            returns: ``(1, 3)``
        """
        (samples,) = inputs.values()
        shift = _HOP * _SHIFT
        if np.array_equal(self._samples[..., shift:], samples[..., :-shift]):
            first = self._front(samples[..., : _HOP * (2 * _REACH + 1)])[:, :, :_REACH]
            kept = self._features[:, :, _SHIFT + _REACH : -_REACH]
            last = self._front(samples[..., _HOP * (_FRAMES - _SHIFT - 2 * _REACH) :])[:, :, _REACH:]
            self._features = np.concatenate([first, kept, last], axis=2)
        else:
            self._features = self._front(samples)
        self._samples = samples
        return [self._back(self._features)]


def _free_length(model: Any) -> None:
    """Let the network's framing accept any number of frames; as published it expects those of 9 s."""
    helper = require("onnx.numpy_helper")
    ends = {"input_1:01_cropping_end": [2**63 - 1, -_HOP]}
    shapes = {name: [1, -1, _HOP] for name in ("shape_tensor", "shape_tensor1")}
    for constant in model.graph.initializer:
        if value := (ends | shapes).get(constant.name):
            constant.CopyFrom(helper.from_array(np.array(value), constant.name))
    model.graph.input[0].type.tensor_type.shape.dim[1].dim_param = "samples"


def _part(model: Any, start: str, end: str, threads: int) -> Any:
    """The part of a network from one of its values to another, as a function."""
    part = require("onnx.utils").Extractor(model).extract_model([start], [end])
    session = _session(part.SerializeToString(), threads)
    return lambda value: session.run(None, {start: value})[0]


def _session(model: str | bytes, threads: int) -> Any:
    runtime = require("onnxruntime")
    options = runtime.SessionOptions()
    options.intra_op_num_threads = threads
    return runtime.InferenceSession(model, options)
