"""The bundled models by both back ends, ONNX and torch: real-time factor and memory by threads."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from typing import NamedTuple

import numpy as np
import torch

from hamiltone.benchmark.child import call_in_child, peak_growth_mb
from hamiltone.benchmark.timing import interleaved, percentiles, white_noise
from hamiltone.models import load
from hamiltone.runtime import Backend, Stream, enhance, resolve_model
from hamiltone.runtime.backend import resolve_step
from hamiltone.runtime.torch_backend import TorchGain, TorchStep

RATE = 16_000
BACKENDS = ("onnx", "torch")


class Way(NamedTuple):
    """One way to run a bundled model; `what` is a whole recording or a stream of frames."""

    model: str
    what: str
    backend: str
    threads: int


@dataclass(frozen=True)
class RuntimeRow:
    """Median real-time factor with its 10th and 90th percentile, its ratio to torch's, and memory.

    `ratio` is the median over the rounds, each of which runs both. `peak_mb` is what a run adds to a process that has
    loaded the model.
    """

    model: str
    what: str
    backend: str
    threads: int
    rtf: float
    rtf_p10: float
    rtf_p90: float
    ratio: float
    peak_mb: float


def ways(models: Sequence[str], threads: Sequence[int]) -> list[Way]:
    """Recordings through every model, and streams through those that can, by both back ends."""
    kinds = [(model, "recording") for model in models]
    kinds += [(model, "stream") for model in models if load(model).streams]
    return [Way(*kind, backend, count) for kind in kinds for count in threads for backend in BACKENDS]


def bench_runtime(
    chosen: Sequence[Way], *, audio: float = 10.0, seconds: float = 20.0, tick: Callable[[str], None] = lambda _: None
) -> Iterator[RuntimeRow]:
    """Yield a row for each way; both back ends take turns, for `seconds` per model and number of threads."""
    waveform = white_noise(audio)
    groups = dict.fromkeys((way.model, way.what, way.threads) for way in chosen)
    for group in groups:
        members = [way for way in chosen if (way.model, way.what, way.threads) == group]
        runs = {way: partial(prepare(way), waveform) for way in members}
        label = f"{group[0]}, {group[1]}, threads: {group[2]}"
        times = interleaved(runs, seconds=seconds, rounds=(5, 100), tick=partial(tick, label))
        by_torch = np.array(times[Way(group[0], group[1], "torch", group[2])])
        for way in members:
            low, middle, high = percentiles(times[way], per=audio)
            tick(f"{label}: memory of {way.backend}")
            peak = call_in_child(peak_mb, way=list(way), audio=audio)
            ratio = float(np.median(np.array(times[way]) / by_torch))
            yield RuntimeRow(*way, middle, low, high, ratio, peak)


def prepare(way: Way) -> Callable[[np.ndarray], object]:
    """The model, loaded; what runs it sets torch's threads first, since all of torch shares them."""
    if way.what == "stream":
        step = TorchStep(load(way.model)) if way.backend == "torch" else resolve_step(way.model, way.threads)
        stream = Stream(RATE, step)
        run: Callable[[np.ndarray], object] = stream.process
    else:
        backend: Backend = (
            TorchGain(load(way.model)) if way.backend == "torch" else resolve_model(way.model, threads=way.threads)
        )
        run = partial(enhance, sample_rate=RATE, model=backend)

    def with_threads(waveform: np.ndarray) -> object:
        if way.backend == "torch":
            torch.set_num_threads(way.threads)
        return run(waveform)

    return with_threads


def peak_mb(way: Sequence[str | int], audio: float) -> float:
    """Peak memory that one run adds to this process after a short one; run it in a fresh one."""
    run, waveform = prepare(Way(*way)), white_noise(audio)  # type: ignore[arg-type]
    return peak_growth_mb(lambda: run(waveform), warm_up=lambda: run(waveform[:1600]))
