"""A task that trains in milliseconds, in place of speech: the loop must not know the difference."""

import os
import signal
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import torch
from safetensors.torch import save_file
from torch import Tensor, nn

from hamiltone.data.randomness import Key, generator
from hamiltone.nn import QBatchNorm, QDropout, QLinear
from hamiltone.training import SpeechRecipe, load_recipe
from hamiltone.training.config import Recipe
from hamiltone.training.task import Media

SAMPLES = 32


class Rotations:
    """Quaternions and the same ones moved by a fixed map; `before` sees every key first."""

    def __init__(self, before: Callable[[Key], None] = lambda key: None) -> None:
        self.before = before
        self.map = torch.from_numpy(np.random.default_rng(7).standard_normal((8, 8)).astype(np.float32))

    def __len__(self) -> int:
        return SAMPLES

    def __getitem__(self, key: Key) -> tuple[Tensor, Tensor]:
        self.before(key)
        x = torch.from_numpy(generator(0, *key).standard_normal(8).astype(np.float32))
        return x.view(4, 2), (x @ self.map).view(4, 2)


class TinyTask:
    """Learn the map with two quaternion layers."""

    unit, select_by, higher_is_better = "samples", "error", False

    def __init__(self, *, norm: bool = True, dropout: float = 0.0, **data: Any) -> None:
        self.norm, self.dropout = norm, dropout
        self.training = Rotations(**data)
        self.validation = [tuple(torch.stack(side) for side in zip(*pairs, strict=True)) for pairs in self._held_out()]

    @staticmethod
    def _held_out() -> list[list[tuple[Tensor, Tensor]]]:
        data = Rotations()
        return [[data[1000 + batch, index] for index in range(4)] for batch in range(3)]

    def build(self) -> nn.Module:
        norm: nn.Module = QBatchNorm(6) if self.norm else nn.Identity()
        return nn.Sequential(QLinear(2, 6, bias=not self.norm), norm, nn.Tanh(), QDropout(self.dropout), QLinear(6, 2))

    def compile(self, model: nn.Module) -> None:
        model.compile()

    def loss(self, model: nn.Module, batch: Any) -> tuple[Tensor, dict[str, Tensor]]:
        x, y = batch
        loss = (model(x) - y).square().mean()
        return loss, {"half": loss / 2}

    def units(self, batch: Any) -> float:
        return len(batch[0])

    def measure(self, model: nn.Module, batch: Any) -> dict[str, Tensor]:
        x, y = batch
        return {"error": (model(x) - y).square().mean((1, 2))}

    def media(self, model: nn.Module) -> Media:
        return Media({"tone": (torch.zeros(100), 8000)}, {"square": torch.zeros(1, 4, 4)})

    def export(self, path: Path, model: nn.Module, facts: dict[str, Any]) -> None:
        save_file(model.state_dict(), path)


def tiny_recipe(folder: Path, **changes: Any) -> Recipe:
    """Four steps an epoch, three epochs; `changes` name keys by paths such as `batches__workers`."""
    content: dict[str, Any] = {
        "task": "tiny",
        "budget": {"epochs": 3},
        "batches": {"size": 8},
        "optimiser": {"lr": 0.01, "ema": 0.9},
        "run": {"folder": folder, "accelerator": "cpu", "log_steps": 3},
    }
    for path, value in changes.items():
        table, _, key = path.rpartition("__")
        (content.setdefault(table, {}) if table else content)[key] = value
    return Recipe.model_validate(content)


def signal_at(number: int, key: Key) -> Callable[[Key], None]:
    """Send this process a signal where the sample of an epoch is asked for."""

    def before(asked: Key) -> None:
        if asked == key:
            os.kill(os.getpid(), number)

    return before


KILL = signal.SIGKILL


TOY = Path(__file__).parents[1] / "recipes" / "toy.toml"
SMALL = [
    "budget={steps=3}",
    "batches.size=2",
    "model.channels=2",
    "model.kernel_size=3",
    "model.encoder_dilations=[1]",
    "model.decoder_dilations=[1]",
    "data.segment=2000",
    "data.length=4",
    "data.held_out=2",
    "data.held_out_segment=4000",
    "run.accelerator=cpu",
]


def small_recipe(folder: Path, *overrides: str) -> SpeechRecipe:
    """The toy recipe, so small that a step takes milliseconds."""
    return load_recipe(TOY, [*SMALL, f"run.folder='{folder}'", *overrides])


def speech_recipe(folder: Path) -> SpeechRecipe:
    """The same with SOAP, whose state shows the gradients of all steps; its blocks have batch norms."""
    return small_recipe(folder, "optimiser.kind=soap", "budget={steps=2}")
