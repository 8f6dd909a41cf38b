"""Checkpoints: safetensors with one JSON string in the metadata; nothing is ever unpickled."""

import json
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import torch
from safetensors import SafetensorError, safe_open
from safetensors.torch import save_file
from torch import Tensor, nn

from hamiltone.atomic import replacing
from hamiltone.errors import InputError
from hamiltone.models.configs import Config, from_json, to_json
from hamiltone.models.enhancer import Enhancer
from hamiltone.models.presets import build
from hamiltone.models.text import TextClassifier
from hamiltone.models.vision import ImageClassifier

FORMAT = 1
KEY = "hamiltone"


@dataclass(frozen=True)
class Header:
    """What a checkpoint says about itself: how to build the model, and how it was trained.

    A classifier also names its `classes`, and one of text the `words` of its vocabulary.
    """

    config: Config
    preset: str = ""
    training: dict[str, Any] = field(default_factory=dict)
    classes: tuple[str, ...] = ()
    words: tuple[str, ...] = ()


def save_checkpoint(path: str | Path, model: nn.Module, header: Header) -> None:
    """Write the model's weights and header; the file appears whole or not at all."""
    content = {name: getattr(header, name) for name in ("preset", "training", "classes", "words")}
    text = json.dumps({"format": FORMAT, "config": to_json(header.config), **content})
    tensors = {name: tensor.detach().cpu().contiguous() for name, tensor in model.state_dict().items()}
    write_tensors(path, tensors, {KEY: text})


def write_tensors(path: str | Path, tensors: Mapping[str, Tensor], metadata: Mapping[str, str]) -> None:
    """Write safetensors; the file appears whole or not at all."""
    with replacing(Path(path)) as temporary:
        save_file(dict(tensors), temporary, dict(metadata))


def read_tensors(path: str | Path) -> tuple[dict[str, Tensor], dict[str, str]]:
    """The tensors and metadata of a safetensors file."""
    with _opened(path) as file:
        return {name: file.get_tensor(name) for name in file.keys()}, file.metadata() or {}  # noqa: SIM118


@contextmanager
def _opened(path: str | Path) -> Iterator[Any]:
    try:
        with safe_open(path, framework="pt") as file:
            yield file
    except FileNotFoundError:
        raise InputError(f"there is no checkpoint {path}") from None
    except (SafetensorError, OSError) as error:
        reason = " ".join(str(error).split())
        raise InputError(f"{path} is not a readable safetensors file: {reason}") from None


def load_checkpoint(path: str | Path, device: str | torch.device = "cpu") -> tuple[Enhancer, Header]:
    """Build the speech model that a checkpoint describes and load its weights, in evaluation mode."""
    model, header = load_any(path, device)
    if not isinstance(model, Enhancer):
        raise InputError(f"{path} holds a classifier, not a speech enhancer")
    return model, header


def load_classifier(
    path: str | Path, device: str | torch.device = "cpu"
) -> tuple[ImageClassifier | TextClassifier, Header]:
    """Build the classifier of images or text that a checkpoint describes and load its weights, in evaluation mode."""
    model, header = load_any(path, device)
    if isinstance(model, Enhancer):
        raise InputError(f"{path} holds a speech enhancer, not a classifier")
    return model, header


def load_any(
    path: str | Path, device: str | torch.device = "cpu"
) -> tuple[Enhancer | ImageClassifier | TextClassifier, Header]:
    """Build whatever model a checkpoint describes and load its weights, in evaluation mode.

    Memory is only allocated after the shapes in the file have been checked against the model.
    """
    with _opened(path) as file:
        header = _parse_header(path, file.metadata() or {})
        expected = _blueprint(path, header.config)
        shapes = {name: tuple(file.get_slice(name).get_shape()) for name in file.keys()}  # noqa: SIM118
        _check_shapes(path, expected, shapes)
        tensors = {name: file.get_tensor(name) for name in shapes}
    _check_values(path, expected, tensors)
    model = build(header.config)
    model.load_state_dict(tensors)
    return model.eval().to(device), header


def _blueprint(path: str | Path, config: Config) -> dict[str, Tensor]:
    """The parameters and buffers of a model, without memory for them."""
    try:
        with torch.device("meta"):
            return build(config).state_dict()
    except (ValueError, TypeError, RuntimeError) as error:
        reason = " ".join(str(error).split())
        raise InputError(f"{path} describes a model that cannot be built: {reason}") from None


def _parse_header(path: str | Path, metadata: Mapping[str, str]) -> Header:
    if KEY not in metadata:
        raise InputError(f"{path} is not a hamiltone checkpoint: its metadata has no {KEY!r} entry")
    try:
        content = json.loads(metadata[KEY])
        if content["format"] != FORMAT:
            raise InputError(f"its checkpoint format is {content['format']}, this version reads {FORMAT}")
        config = from_json(content["config"])
        preset, training = content.get("preset", ""), content.get("training", {})
        classes, words = (tuple(content.get(name, ())) for name in ("classes", "words"))
        if not isinstance(preset, str) or not isinstance(training, dict):
            raise TypeError("expected a name as preset and a table as training")
        if not all(isinstance(name, str) for name in classes + words):
            raise TypeError("expected names as classes and words")
        return Header(config, preset, training, classes, words)
    except InputError as error:
        raise InputError(f"{path} cannot be read: {error}") from None
    except (ValueError, KeyError, TypeError, RecursionError) as error:  # JSON may hold anything
        raise InputError(f"{path} has a damaged header: {' '.join(str(error).split())}") from None


def _check_shapes(path: str | Path, expected: Mapping[str, Tensor], found: Mapping[str, tuple[int, ...]]) -> None:
    """Raise an `InputError` that says in one line how the weights in the file differ from those the model needs."""
    problems = [f"lacks {name}" for name in expected.keys() - found.keys()]
    problems += [f"has an unknown {name}" for name in found.keys() - expected.keys()]
    problems += [
        f"has {name} of shape {found[name]} instead of {tuple(expected[name].shape)}"
        for name in expected.keys() & found.keys()
        if found[name] != expected[name].shape
    ]
    _refuse(path, problems)


def _check_values(path: str | Path, expected: Mapping[str, Tensor], found: Mapping[str, Tensor]) -> None:
    """Raise an `InputError` for weights of another type, and for NaN or infinite ones."""
    problems = []
    for name, tensor in found.items():
        if tensor.dtype != expected[name].dtype:
            problems.append(f"has {name} in {tensor.dtype} instead of {expected[name].dtype}")
        elif not tensor.isfinite().all():
            problems.append(f"has NaN or infinite values in {name}")
    _refuse(path, problems)


def _refuse(path: str | Path, problems: list[str]) -> None:
    if problems:
        more = f" and {len(problems) - 3} more" if len(problems) > 3 else ""
        raise InputError(f"{path} does not fit its model: it {', '.join(sorted(problems)[:3])}{more}")
