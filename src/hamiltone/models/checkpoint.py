"""Checkpoints: safetensors with one JSON string in the metadata; nothing is ever unpickled."""

import json
import os
import tempfile
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import torch
from safetensors import SafetensorError, safe_open
from safetensors.torch import save_file
from torch import Tensor, nn

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
    """Write safetensors to a temporary file beside `path`, sync it to the disk and rename it."""
    path = Path(path)
    handle, name = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.", suffix=".tmp")
    os.close(handle)
    temporary = Path(name)
    try:
        save_file(dict(tensors), temporary, dict(metadata))
        with temporary.open("rb+") as file:
            os.fsync(file.fileno())
        temporary.chmod(0o644)
        temporary.replace(path)
    except BaseException:
        temporary.unlink(missing_ok=True)
        raise


def read_tensors(path: str | Path) -> tuple[dict[str, Tensor], dict[str, str]]:
    """The tensors and metadata of a safetensors file."""
    try:
        with safe_open(path, framework="pt") as file:
            return {name: file.get_tensor(name) for name in file.keys()}, file.metadata() or {}  # noqa: SIM118
    except FileNotFoundError:
        raise InputError(f"there is no checkpoint {path}") from None
    except (SafetensorError, OSError) as error:
        raise InputError(f"{path} is not a readable safetensors file: {error}") from None


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
    """Build whatever model a checkpoint describes and load its weights, in evaluation mode."""
    tensors, metadata = read_tensors(path)
    header = _parse_header(path, metadata)
    model = build(header.config)
    _check_tensors(path, model.state_dict(), tensors)
    model.load_state_dict(tensors)
    return model.eval().to(device), header


def _parse_header(path: str | Path, metadata: Mapping[str, str]) -> Header:
    if KEY not in metadata:
        raise InputError(f"{path} is not a hamiltone checkpoint: its metadata has no {KEY!r} entry")
    try:
        content = json.loads(metadata[KEY])
        if content["format"] != FORMAT:
            raise InputError(f"its checkpoint format is {content['format']}, this version reads {FORMAT}")
        config = from_json(content["config"])
        classes, words = (tuple(content.get(name, ())) for name in ("classes", "words"))
        return Header(config, content.get("preset", ""), content.get("training", {}), classes, words)
    except InputError as error:
        raise InputError(f"{path} cannot be read: {error}") from None
    except (json.JSONDecodeError, KeyError, TypeError) as error:
        raise InputError(f"{path} has a damaged header: {error}") from None


def _check_tensors(path: str | Path, expected: Mapping[str, Tensor], found: Mapping[str, Tensor]) -> None:
    """Say in one line how the weights in the file differ from those the model needs."""
    problems = [f"lacks {name}" for name in expected.keys() - found.keys()]
    problems += [f"has an unknown {name}" for name in found.keys() - expected.keys()]
    for name in expected.keys() & found.keys():
        tensor, wanted = found[name], expected[name]
        if tensor.shape != wanted.shape:
            problems.append(f"has {name} of shape {tuple(tensor.shape)} instead of {tuple(wanted.shape)}")
        elif tensor.dtype != wanted.dtype:
            problems.append(f"has {name} in {tensor.dtype} instead of {wanted.dtype}")
        elif not tensor.isfinite().all():
            problems.append(f"has NaN or infinite values in {name}")
    if problems:
        more = f" and {len(problems) - 3} more" if len(problems) > 3 else ""
        raise InputError(f"{path} does not fit its model: it {', '.join(sorted(problems)[:3])}{more}")
