"""Figures 1 and 6 with matplotlib: the two attentions from captured maps, the architecture from forward hooks."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import torch
from torch import Tensor, nn

from hamiltone.analysis.plots import NAMES, make_figure, save_figure

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_EDGE: dict[str, Any] = {"edgecolor": "0.2", "linewidth": 0.9}


@dataclass(frozen=True)
class Stage:
    """A part of a network as it ran: its name, what kind of module it is, its parameters and the shape it returned."""

    name: str
    kind: str
    parameters: int
    shape: tuple[int, ...]
    depth: int


def trace_stages(model: nn.Module, x: Tensor, depth: int = 2) -> list[Stage]:
    """Run a model and note its parts down to a depth of names, in the order in which they finish.

    The contents of an ``nn.Sequential`` are one box. Gradients are on, so that nothing is cut into tiles.
    """
    stages: dict[str, Stage] = {}

    def note(name: str) -> Any:
        def hook(module: nn.Module, _: Any, output: Any) -> None:
            first = output[0] if isinstance(output, tuple) else output
            if isinstance(first, Tensor):
                size = sum(parameter.numel() for parameter in module.parameters())
                stages.pop(name, None)
                level = name.count(".")
                stages[name] = Stage(name, type(module).__name__, size, tuple(first.shape), level)

        return hook

    chains = tuple(f"{name}." for name, module in model.named_modules() if isinstance(module, nn.Sequential))
    named = [
        (name, module)
        for name, module in model.named_modules()
        if name and name.count(".") < depth and not name.startswith(chains)
    ]
    hooks = [module.register_forward_hook(note(name)) for name, module in named]
    try:
        with torch.enable_grad():
            model(x)
    finally:
        for handle in hooks:
            handle.remove()
    return list(stages.values())


def two_attentions(shared: Tensor, hamilton: Tensor, path: Path) -> None:
    """Figure 1: one map for the four components of the values, beside one map for each.

    Shape:
        shared: ``(1, N, M)``, hamilton: ``(4, N, M)``
    """
    figure, axes = make_figure(1, 2, (11, 5.2))
    titles = ("shared scores: Re(Q ⊗ K†), 4 products, 1 softmax", "Hamilton scores: Q ⊗ Kᵀ, 16 products, 4 softmaxes")
    for axis, title, maps in zip(axes.flat, titles, (shared, hamilton), strict=True):
        axis.set_axis_off()
        axis.set_xlim(0, 10)
        axis.set_ylim(0, 10)
        axis.set_title(title, fontsize=10)
        heights = [8.2, 5.8, 3.4, 1.0]
        centre = sum(heights) / 4 + 0.7
        _box(axis, 0.2, centre - 0.7, 1.6, 1.4, "Q, K\n4 components")
        for row, height in enumerate(heights):
            level = height if len(maps) == 4 else centre - 0.7
            if len(maps) == 4 or row == 0:
                _arrow(axis, (1.8, centre), (3.0, level + 0.7))
                inset = axis.inset_axes((3.0, level - 0.3, 2.0, 2.0), transform=axis.transData)
                inset.imshow(maps[row].numpy(), cmap="gray_r", aspect="auto", origin="lower")
                inset.set_xticks([])
                inset.set_yticks([])
                inset.set_title("one map" if len(maps) == 1 else f"map {NAMES[row]}", fontsize=8, pad=2)
            _arrow(axis, (5.0, level + 0.7), (6.2, height + 0.7))
            _box(axis, 6.2, height + 0.2, 1.4, 1.0, f"V {NAMES[row]}")
            _arrow(axis, (7.6, height + 0.7), (8.4, height + 0.7))
            _box(axis, 8.4, height + 0.2, 1.4, 1.0, f"O {NAMES[row]}")
    save_figure(figure, path)


def architecture(stages: Sequence[Stage], path: Path) -> None:
    """Figure 6: the parts of a network as they ran, from the input at the top to the output, with their shapes."""
    figure, axes = make_figure(1, 1, (9, 0.42 * len(stages) + 1))
    axis = axes.flat[0]
    axis.set_axis_off()
    axis.set_xlim(0, 10)
    axis.set_ylim(-len(stages), 0.4)
    for row, stage in enumerate(stages):
        left = 0.1 + 0.4 * stage.depth
        _box(axis, left, -row - 0.36, 4.5, 0.72, f"{stage.name}  ({stage.kind})")
        axis.text(6.3, -row, " × ".join(map(str, stage.shape)), va="center", fontsize=8, family="monospace")
        axis.text(9.9, -row, f"{stage.parameters:,}", va="center", ha="right", fontsize=8, family="monospace")
    axis.text(6.3, 0.5, "shape of its output", fontsize=8, style="italic")
    axis.text(9.9, 0.5, "parameters", fontsize=8, ha="right", style="italic")
    save_figure(figure, path)


def _box(axis: "Axes", left: float, bottom: float, width: float, height: float, text: str) -> None:
    from matplotlib.patches import FancyBboxPatch

    patch = FancyBboxPatch((left, bottom), width, height, boxstyle="round,pad=0.02", facecolor="0.95", **_EDGE)
    axis.add_patch(patch)
    axis.text(left + width / 2, bottom + height / 2, text, ha="center", va="center", fontsize=8)


def _arrow(axis: "Axes", start: tuple[float, float], end: tuple[float, float]) -> None:
    axis.annotate("", xy=end, xytext=start, arrowprops={"arrowstyle": "->", "color": "0.3", "linewidth": 0.9})
