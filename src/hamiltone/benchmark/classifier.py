"""The paper's classifiers of images and text: inference of a batch, and a training step, with every attention."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn import functional as F

from hamiltone.benchmark.timing import interleaved, percentiles
from hamiltone.errors import InputError
from hamiltone.models import TextConfig, VisionConfig, build
from hamiltone.nn import fold

CONFIGS: dict[str, dict[str, VisionConfig | TextConfig]] = {
    "cifar100": {
        "shared": VisionConfig(),
        "hamilton": VisionConfig("hamilton"),
        "qtn": VisionConfig("qtn", feed_forward=64),  # gives the same number of parameters
    },
    "sst2": {"shared": TextConfig(vocabulary=15_000), "hamilton": TextConfig("hamilton", vocabulary=15_000)},
}


KINDS = ("inference", "unfolded", "training")
"""Inference, folded and as trained, and a training step."""


@dataclass(frozen=True)
class ClassifierRow:
    """One line of the benchmark: median time of a batch with its 10th and 90th percentile, and its ratio to shared."""

    model: str
    attention: str
    what: str
    batch: int
    ms: float
    ms_p10: float
    ms_p90: float
    ratio: float


def bench_classifier(
    name: str,
    batch: int,
    *,
    more: Sequence[str] = (),
    words: int = 32,
    kinds: Sequence[str] = KINDS,
    seconds: float = 20.0,
    rounds: tuple[int, int] = (3, 200),
    tick: Callable[[str], None] = lambda _: None,
) -> Iterator[ClassifierRow]:
    """Yield the rows of the `kinds` of work, each interleaved over the attentions of the paper and `more` rules.

    Speed does not depend on weights, so they are random. A batch of text has sentences of `words` words.
    """
    if name not in CONFIGS:
        raise InputError(f"there is no classifier {name!r}; choose one of {', '.join(CONFIGS)}")
    torch.manual_seed(0)
    chosen = CONFIGS[name] | {rule: replace(CONFIGS[name]["shared"], attention=rule) for rule in more}
    configs = {attention: _fitting(config, words) for attention, config in chosen.items()}
    models = {attention: build(config) for attention, config in configs.items()}
    inputs = torch.rand(batch, 3, 32, 32) if name == "cifar100" else torch.randint(2, 15_000, (batch, words))
    labels = torch.zeros(batch, dtype=torch.long)
    work: dict[str, dict[str, Callable[[], object]]] = {
        "inference": {key: partial(_infer, fold(model), inputs) for key, model in models.items()},
        "unfolded": {key: partial(_infer, _evaluated(config), inputs) for key, config in configs.items()},
        "training": {key: partial(_train, model, inputs, labels) for key, model in models.items()},
    }
    for what in kinds:
        methods = work[what]
        times = interleaved(methods, seconds=seconds, rounds=rounds, tick=partial(tick, f"{name}: {what}"))
        yield from _rows(name, what, batch, times)


def _fitting(config: VisionConfig | TextConfig, words: int) -> VisionConfig | TextConfig:
    return replace(config, limit=max(config.limit, words)) if isinstance(config, TextConfig) else config


def _evaluated(config: VisionConfig | TextConfig) -> nn.Module:
    return build(config).eval()


@torch.no_grad()
def _infer(model: nn.Module, inputs: Tensor) -> Tensor:
    return model(inputs)


def _train(model: nn.Module, inputs: Tensor, labels: Tensor) -> None:
    """Forward and backward; the optimiser's work is the same for all."""
    model.zero_grad()
    F.cross_entropy(model(inputs), labels).backward()


def _rows(name: str, what: str, batch: int, times: dict[str, list[float]]) -> Sequence[ClassifierRow]:
    base = np.median(times["shared"])
    rows = []
    for attention, measured in times.items():
        low, middle, high = percentiles(measured, per=1e-3)
        rows.append(ClassifierRow(name, attention, what, batch, middle, low, high, middle / (1e3 * float(base))))
    return rows
