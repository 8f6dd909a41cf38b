"""What the paper leaves open about Table 7, swept: loss, heads, query-key norm, initialisation, output and scale."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import product

import torch
from torch import Tensor, nn

from hamiltone.analysis.gradients import Setting
from hamiltone.analysis.statistics import Spread, student
from hamiltone.nn import QAttention
from hamiltone.nn.init import Init, isotropic_, polar_
from hamiltone.nn.rules import SCALES, make_rule


def _uniform(bound: Callable[[int], float]) -> Init:
    def fill(weight: Tensor, fan_in: int, fan_out: int) -> Tensor:
        with torch.no_grad():
            return weight.uniform_(-bound(fan_in), bound(fan_in))

    return fill


def _normal(deviation: float) -> Init:
    def fill(weight: Tensor, fan_in: int, fan_out: int) -> Tensor:
        with torch.no_grad():
            return weight.normal_(0, deviation)

    return fill


LOSSES: dict[str, Callable[[Tensor], Tensor]] = {
    "mean square": lambda y: y.square().mean(),
    "mean": lambda y: y.mean(),
    "distance to noise": lambda y: (
        (y - torch.randn(y.shape, generator=torch.Generator().manual_seed(0))).square().mean()
    ),
}
"""Sums instead of means change the norms by a factor and not their ratio."""

INITS: dict[str, Init] = {
    "polar": polar_,
    "isotropic": isotropic_,
    "uniform, reals": _uniform(lambda fan_in: (4 * fan_in) ** -0.5),
    "uniform, quaternions": _uniform(lambda fan_in: fan_in**-0.5),
    "normal, 0.02": _normal(0.02),
}
"""Ours, an isotropic Gaussian, the default of ``nn.Linear``, ±1/√D, with D counted in reals or in quaternions, and the
small weights that language models start from."""

HEADS = (1, 4, 8)


@dataclass(frozen=True)
class Choice:
    """One way to fill in what Table 6 leaves open; `output` says whether the output projection is there."""

    loss: str
    heads: int
    qk_norm: bool
    init: str
    output: bool
    scale: str


@dataclass(frozen=True)
class Landing:
    """Where a choice ends up: the shared norm, the mean of the four Hamilton norms, and the first over their sum."""

    choice: Choice
    shared: Spread
    hamilton: Spread
    ratio: Spread


def sweep_settings(
    setting: Setting,
    *,
    heads: Sequence[int] = HEADS,
    inits: Sequence[str] = tuple(INITS),
    tick: Callable[[str], None] = lambda _: None,
) -> tuple[Landing, ...]:
    """Every choice over the same random inputs and, where they share an initialisation, the same weights."""
    found = []
    for count, qk_norm, init in product(heads, (True, False), inits):
        tick(f"{count} heads, {'with' if qk_norm else 'without'} query-key norm, {init}")
        norms: dict[Choice, list[tuple[float, float]]] = {}
        for trial in range(setting.trials):
            for choice, pair in _trial(replace(setting, heads=count), trial, qk_norm, init):
                norms.setdefault(choice, []).append(pair)
        found += [_landing(choice, pairs) for choice, pairs in norms.items()]
    return tuple(found)


def _landing(choice: Choice, pairs: list[tuple[float, float]]) -> Landing:
    shared, hamilton = zip(*pairs, strict=True)
    return Landing(choice, student(shared), student(hamilton), student([one / (4 * other) for one, other in pairs]))


def _trial(setting: Setting, trial: int, qk_norm: bool, init: str) -> Iterator[tuple[Choice, tuple[float, float]]]:
    """The shared norm and the mean of the four Hamilton norms of one set of weights and one input, for every choice."""
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(setting.seed * 1_000_003 + trial)
        attention = QAttention(setting.dim, setting.heads, make_rule("shared"), qk_norm=qk_norm)
        for layer in (attention.query, attention.key, attention.value, attention.out):
            INITS[init](layer.weight, setting.dim, setting.dim)
        x = torch.randn(setting.shape)
    with torch.no_grad():
        q, k, v = attention.project(x, x)
        scores = {name: make_rule(name).scores(q, k) for name in ("shared", *SCALES)}
    norms = {name: _norms(attention, one, v) for name, one in scores.items()}
    for output, loss, scale in product((True, False), LOSSES, SCALES):
        single, four = norms["shared"][output, loss], norms[scale][output, loss]
        choice = Choice(loss, setting.heads, qk_norm, init, output, scale)
        yield choice, (float(single.sum()), float(four.mean()))


def _norms(attention: QAttention, scores: Tensor, v: Tensor) -> dict[tuple[bool, str], Tensor]:
    """‖dL/dS‖ for each map, by whether there is an output projection and by loss."""
    scores = scores.detach().requires_grad_()
    heads = (scores.softmax(-1).expand(-1, -1, 4, -1, -1) @ v.transpose(2, 3)).transpose(2, 3)  # Eq. 13 and 16
    ends: dict[bool, Callable[[Tensor], Tensor]] = {True: attention.merge, False: nn.Identity()}
    found = {}
    for output, end in ends.items():
        for name, loss in LOSSES.items():
            (gradient,) = torch.autograd.grad(loss(end(heads)), scores, retain_graph=True)
            found[output, name] = torch.linalg.vector_norm(gradient, dim=(0, 1, 3, 4))
    return found
