"""What the analyses look at: a model with shared and one with Hamilton scores, and what to run them on."""

from dataclasses import dataclass
from pathlib import Path

import torch
from torch import Tensor

from hamiltone.data.datasets import SyntheticSpeech
from hamiltone.data.files import decode
from hamiltone.data.mixing import PLAIN
from hamiltone.data.pairs import FOLDERS, scan_folders
from hamiltone.data.signals import SAMPLE_RATE
from hamiltone.errors import InputError
from hamiltone.evaluation.accuracy import labelled_batches
from hamiltone.models import Enhancer, Header, TextConfig, VisionConfig

PAIRS = {"compact": ("compact-shared", "compact-hamilton"), "toy": ("toy", "toy-hamilton")}
"""Bundled models with shared and with Hamilton scores that were trained alike; the first pair is the best."""

TEST_SEED = 2**31 - 2
"""The seed of the synthetic speech; that of held-out data in training is another."""


@dataclass(frozen=True)
class ModelPair:
    """Two models that differ only in their score rule."""

    name: str
    shared: Enhancer
    hamilton: Enhancer


@dataclass(frozen=True)
class Utterance:
    """Noisy and clean speech ``(1, L)``."""

    name: str
    noisy: Tensor
    clean: Tensor


def check_pair(name: str | None = None) -> str:
    """The name of a bundled pair; by default the best one."""
    chosen = name or next(iter(PAIRS))
    if chosen not in PAIRS:
        raise InputError(f"there is no pair {chosen}; the bundled ones are {', '.join(PAIRS)}")
    return chosen


def model_inputs(header: Header, data: Path | None, count: int) -> list[Tensor]:
    """What to run a model on, one by one: the speech, images or sentences of its test set, evenly chosen.

    Without `data` speech is synthetic. Sentences are those of at least five words, so that each has five keys.
    """
    if not isinstance(header.config, VisionConfig | TextConfig):
        speech = synthetic_utterances(count) if data is None else recorded_utterances(data, count)
        return [one.noisy for one in speech]
    if data is None:
        raise InputError("a classifier needs --data, the images or sentences it was trained on")
    least = 5 if isinstance(header.config, TextConfig) else 0
    batches = labelled_batches(header, data, size=1)
    samples = [sample for sample, _ in (batches[number] for number in range(len(batches))) if sample.shape[1] >= least]
    if len(samples) < count:
        raise InputError(f"{data}: has only {len(samples)} samples to look at, expected {count}")
    return [samples[number * len(samples) // count] for number in range(count)]


def synthetic_utterances(count: int, seconds: float = 2.0) -> list[Utterance]:
    """Synthetic speech in synthetic noise, always the same."""
    dataset = SyntheticSpeech(round(seconds * SAMPLE_RATE), length=count, seed=TEST_SEED, variety=PLAIN)
    samples = (dataset[0, number] for number in range(count))
    return [Utterance(f"synthetic-{n}", noisy[None], clean[None]) for n, (noisy, clean) in enumerate(samples)]


def recorded_utterances(root: Path, count: int, seconds: float = 2.0) -> list[Utterance]:
    """The beginnings of test recordings of VoiceBank+DEMAND, evenly chosen from those that are long enough."""
    clean, noisy = (root / folder for folder in FOLDERS["test"])
    if not clean.is_dir() or not noisy.is_dir():
        raise InputError(f"{root}: expected the folders {' and '.join(FOLDERS['test'])}")
    length = round(seconds * SAMPLE_RATE)
    pairs = [pair for pair in scan_folders(clean, noisy).pairs if pair.frames >= length]
    if len(pairs) < count:
        raise InputError(f"{root}: only {len(pairs)} test recordings last {seconds:g} s, expected {count}")
    chosen = [pairs[number * len(pairs) // count] for number in range(count)]
    return [
        Utterance(pair.name, *(torch.from_numpy(decode(path)[:length])[None] for path in (pair.noisy, pair.clean)))
        for pair in chosen
    ]
