"""Whole models, waveform to waveform: real-time factor and memory by score rule."""

import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from typing import NamedTuple

import numpy as np
import torch
from torch import Tensor

from hamiltone.benchmark.child import call_in_child, peak_growth_mb
from hamiltone.benchmark.timing import interleaved, percentiles, white_noise
from hamiltone.models import Enhancer, build, folded, preset
from hamiltone.nn import QAttention, ScoreRule, make_rule
from hamiltone.nn.rules import RULES
from hamiltone.runtime import enhance


class Execution(NamedTuple):
    """One way to run a preset; `path` is fused (one kernel) or explicit (matrix products and maps)."""

    preset: str
    attention: str
    path: str
    folded: bool


@dataclass(frozen=True)
class ModelRow:
    """One line of the benchmark: median real-time factor with its 10th and 90th percentile, and peak memory."""

    preset: str
    attention: str
    path: str
    folded: bool
    seconds: float
    rtf: float
    rtf_p10: float
    rtf_p90: float
    peak_mb: float


@dataclass(frozen=True)
class FolderRow:
    """A model over recordings: seconds of computing over seconds of audio, for all of them together."""

    preset: str
    attention: str
    path: str
    files: int
    seconds: float
    rtf: float


class Unfused(ScoreRule):
    """A rule that always takes its explicit path."""

    def __init__(self, rule: ScoreRule) -> None:
        self.rule, self.maps, self.scale = rule, rule.maps, rule.scale

    def scores(self, q: Tensor, k: Tensor) -> Tensor:
        """The scores of the rule inside."""
        return self.rule.scores(q, k)


def executions(name: str, attentions: Sequence[str]) -> list[Execution]:
    """Each attention folded and as trained, and rules with several maps also by the folded explicit path.

    A rule without a fused path runs explicitly anyway.
    """
    paths = {one: "fused" if one not in RULES or make_rule(one).fused else "explicit" for one in attentions}
    chosen = [Execution(name, one, path, is_folded) for one, path in paths.items() for is_folded in (True, False)]
    explicit = [
        Execution(name, one, "explicit", True) for one in attentions if one in RULES and make_rule(one).maps > 1
    ]
    return list(dict.fromkeys(chosen + explicit))


def make(variant: Execution) -> Enhancer:
    """Build a variant with random weights; speed does not depend on them."""
    torch.manual_seed(0)
    model = build(preset(variant.preset, variant.attention)).eval()
    if variant.folded:
        model = folded(model)
    if variant.path == "explicit":
        for module in model.modules():
            if isinstance(module, QAttention):
                module.rule = Unfused(module.rule)
    return model


def peak_mb(variant: Sequence[str | bool], seconds: float) -> float:
    """Peak memory that one run adds to this process; run it in a fresh one."""
    model = make(Execution(*variant))  # type: ignore[arg-type]
    waveform = white_noise(seconds)
    return peak_growth_mb(
        lambda: enhance(waveform, 16_000, model=model), warm_up=lambda: enhance(waveform[:1600], 16_000, model=model)
    )


def bench_model(
    chosen: Sequence[Execution],
    lengths: Sequence[float],
    *,
    rounds: tuple[int, int] = (3, 20),
    tick: Callable[[str], None] = lambda _: None,
) -> Iterator[ModelRow]:
    """Yield rows length by length through the windows of `enhance`; `tick` is called with what is being measured."""
    models = {variant: make(variant) for variant in chosen}
    for seconds in lengths:
        waveform = white_noise(seconds)
        runs = {variant: partial(enhance, waveform, 16_000, model=model) for variant, model in models.items()}
        times = interleaved(runs, seconds=10.0, rounds=rounds, tick=partial(tick, f"{seconds:g} s of audio: time"))
        for variant in chosen:
            tick(f"{seconds:g} s of audio: memory of {variant.attention} {variant.path}")
            low, middle, high = percentiles(times[variant], per=seconds)
            peak = call_in_child(peak_mb, variant=list(variant), seconds=seconds)
            yield ModelRow(*variant, seconds, middle, low, high, peak)


def bench_folder(
    chosen: Sequence[Execution],
    waveforms: Sequence[np.ndarray],
    *,
    tick: Callable[[str], None] = lambda _: None,
) -> list[FolderRow]:
    """Every recording once through every variant, in turn, one at a time; they are 16 kHz, ``(L,)`` each.

    This is how the paper takes its real-time factors: the time of a whole test set, waveform to waveform.
    """
    models = {variant: make(variant) for variant in chosen}
    taken = dict.fromkeys(models, 0.0)
    for variant, model in models.items():
        enhance(waveforms[0][:16_000], 16_000, model=model)  # warm up
        tick(f"{variant.attention} {variant.path} is ready")
    for number, waveform in enumerate(waveforms, 1):
        for variant, model in models.items():
            start = time.perf_counter()
            enhance(waveform, 16_000, model=model)
            taken[variant] += time.perf_counter() - start
        tick(f"{number} of {len(waveforms)} files")
    audio = sum(len(waveform) for waveform in waveforms) / 16_000
    return [
        FolderRow(one.preset, one.attention, one.path, len(waveforms), audio, seconds / audio)
        for one, seconds in taken.items()
    ]
