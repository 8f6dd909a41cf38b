"""Accuracy of trained classifiers on the split that training never saw, with mean and deviation over seeds."""

import statistics
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

import torch
from torch import Tensor

from hamiltone.data.text import Vocabulary, read_glue
from hamiltone.data.text_samples import sentence_batches
from hamiltone.data.vision import read_images
from hamiltone.data.vision_samples import ImageBatches
from hamiltone.errors import InputError
from hamiltone.models import Header, TextConfig, VisionConfig, load_classifier


@dataclass(frozen=True)
class Accuracy:
    """How many of `count` samples a checkpoint classified correctly; `seed` is that of its training, if known."""

    checkpoint: str
    attention: str
    seed: int | None
    correct: int
    count: int

    @property
    def percent(self) -> float:
        """The accuracy in per cent."""
        return 100 * self.correct / self.count


@dataclass(frozen=True)
class Aggregate:
    """Mean accuracy in per cent of runs with one attention, and their deviation; None for a single run."""

    attention: str
    runs: int
    mean: float
    deviation: float | None


def accuracy_of(checkpoint: Path, data: Path, split: str | None = None) -> Accuracy:
    """Classify a split of the data: the test images, or dev.tsv of sentences, unless `split` says otherwise."""
    model, header = load_classifier(checkpoint)
    correct = count = 0
    with torch.no_grad():
        batches = labelled_batches(header, data, split)
        for inputs, labels in (batches[number] for number in range(len(batches))):
            correct += int((model(inputs).argmax(1) == labels).sum())
            count += len(labels)
    seed = header.training.get("recipe", {}).get("seed")
    return Accuracy(str(checkpoint), header.config.attention, seed, correct, count)


def labelled_batches(
    header: Header, data: Path, split: str | None = None, *, size: int = 128
) -> Sequence[tuple[Tensor, Tensor]] | ImageBatches:
    """A split of the data that a classifier was trained on, in batches."""
    match header.config:
        case VisionConfig():
            split = split or "test"
            if split not in ("train", "test"):
                raise InputError(f"images have a train and a test split, not {split!r}")
            images = read_images(data, "test" if split == "test" else "train")
            if images.classes != header.classes or images.size != header.config.size:
                raise InputError(f"{data}: has other classes or another image size than the model was trained on")
            return ImageBatches(images, size)
        case TextConfig():
            path = data / f"{split or 'dev'}.tsv"
            sentences = read_glue(path, classes=len(header.classes), limit=header.config.limit)
            return sentence_batches(sentences, Vocabulary(header.words), size)
        case _:
            raise InputError("only classifiers have an accuracy; score speech models with hamiltone evaluate")


def aggregate(accuracies: Iterable[Accuracy]) -> list[Aggregate]:
    """Mean and sample deviation for each attention, in order of appearance."""
    groups: dict[str, list[float]] = {}
    for accuracy in accuracies:
        groups.setdefault(accuracy.attention, []).append(accuracy.percent)
    return [
        Aggregate(name, len(values), statistics.fmean(values), statistics.stdev(values) if len(values) > 1 else None)
        for name, values in groups.items()
    ]
