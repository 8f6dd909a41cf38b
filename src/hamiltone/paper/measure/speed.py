"""Times on this machine: one attention layer (Table 9) and whole models (Table 3)."""

import math
from collections.abc import Callable
from functools import partial
from itertools import product

import torch
from torch import Tensor
from torch.nn import functional as F

from hamiltone.algebra import flatten, real_matrix
from hamiltone.analysis.statistics import Spread, student
from hamiltone.benchmark.model import Execution, make
from hamiltone.benchmark.timing import interleaved, median_ms, percentiles, white_noise
from hamiltone.nn import HamiltonScore, QAttention, ScoreRule, SharedScore, fold
from hamiltone.paper.measure.study import Study
from hamiltone.paper.results import (
    LENGTHS,
    MODELS,
    LayerSpeed,
    LayerSpeeds,
    ModelSpeeds,
    SpeedCell,
    SpeedRatio,
)
from hamiltone.runtime import enhance

_DIM, _HEADS = 64, 8  # of Table 9, in quaternions
_PATHS = ("fused", "explicit")


class UnpaddedHamilton(HamiltonScore):
    """Fused Hamilton scores without padding the values to the width of the keys: shows what the padding gains."""

    def attend(
        self, q: Tensor, k: Tensor, v: Tensor, *, mask: Tensor | None = None, causal: bool = False, dropout: float = 0.0
    ) -> Tensor:
        """One call of torch's attention, which has no fast kernel for values of another width."""
        if mask is not None:
            raise ValueError("this way is only for timing, without masks")
        batch, heads = q.shape[:2]
        queries = flatten(q).flatten(0, 1)[:, None].expand(-1, 4, -1, -1)  # (B·H, 4, N, 4D)
        keys = real_matrix(k, dim=3).flatten(4, 5).transpose(2, 3).flatten(0, 1)  # (B·H, 4, M, 4D)
        values = v.transpose(2, 3).flatten(0, 1)  # (B·H, 4, M, D)
        scale = self.scale.factor(q.shape[-1])
        y = F.scaled_dot_product_attention(queries, keys, values, dropout_p=dropout, is_causal=causal, scale=scale)
        return y.unflatten(0, (batch, heads)).transpose(2, 3)


@torch.inference_mode()
def layer_speeds(study: Study) -> LayerSpeeds:
    """Table 9's layer, fused and folded: shared, Hamilton, and Hamilton without padded values."""
    study.use_data(f"random input, {_DIM} quaternions, {_HEADS} heads, batch 1, forward pass")
    rules: dict[str, ScoreRule] = {
        "shared": SharedScore(),
        "hamilton": HamiltonScore(),
        "hamilton, unpadded": UnpaddedHamilton(),
    }
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(0)
        layers = {name: fold(QAttention(_DIM, _HEADS, rule)) for name, rule in rules.items()}
        lengths = LENGTHS[:2] if study.quick else LENGTHS
        return LayerSpeeds(tuple(_layer_speed(layers, length, study) for length in lengths))


def _layer_speed(layers: dict[str, torch.nn.Module], length: int, study: Study) -> LayerSpeed:
    x = torch.randn(1, length, 4, _DIM)
    runs = {name: partial(layer, x) for name, layer in layers.items()}
    rounds = study.rounds, max(study.rounds, 50)
    times = interleaved(runs, seconds=2.0 if study.quick else 20.0, rounds=rounds)
    ms = {name: median_ms(values) for name, values in times.items()}
    return LayerSpeed(length, ms, _ratio(times["hamilton"], times["shared"]))


def _ratio(slow: list[float], fast: list[float]) -> Spread:
    """Round by round, since both met the same noise of the machine: the geometric mean, with Student's interval."""
    logs = student([math.log(a / b) for a, b in zip(slow, fast, strict=True)])
    mean, low, high = (math.exp(value) for value in (logs.mean, logs.low, logs.high))
    return Spread(mean, mean * logs.deviation, low, high, logs.groups)


def model_speeds(seconds: float, study: Study) -> ModelSpeeds:
    """Table 3's models on noise as one window, each rule by each path, waveform to waveform; quick: one second."""
    models, seconds = (MODELS[:1], 1.0) if study.quick else (MODELS, seconds)
    rounds = study.rounds
    study.use_data(f"white noise of {seconds:g} s, random weights, folded models")
    noise = white_noise(seconds)
    cells: list[SpeedCell] = []
    ratios: list[SpeedRatio] = []
    for model in models:
        ways = list(product(("shared", "hamilton"), _PATHS))
        made = {way: make(Execution(f"{model}-dns", way[0], way[1], True)) for way in ways}
        for one in made.values():
            enhance(noise[:8000], 16_000, model=one)  # warms up
        runs = {way: partial(enhance, noise, 16_000, model=one, window_seconds=seconds) for way, one in made.items()}
        tick = _progress(study, f"{model}, {seconds:g} s of audio", rounds * len(runs))
        times = interleaved(runs, rounds=(rounds, rounds), warm_up=False, tick=tick)
        for (rule, path), taken in times.items():
            low, middle, high = percentiles(taken, per=seconds)
            cells.append(SpeedCell(model, rule, path, seconds, middle, low, high))
        for slow, fast in product(_PATHS, _PATHS):
            ratios.append(
                SpeedRatio(model, seconds, slow, fast, _ratio(times["hamilton", slow], times["shared", fast]))
            )
    return ModelSpeeds(tuple(cells), tuple(ratios))


def _progress(study: Study, label: str, runs: int) -> Callable[[], None]:
    """Tells which of many runs is next, some of which take half a minute."""
    numbers = iter(range(1, runs + 1))

    def tick() -> None:
        done = next(numbers)
        study.tick(f"{label}: {done} of {runs} runs")

    study.tick(label)
    return tick
