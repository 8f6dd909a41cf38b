"""The base of the image and text tasks: cross-entropy for training, accuracy for validation."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, TypeVar

from pydantic import Field
from torch import Tensor, nn
from torch.nn import functional as F

from hamiltone.errors import InputError
from hamiltone.models import Header, TextConfig, VisionConfig, build, load_classifier, save_checkpoint
from hamiltone.training.config import Recipe, Table
from hamiltone.training.reading import overlay, use_rule
from hamiltone.training.task import HeldOutData, KeyedData, Media, start_from

C = TypeVar("C")
LabelledBatch = tuple[Tensor, Tensor]
"""Inputs of a model, and the labels ``(B,)`` or the probabilities of the classes ``(B, classes)``."""


class CrossEntropy(Table):
    """Cross-entropy with label smoothing."""

    label_smoothing: float = Field(default=0.0, ge=0, lt=1)
    """The share of the target that is spread over all classes."""


class ClassifierRecipe(Recipe):
    """The base of the recipes of classifiers."""

    loss: CrossEntropy = CrossEntropy()
    """Cross-entropy."""


class ClassifierTask:
    """Trains a model from inputs to class scores; a subclass opens the data and completes the configuration."""

    select_by = "accuracy"
    higher_is_better = True
    unit: str
    config: VisionConfig | TextConfig
    classes: tuple[str, ...]
    training: KeyedData
    validation: HeldOutData

    def __init__(self, recipe: ClassifierRecipe) -> None:
        self._init, self._smoothing = recipe.init, recipe.loss.label_smoothing
        self.start: nn.Module | None = None
        self.start_header: Header | None = None
        if recipe.init is not None:
            self.start, self.start_header = load_classifier(Path(recipe.init))

    def build(self) -> nn.Module:
        """A fresh model, or one with the weights to start from."""
        return start_from(self.start, build(self.config), self._init)

    def header(self, facts: dict[str, Any]) -> Header:
        """The configuration and the names of the classes."""
        return Header(self.config, training=facts, classes=self.classes)

    def compile(self, model: nn.Module) -> None:
        model.compile()

    def loss(self, model: nn.Module, batch: LabelledBatch) -> tuple[Tensor, dict[str, Tensor]]:
        """Cross-entropy; the log also gets the accuracy against the class with the largest target."""
        inputs, targets = batch
        scores = model(inputs)
        loss = F.cross_entropy(scores, targets, label_smoothing=self._smoothing)
        labels = targets if targets.dim() == 1 else targets.argmax(1)
        return loss, {"accuracy": (scores.detach().argmax(1) == labels).float().mean()}

    def units(self, batch: LabelledBatch) -> float:
        return len(batch[1])

    def measure(self, model: nn.Module, batch: LabelledBatch) -> dict[str, Tensor]:
        """Accuracy, and the cross-entropy without smoothing."""
        inputs, labels = batch
        scores = model(inputs)
        loss = F.cross_entropy(scores, labels, reduction="none")
        return {"accuracy": (scores.argmax(1) == labels).float().cpu(), "loss": loss.cpu()}

    def media(self, model: nn.Module) -> Media:
        return Media()

    def export(self, path: Path, model: nn.Module, facts: dict[str, Any]) -> None:
        """A checkpoint that `hamiltone accuracy` reads."""
        save_checkpoint(path, model, self.header(facts))

    def check_classes(self, classes: Sequence[str]) -> None:
        """Raise an `InputError` if the model to start from has other classes."""
        if self.start_header is not None and self.start_header.classes != tuple(classes):
            raise InputError(f"init = {self._init} has other classes than the data")


def parse_config(base: C, value: C | Mapping[str, Any]) -> C:
    """A configuration from a table of the fields that differ from `base`."""
    if not isinstance(value, Mapping):
        return value
    use_rule(value)
    return overlay(base, value)
